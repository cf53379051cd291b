//! The part of a turn that runs the open calls: they are checked, approved and run, and each result
//! is stored as soon as it is available (`results.rs`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use waterline::message::ToolCall;
use waterline_session::SessionError;

use super::results::FinishedCall;
use super::run_state::{MustEnd, Next, RunState};
use super::{Agent, HookData};
use crate::config::AgentConfig;
use crate::error::AgentError;
use crate::event::Event;
use crate::loop_guard::Halt;
use crate::middleware::{Hook, SyntheticResult};
use crate::outcome::Ending;
use crate::state::HandedOff;
use crate::tool::{Capability, Failure, Output, ToolContext};

/// Maximum number of calls that run concurrently.
const MAX_CONCURRENT: usize = 3;

/// Maximum number of calls of one answer that are run.
const MAX_CALLS: usize = 64;

/// Returns why a call is refused as part of a loop, if it is. It may also end the turn.
fn loop_refusal(call: &ToolCall, run: &mut RunState) -> Option<String> {
    match run.loop_guard.check(&call.name, &call.arguments)? {
        Halt::Call(why) => Some(why),
        Halt::Turn(why) => {
            run.must_end = Some(MustEnd::new(why.clone()));
            Some(format!("Not run: {why}."))
        }
    }
}

/// Parses the arguments of a call. Some models write nothing or `null` if a tool has no arguments.
fn parse_arguments(text: &str) -> Result<Value, Failure> {
    if text.trim().is_empty() {
        return Ok(json!({}));
    }
    let value: Value = serde_json::from_str(text).map_err(|error| {
        Failure::new(format!(
            "The arguments are not valid JSON ({error}). The call may have been truncated by the \
             output token limit."
        ))
    })?;
    let is_empty = value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty());
    Ok(if is_empty { json!({}) } else { value })
}

/// Runs one call, and retries it after a wait if the failure is transient.
async fn run_call(
    config: &AgentConfig,
    context: &ToolContext,
    call: &ToolCall,
) -> Result<Output, Failure> {
    let arguments = parse_arguments(&call.arguments)?;
    let tool = config
        .toolbox
        .find(&call.name)
        .ok_or_else(|| Failure::new(format!("Unknown tool {:?}.", call.name)))?;
    let mut waits = config.tool_waits.iter();
    loop {
        match (tool.call(arguments.clone(), context).await, waits.next()) {
            (Err(failure), Some(wait)) if failure.transient => tokio::time::sleep(*wait).await,
            (output, _) => return output,
        }
    }
}

impl Agent {
    /// Runs the open calls and returns the next action.
    pub(super) async fn run_tool_calls(&mut self, run: &mut RunState) -> Result<Next, AgentError> {
        let open = self.answer_interrupted(self.open_tool_calls()).await?;
        if let Some(question) = self.state()?.question().cloned()
            && open.iter().any(|call| call.id == question.call_id)
        {
            return self.wait_for_answer(question).await;
        }
        let mut data = HookData {
            calls: open,
            replies: run.middleware_replies.clone(),
            ..HookData::default()
        };
        self.refuse_calls(&mut data, run)?;
        if let Some(next) = self.run_hooks(Hook::BeforeTools, run, &mut data).await? {
            return Ok(next);
        }
        if let Some(next) = self.ask_people(&mut data, run).await? {
            return Ok(next);
        }
        let mut calls = data.calls.as_slice();
        while let Some((group, rest)) = self.next_group(calls, &data.synthetic) {
            // Checked again: earlier calls of the same answer may have failed since.
            for call in group {
                if !data.synthetic.contains_key(&call.id)
                    && let Some(why) = loop_refusal(call, run)
                {
                    data.synthetic.insert(call.id.clone(), SyntheticResult::refusal(why));
                }
            }
            let is_last_group = rest.is_empty();
            if let Some(next) = self.run_group(group, is_last_group, &data.synthetic, run).await? {
                return Ok(next);
            }
            calls = rest;
        }
        if let Some(HandedOff { to, package, done: false }) = self.local_state()?.hand_off {
            return Ok(Next::End(Ending::HandOff { to, package }));
        }
        // The model called tools although it was asked to report: the turn ends anyway.
        Ok(match run.must_end.take_if(|must_end| must_end.report_requested) {
            Some(must_end) => Next::End(Ending::Limit(must_end.why)),
            None => Next::Model,
        })
    }

