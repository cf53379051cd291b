//! The step of a turn that runs the open calls: they are checked, approved and run, and each result
//! is stored as soon as it is available.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;
use waterline::message::{Body, Message, Part, Role, ToolCall, ToolResult};
use waterline::truncate::{Cut, artifact_id, truncate};
use waterline_log::Log;
use waterline_session::SessionError;

use super::turn_state::{MustEnd, Next, TurnState};
use super::{Agent, HookData};
use crate::config::AgentConfig;
use crate::error::AgentError;
use crate::event::{Event, WholeOutput};
use crate::loop_guard::{self, Halt};
use crate::middleware::{Finished, Hook, SyntheticResult};
use crate::outcome::Ending;
use crate::state::{HandedOff, Question};
use crate::tool::{CallInfo, Capability, Effect, Failure, Output, ToolContext, info_of};

/// Maximum number of calls that run concurrently.
const MAX_CONCURRENT: usize = 3;

/// Maximum number of calls of one answer that are run.
const MAX_CALLS: usize = 64;

/// Maximum length of a result in characters; a longer one becomes an artifact.
const MAX_RESULT_CHARS: usize = 32_000;

/// A result may take at most 1/8 of the window.
const WINDOW_SHARE: usize = 8;

/// A call with its output.
struct FinishedCall {
    call: ToolCall,
    /// False if the output is a synthetic result.
    was_run: bool,
    output: Result<Output, Failure>,
    took: Duration,
}

/// Returns the message with the result of a call.
pub(super) fn result_message(call: &ToolCall, parts: Vec<Part>, is_error: bool) -> Message {
    let result =
        ToolResult { call_id: call.id.clone(), name: Some(call.name.clone()), parts, is_error };
    Message::new(Role::Tool, vec![Body::Result(result).into()])
}

