//! The step of a turn that runs the open calls: they are checked, approved, run and answered, each
//! result in the log as soon as it is there.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;
use waterline::message::{Body, Message, Part, Role, ToolCall, ToolResult};
use waterline::truncate::{Cut, artifact_id, truncate};
use waterline_session::SessionError;

use super::turn_state::{MustEnd, Next, TurnState};
use super::{Agent, View};
use crate::config::AgentConfig;
use crate::error::AgentError;
use crate::event::Event;
use crate::loop_guard::{self, Halt};
use crate::middleware::{Finished, Hook, SyntheticResult};
use crate::outcome::Ending;
use crate::state::{HandedOff, Question};
use crate::tool::{CallInfo, Capability, Effect, Failure, Output, ToolContext, info_of};

/// How many calls run side by side, where they may.
const SIDE_BY_SIDE: usize = 3;

/// How many calls of one answer are run.
const MOST_CALLS: usize = 64;

/// An output longer than this becomes an artifact, and at most this share of the window.
const LONGEST_CHARS: usize = 32_000;
const WINDOW_SHARE: usize = 8;

/// A call that was run.
struct Ran {
    call: ToolCall,
    /// Something else was answered in its place.
    was_run: bool,
    output: Result<Output, Failure>,
    took: Duration,
}

/// A result, as it is said.
pub(super) fn result(call: &ToolCall, parts: Vec<Part>, is_error: bool) -> Message {
    let result =
        ToolResult { call_id: call.id.clone(), name: Some(call.name.clone()), parts, is_error };
    Message::new(Role::Tool, vec![Body::Result(result).into()])
}

/// Why a call is not run because it goes in circles; it may be the end of the turn.
fn is_looping(call: &ToolCall, turn: &mut TurnState) -> Option<String> {
    match turn.repeats.look(&call.name, &call.arguments)? {
        Halt::Call(why) => Some(why),
        Halt::Turn(why) => {
            turn.must_end = Some(MustEnd::new(why.clone()));
            Some(format!("not run: {why}"))
        }
    }
}

/// The arguments of a call. Some models write nothing or `null` where a tool needs none.
fn arguments(text: &str) -> Result<Value, Failure> {
    if text.trim().is_empty() {
        return Ok(json!({}));
    }
    let value: Value = serde_json::from_str(text).map_err(|error| {
        Failure::new(format!("the arguments are no JSON ({error}); perhaps the answer was cut"))
    })?;
    let is_empty = value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty());
    Ok(if is_empty { json!({}) } else { value })
}

/// Runs one call; again after a while where its trouble may pass.
async fn run_call(
    config: &AgentConfig,
    context: &ToolContext,
    call: &ToolCall,
) -> Result<Output, Failure> {
    let arguments = arguments(&call.arguments)?;
    let tool =
        config.toolbox.find(&call.name).ok_or_else(|| Failure::new("there is no such tool"))?;
    let mut waits = config.tool_waits.iter();
    loop {
        match (tool.call(arguments.clone(), context).await, waits.next()) {
            (Err(failure), Some(wait)) if failure.transient => tokio::time::sleep(*wait).await,
            (output, _) => return output,
        }
    }
}

impl Agent {
    /// Runs the open calls.
    pub(super) async fn run_calls(&mut self, turn: &mut TurnState) -> Result<Next, AgentError> {
        let open = self.open_calls();
        let open = self.answer_interrupted(open).await?;
        if let Some(question) = self.state()?.question().cloned()
            && open.iter().any(|call| call.id == question.call_id)
        {
            return self.wait_for_answer(question).await;
        }
        let mut view = View { calls: open, replies: turn.consents.clone(), ..View::default() };
        self.refuse(&mut view, turn)?;
        if let Some(next) = self.decided(Hook::BeforeTools, turn, &mut view).await? {
            return Ok(next);
        }
        if let Some(next) = self.ask_people(&mut view, turn).await? {
            return Ok(next);
        }
        let mut calls = view.calls.as_slice();
        while let Some((group, rest)) = self.group(calls, &view.instead) {
            // Looked at anew: those before them in the same answer may have failed meanwhile.
            for call in
                group.iter().filter(|call| !view.instead.contains_key(&call.id)).collect::<Vec<_>>()
            {
                if let Some(why) = is_looping(call, turn) {
                    view.instead.insert(call.id.clone(), SyntheticResult::refusal(why));
                }
            }
            let ends_round = rest.is_empty();
            if let Some(next) = self.run_group(group, ends_round, &view.instead, turn).await? {
                return Ok(next);
            }
            calls = rest;
        }
        Ok(
            match (self.local()?.hand_off, turn.must_end.take_if(|must_end| must_end.report_asked))
            {
                (Some(HandedOff { to, package, done: false }), _) => {
                    Next::End(Ending::HandOff { to, package })
                }
                // It called tools instead of reporting: the turn ends all the same.
                (_, Some(must_end)) => Next::End(Ending::Limit(must_end.why)),
                (_, None) => Next::Model,
            },
        )
    }