    /// Adds synthetic results for calls that must not run: calls at the end of a turn, too many
    /// calls, loops, unknown or disabled tools, and invalid arguments.
    fn refuse_calls(&self, data: &mut HookData<'_>, run: &mut RunState) -> Result<(), AgentError> {
        let local = self.local_state()?;
        let toolbox = &self.config.toolbox;
        for (at, call) in data.calls.iter().enumerate() {
            let why = if let Some(must_end) = &run.must_end {
                Some(format!("Not run: the turn must end ({}).", must_end.why))
            } else if at >= MAX_CALLS {
                Some(format!("Not run: at most {MAX_CALLS} calls are run per message."))
            } else if let Some(why) = loop_refusal(call, run) {
                Some(why)
            } else if toolbox.find(&call.name).is_none() {
                Some(toolbox.unknown(&call.name, &local))
            } else if !toolbox.may_use(&call.name, &local) {
                Some(format!(
                    "Not run: {} is disabled. The user can allow it by mentioning @{0}.",
                    call.name
                ))
            } else {
                // Checked here so that no one is asked to approve a call that cannot run.
                parse_arguments(&call.arguments).err().map(|failure| failure.text)
            };
            if let Some(why) = why {
                data.synthetic.insert(call.id.clone(), SyntheticResult::refusal(why));
            }
        }
        Ok(())
    }

    /// Splits off the calls to run next: one call, or several that can run concurrently because
    /// they change nothing.
    fn next_group<'a>(
        &self,
        calls: &'a [ToolCall],
        synthetic: &BTreeMap<String, SyntheticResult>,
    ) -> Option<(&'a [ToolCall], &'a [ToolCall])> {
        let is_concurrent = |call: &&ToolCall| {
            let capability = self.config.toolbox.find(&call.name).map(|tool| tool.capability());
            let changes_nothing = match capability {
                Some(Capability::Read) => true,
                // Nested sub-agents run one at a time, so that there are never more than three.
                Some(Capability::Delegate) => self.depth == 0,
                _ => false,
            };
            changes_nothing && !synthetic.contains_key(&call.id)
        };
        let count = calls
            .iter()
            .take_while(is_concurrent)
            .count()
            .clamp(usize::from(!calls.is_empty()), MAX_CONCURRENT);
        if count == 0 { None } else { calls.split_at_checked(count) }
    }

    /// Runs a group of calls concurrently and stores their results in order, the last one of the
    /// step with a checkpoint. Returns the next action if the turn cannot continue.
    async fn run_group(
        &mut self,
        group: &[ToolCall],
        is_last_group: bool,
        synthetic: &BTreeMap<String, SyntheticResult>,
        run: &mut RunState,
    ) -> Result<Option<Next>, AgentError> {
        // Stored before they start, so that no call runs twice.
        if !group.iter().all(|call| synthetic.contains_key(&call.id)) {
            self.record_started(group).await?;
        }
        // They keep running while a result is stored, and are aborted with the turn.
        let mut running = JoinSet::new();
        for (at, call) in group.iter().enumerate() {
            let work = self.prepare_call(call, synthetic.get(&call.id))?;
            running.spawn(async move { (at, work.await) });
        }
        let mut finished = BTreeMap::new();
        let mut stored = 0;
        let mut next = None;
        // Each result is stored as soon as all results before it are, even if the turn will end.
        while let Some(joined) = running.join_next().await {
            let (at, call) = joined.map_err(|_| SessionError::Ending)?;
            finished.insert(at, call);
            while let Some(call) = finished.remove(&stored) {
                stored += 1;
                run.tool_calls += 1;
                let is_last = is_last_group && stored == group.len();
                if is_last && run.writes_checkpoints {
                    self.live.add_checkpoint(run.checkpoint("tools"));
                }
                let forced = self.store_result(call, is_last, run).await?;
                next = next.or(forced);
            }
        }
        Ok(next)
    }

    /// Returns a future that runs a call, or returns its synthetic result. The future does not
    /// borrow the agent, which stores results while it runs.
    fn prepare_call(
        &self,
        call: &ToolCall,
        synthetic: Option<&SyntheticResult>,
    ) -> Result<impl Future<Output = FinishedCall> + Send + use<>, AgentError> {
        let call = call.clone();
        let synthetic = synthetic.cloned();
        let config = Arc::clone(&self.config);
        let context = self.tool_context(&call.id)?;
        let observers = self.observers.clone();
        let info = self.info(&call);
        Ok(async move {
            let started = Instant::now();
            let was_run = synthetic.is_none();
            let output = match synthetic {
                Some(SyntheticResult { text, failed: true }) => Err(Failure::new(text)),
                Some(SyntheticResult { text, failed: false }) => Ok(Output::text(text)),
                None => {
                    observers.emit(&Event::ToolBegins {
                        id: call.id.clone(),
                        name: call.name.clone(),
                        arguments: call.arguments.clone(),
                        info,
                    });
                    run_call(&config, &context, &call).await
                }
            };
            FinishedCall { call, was_run, output, took: started.elapsed() }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_arguments_are_accepted_in_every_form() {
        for text in ["", " ", "null", "\"\"", "{}"] {
            assert_eq!(parse_arguments(text), Ok(json!({})), "{text:?}");
        }
        assert_eq!(parse_arguments("{\"zone\": null}"), Ok(json!({"zone": null})));
        assert!(parse_arguments("{\"zone\":").unwrap_err().text.contains("not valid JSON"));
    }
}