/// Returns why a call is refused as part of a loop, if it is. It may also end the turn.
fn loop_refusal(call: &ToolCall, turn: &mut TurnState) -> Option<String> {
    match turn.loop_guard.check(&call.name, &call.arguments)? {
        Halt::Call(why) => Some(why),
        Halt::Turn(why) => {
            turn.must_end = Some(MustEnd::new(why.clone()));
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
    /// Runs the open calls and returns the next step.
    pub(super) async fn run_calls(&mut self, turn: &mut TurnState) -> Result<Next, AgentError> {
        let open = self.answer_interrupted(self.open_calls()).await?;
        if let Some(question) = self.state()?.question().cloned()
            && open.iter().any(|call| call.id == question.call_id)
        {
            return self.wait_for_answer(question).await;
        }
        let mut data = HookData {
            calls: open,
            replies: turn.middleware_replies.clone(),
            ..HookData::default()
        };
        self.refuse_calls(&mut data, turn)?;
        if let Some(next) = self.run_hooks(Hook::BeforeTools, turn, &mut data).await? {
            return Ok(next);
        }
        if let Some(next) = self.ask_people(&mut data, turn).await? {
            return Ok(next);
        }
        let mut calls = data.calls.as_slice();
        while let Some((group, rest)) = self.next_group(calls, &data.synthetic) {
            // Checked again: earlier calls of the same answer may have failed since.
            for call in group {
                if !data.synthetic.contains_key(&call.id)
                    && let Some(why) = loop_refusal(call, turn)
                {
                    data.synthetic.insert(call.id.clone(), SyntheticResult::refusal(why));
                }
            }
            let is_last_group = rest.is_empty();
            if let Some(next) = self.run_group(group, is_last_group, &data.synthetic, turn).await? {
                return Ok(next);
            }
            calls = rest;
        }
        if let Some(HandedOff { to, package, done: false }) = self.local()?.hand_off {
            return Ok(Next::End(Ending::HandOff { to, package }));
        }
        // The model called tools although it was asked to report: the turn ends anyway.
        Ok(match turn.must_end.take_if(|must_end| must_end.report_requested) {
            Some(must_end) => Next::End(Ending::Limit(must_end.why)),
            None => Next::Model,
        })
    }

    /// Adds synthetic results for calls that must not run: calls at the end of a turn, too many
    /// calls, loops, unknown or disabled tools, and invalid arguments.
    fn refuse_calls(
        &self,
        data: &mut HookData<'_>,
        turn: &mut TurnState,
    ) -> Result<(), AgentError> {
        let local = self.local()?;
        let toolbox = &self.config.toolbox;
        for (at, call) in data.calls.iter().enumerate() {
            let why = if let Some(must_end) = &turn.must_end {
                Some(format!("Not run: the turn must end ({}).", must_end.why))
            } else if at >= MAX_CALLS {
                Some(format!("Not run: at most {MAX_CALLS} calls are run per message."))
            } else if let Some(why) = loop_refusal(call, turn) {
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
    /// step with a checkpoint. Returns the next step if the turn cannot continue.
    async fn run_group(
        &mut self,
        group: &[ToolCall],
        is_last_group: bool,
        synthetic: &BTreeMap<String, SyntheticResult>,
        turn: &mut TurnState,
    ) -> Result<Option<Next>, AgentError> {
        // Stored before they start, so that no call runs twice.
        if !group.iter().all(|call| synthetic.contains_key(&call.id)) {
            self.record_started(group).await?;
            if self.depth == 0 {
                self.shared.recorder.set_message(self.live.session().tip);
            }
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
                turn.tool_calls += 1;
                let is_last = is_last_group && stored == group.len();
                if is_last && turn.writes_checkpoints {
                    self.live.add_checkpoint(turn.checkpoint("tools"));
                }
                let forced = self.store_result(call, is_last, turn).await?;
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

    /// Applies the effects of a call and stores its result. The last result of the step is stored
    /// together with the next request to the model.
    async fn store_result(
        &mut self,
        finished: FinishedCall,
        is_last: bool,
        turn: &mut TurnState,
    ) -> Result<Option<Next>, AgentError> {
        let FinishedCall { call, was_run, output, took } = finished;
        let (output, failed) = match output {
            Ok(output) => (output, false),
            Err(Failure { text, refused, .. }) => (Output { refused, ..Output::text(text) }, true),
        };
        let outcome = match (was_run, failed) {
            (false, _) => loop_guard::Outcome::NotRun,
            (true, true) => loop_guard::Outcome::Failed,
            (true, false) => loop_guard::Outcome::Done,
        };
        turn.loop_guard.record(&call.name, &call.arguments, outcome);
        for effect in &output.effects {
            match effect {
                Effect::Todos(todos) => {
                    let todos = todos.clone();
                    self.change_state(move |state, _| state.todos.clone_from(&todos)).await?;
                }
                Effect::Fold(reason) => self.live.fold_next(reason),
                Effect::HandOff { to, package } => {
                    let handed =
                        HandedOff { to: to.clone(), package: package.clone(), done: false };
                    self.change_state(move |_, local| local.hand_off = Some(handed.clone()))
                        .await?;
                }
                Effect::Ask { question, choices } => {
                    let question = Question {
                        call_id: call.id.clone(),
                        question: question.clone(),
                        choices: choices.clone(),
                    };
                    return self.wait_for_answer(question).await.map(Some);
                }
            }
        }
        let finished = Finished { call: call.clone(), text: output.text_content(), failed };
        let mut data = HookData { finished: vec![finished], ..HookData::default() };
        let next = self.run_hooks(Hook::AfterTools, turn, &mut data).await?;
        let finished =
            data.finished.pop().unwrap_or(Finished { call, text: String::new(), failed });
        let (text_part, whole) = self.truncate_result(finished.text).await?;
        let text = match &text_part.body {
            Body::Text(text) => text.clone(),
            _ => String::new(),
        };
        let accepts_images = self.sees();
        let images = output.parts.into_iter().filter(|part| matches!(part.body, Body::Image(_)));
        let images = images.map(|part| match accepts_images {
            true => part,
            false => Part::text("[image omitted: this model does not accept images]"),
        });
        let parts: Vec<Part> = std::iter::once(text_part).chain(images).collect();
        let ToolCall { id, name, .. } = finished.call.clone();
        self.live
            .add_messages(vec![result_message(&finished.call, parts, finished.failed)])
            .await?;
        self.change_state(move |_, local| local.started.retain(|started| *started != id)).await?;
        if is_last && next.is_none() {
            self.live.plan_ahead();
        }
        self.commit().await?;
        // Emitted after the commit, so that what an observer saw is still there after a crash.
        for effect in &output.effects {
            if let Effect::Todos(todos) = effect {
                self.emit(&Event::Todos(todos.clone()));
            }
        }
        self.report_unrecorded();
        let info = self.info(&finished.call);
        let id = finished.call.id;
        let changes =
            self.shared.recorder.take_diffs(&(self.live.session().id.clone(), id.clone()));
        let failed = finished.failed;
        let ended_id = id.clone();
        self.emit(&Event::ToolEnds { id, name, text, failed, took, info, changes, whole });
        if !output.refused.is_empty() {
            self.emit(&Event::Refused { id: ended_id, refused: output.refused });
        }
        Ok(next)
    }

    /// Describes a call, if its tool is known.
    pub(super) fn info(&self, call: &ToolCall) -> CallInfo {
        let tool = self.config.toolbox.find(&call.name);
        tool.map(|tool| info_of(&**tool, &call.arguments)).unwrap_or_default()
    }

    /// Returns the maximum length of a result in characters.
    pub(super) fn result_chars(&self) -> usize {
        MAX_RESULT_CHARS.min(self.live.window() * 3 / WINDOW_SHARE).max(400)
    }

    /// Truncates a result that is too long to its head and tail, and stores the whole text as an
    /// artifact.
    async fn truncate_result(
        &self,
        text: String,
    ) -> Result<(Part, Option<WholeOutput>), AgentError> {
        let limit = self.result_chars();
        if text.chars().count() <= limit {
            return Ok((Part::text(text), None));
        }
        let cut = Cut::new(limit / 2, limit / 4).artifact(artifact_id(&text));
        let Some(short) = truncate(&text, &cut) else { return Ok((Part::text(text), None)) };
        let id = self.live.session().id.clone();
        let preview: String = text.chars().take(200).collect();
        let lines = text.lines().count();
        let put = move |log: &Log| {
            log.put_artifact(&id, "text/plain", &preview, text.clone().into_bytes())
        };
        let stored = self.live.write(put).await.map_err(SessionError::from)?;
        Ok((short.into_part(), Some(WholeOutput { artifact: stored.hash, lines })))
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