    /// Calls that are not run, with what the model is told: those of tools that may not be used,
    /// those that go in circles, and those that are too many.
    fn refuse(&self, view: &mut View<'_>, turn: &mut TurnState) -> Result<(), AgentError> {
        let local = self.local()?;
        for (at, call) in view.calls.iter().enumerate() {
            let why = if let Some(must_end) = &turn.must_end {
                Some(format!("not run: the turn must end ({})", must_end.why))
            } else if at >= MOST_CALLS {
                Some(format!("not run: {MOST_CALLS} calls at once are as many as may be"))
            } else if let Some(why) = is_looping(call, turn) {
                Some(why)
            } else if self.config.toolbox.find(&call.name).is_none() {
                Some(self.config.toolbox.unknown(&call.name, &local))
            } else if !self.config.toolbox.may_use(&call.name, &local) {
                Some(format!(
                    "refused: {} is switched off; the user can allow it by mentioning @{0}",
                    call.name
                ))
            } else {
                // A call that cannot be run is not put before a person.
                arguments(&call.arguments).err().map(|failure| failure.text)
            };
            if let Some(why) = why {
                view.instead.insert(call.id.clone(), SyntheticResult::refusal(why));
            }
        }
        Ok(())
    }

    /// The calls that are run next: one, or several beside each other where none of them changes
    /// anything.
    fn group<'a>(
        &self,
        calls: &'a [ToolCall],
        instead: &BTreeMap<String, SyntheticResult>,
    ) -> Option<(&'a [ToolCall], &'a [ToolCall])> {
        let together = |call: &&ToolCall| {
            let capability = self.config.toolbox.find(&call.name).map(|tool| tool.capability());
            let harmless = match capability {
                Some(Capability::Read) => true,
                // Below the first level one sub-agent works at a time, so that there are never more
                // than three.
                Some(Capability::Delegate) => self.depth == 0,
                _ => false,
            };
            harmless && !instead.contains_key(&call.id)
        };
        let count = calls
            .iter()
            .take_while(together)
            .count()
            .clamp(usize::from(!calls.is_empty()), SIDE_BY_SIDE);
        if count == 0 { None } else { calls.split_at_checked(count) }
    }

    /// Runs calls beside each other and stores their results in order; with the last one of the
    /// round goes its checkpoint. Says what comes next where the turn cannot go on.
    async fn run_group(
        &mut self,
        group: &[ToolCall],
        ends_round: bool,
        instead: &BTreeMap<String, SyntheticResult>,
        turn: &mut TurnState,
    ) -> Result<Option<Next>, AgentError> {
        // Written before they begin, so that nobody runs them twice.
        if !group.iter().all(|call| instead.contains_key(&call.id)) {
            self.note_started(group).await?;
        }
        // They go on while a result is stored, and end with the turn.
        let mut works = JoinSet::new();
        for (at, call) in group.iter().enumerate() {
            let work = self.start(call, instead.get(&call.id))?;
            works.spawn(async move { (at, work.await) });
        }
        let (mut ready, mut due, mut next) = (BTreeMap::new(), 0, None);
        // Each is stored as soon as it and those before it are there, also when the turn will not
        // go on.
        while let Some(joined) = works.join_next().await {
            let (at, ran) = joined.map_err(|_| SessionError::Ending)?;
            ready.insert(at, ran);
            while let Some(ran) = ready.remove(&due) {
                due += 1;
                turn.tool_calls += 1;
                let is_last = ends_round && due == group.len();
                if is_last {
                    self.live.stage_checkpoint(
                        json!({"step": turn.steps, "after": "tools", "source": "agent"}),
                    );
                }
                let after = self.take(ran, is_last, turn).await?;
                next = next.or(after);
            }
        }
        Ok(next)
    }

    /// A call to be run, or what is answered instead. It holds nothing of the agent, which stores
    /// results meanwhile.
    fn start(
        &self,
        call: &ToolCall,
        instead: Option<&SyntheticResult>,
    ) -> Result<impl Future<Output = Ran> + Send + use<>, AgentError> {
        let (call, instead) = (call.clone(), instead.cloned());
        let (config, context) = (Arc::clone(&self.config), self.tool_context(&call.id)?);
        let (observers, info) = (self.observers.clone(), self.info(&call));
        Ok(async move {
            let since = Instant::now();
            let was_run = instead.is_none();
            let output = match instead {
                Some(SyntheticResult { text, failed: true }) => Err(Failure::new(text)),
                Some(SyntheticResult { text, failed: false }) => Ok(Output::text(text)),
                None => {
                    let (id, name, arguments) =
                        (call.id.clone(), call.name.clone(), call.arguments.clone());
                    observers.emit(&Event::ToolBegins { id, name, arguments, info });
                    run_call(&config, &context, &call).await
                }
            };
            Ran { call, was_run, output, took: since.elapsed() }
        })
    }

    /// Does what a call wants done, and stores its result; the last one of a round with what the
    /// model is sent next.
    async fn take(
        &mut self,
        ran: Ran,
        ends_round: bool,
        turn: &mut TurnState,
    ) -> Result<Option<Next>, AgentError> {
        let Ran { call, was_run, output, took } = ran;
        let (output, failed) = match output {
            Ok(output) => (output, false),
            Err(failure) => (Output::text(failure.text), true),
        };
        let outcome = match (was_run, failed) {
            (false, _) => loop_guard::Outcome::NotRun,
            (true, true) => loop_guard::Outcome::Failed,
            (true, false) => loop_guard::Outcome::Done,
        };
        turn.repeats.note(&call.name, &call.arguments, outcome);
        for effect in &output.effects {
            match effect {
                Effect::Todos(todos) => {
                    let todos = todos.clone();
                    self.stage(move |state, _| state.todos.clone_from(&todos)).await?;
                }
                Effect::Fold(reason) => self.live.fold_next(reason),
                Effect::HandOff { to, package } => {
                    let handed =
                        HandedOff { to: to.clone(), package: package.clone(), done: false };
                    self.stage(move |_, local| local.hand_off = Some(handed.clone())).await?;
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
        let finished = Finished { call: call.clone(), text: output.words(), failed };
        let mut view = View { finished: vec![finished], ..View::default() };
        let next = self.decided(Hook::AfterTools, turn, &mut view).await?;
        let finished =
            view.finished.pop().unwrap_or(Finished { call, text: String::new(), failed });
        let words = self.shorten(finished.text).await?;
        let text = match &words.body {
            Body::Text(text) => text.clone(),
            _ => String::new(),
        };
        let sees = self.sees();
        let pictures = output.parts.into_iter().filter(|part| matches!(part.body, Body::Image(_)));
        let pictures = pictures
            .map(|part| if sees { part } else { Part::text("[the model cannot see pictures]") });
        let parts: Vec<Part> = std::iter::once(words).chain(pictures).collect();
        let ToolCall { id, name, .. } = finished.call.clone();
        self.live.stage(vec![result(&finished.call, parts, finished.failed)]).await?;
        self.stage(move |_, local| local.started.retain(|started| *started != id)).await?;
        if ends_round && next.is_none() {
            self.live.stage_sent();
        }
        self.commit().await?;
        // Announced when it is stored: whoever was told of it finds it after a crash.
        for effect in &output.effects {
            if let Effect::Todos(todos) = effect {
                self.emit(&Event::Todos(todos.clone()));
            }
        }
        let info = self.info(&finished.call);
        let id = finished.call.id;
        self.emit(&Event::ToolEnds { id, name, text, failed: finished.failed, took, info });
        Ok(next)
    }

    /// What its tool says about a call.
    pub(super) fn info(&self, call: &ToolCall) -> CallInfo {
        let tool = self.config.toolbox.find(&call.name);
        tool.map(|tool| info_of(&**tool, &call.arguments)).unwrap_or_default()
    }

    /// How many characters of a result are sent.
    pub(super) fn result_chars(&self) -> usize {
        LONGEST_CHARS.min(self.live.window() * 3 / WINDOW_SHARE).max(400)
    }

    /// A text that is too long becomes an artifact before it is ever sent; its beginning and its
    /// end stand for it.
    async fn shorten(&self, text: String) -> Result<Part, AgentError> {
        let limit = self.result_chars();
        if text.chars().count() <= limit {
            return Ok(Part::text(text));
        }
        let cut = Cut::new(limit / 2, limit / 4).artifact(artifact_id(&text));
        let Some(short) = truncate(&text, &cut) else { return Ok(Part::text(text)) };
        let id = self.live.session().id.clone();
        let preview: String = text.chars().take(200).collect();
        self.live
            .on_log(move |log| log.put_artifact(&id, "text/plain", &preview, text.into_bytes()))
            .await?;
        Ok(short.into_part())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_arguments_may_be_written_in_any_way() {
        for text in ["", " ", "null", "\"\"", "{}"] {
            assert_eq!(arguments(text), Ok(json!({})), "{text:?}");
        }
        assert_eq!(arguments("{\"zone\": null}"), Ok(json!({"zone": null})));
        assert!(arguments("{\"zone\":").unwrap_err().text.contains("no JSON"));
    }
}
