//! The results of calls: each is stored in one transaction with everything that belongs to it, and
//! announced afterwards.

use std::time::Duration;

use waterline::message::{Body, Message, Part, Role, ToolCall, ToolResult, Truncated};
use waterline::truncate::{Truncation, artifact_id, truncate};
use waterline_log::NewArtifact;
use waterline_sandbox::Refusal;

use super::run_state::{Next, RunState};
use super::{Agent, HookData};
use crate::changes::CallKey;
use crate::error::AgentError;
use crate::event::{Event, WholeOutput};
use crate::loop_guard;
use crate::middleware::{Finished, Hook};
use crate::state::{HandedOff, Question};
use crate::tool::{CallInfo, Capability, Effect, Failure, Output, info_of};

/// Maximum length of a result in characters; a longer one becomes an artifact.
const MAX_RESULT_CHARS: usize = 32_000;

/// A result may take at most 1/8 of the window.
const WINDOW_SHARE: usize = 8;

/// A call with its output.
pub(super) struct FinishedCall {
    pub(super) call: ToolCall,
    /// False if the output is a synthetic result.
    pub(super) was_run: bool,
    pub(super) output: Result<Output, Failure>,
    pub(super) took: Duration,
}

/// Returns the message with the result of a call.
pub(super) fn result_message(call: &ToolCall, parts: Vec<Part>, is_error: bool) -> Message {
    let result =
        ToolResult { call_id: call.id.clone(), name: Some(call.name.clone()), parts, is_error };
    Message::new(Role::Tool, vec![Body::Result(result).into()])
}

/// Marks the files that a tool tried to change.
fn marked(mut refused: Vec<Refusal>, capability: Capability) -> Vec<Refusal> {
    for refusal in &mut refused {
        if let Refusal::File { write, .. } = refusal {
            *write = capability == Capability::Write;
        }
    }
    refused
}

impl Agent {
    /// Applies the effects of a call, stores its result, and announces it.
    pub(super) async fn store_result(
        &mut self,
        finished: FinishedCall,
        is_last: bool,
        run: &mut RunState,
    ) -> Result<Option<Next>, AgentError> {
        let FinishedCall { call, was_run, output, took } = finished;
        let (output, failed) = match output {
            Ok(output) => (output, false),
            Err(failure) => (failure.into_output(), true),
        };
        let outcome = match (was_run, failed) {
            (false, _) => loop_guard::Outcome::NotRun,
            (true, true) => loop_guard::Outcome::Failed,
            (true, false) => loop_guard::Outcome::Done,
        };
        run.loop_guard.record(&call.name, &call.arguments, outcome);
        if let Some(question) = self.apply_effects(&call, &output.effects).await? {
            return self.wait_for_answer(question).await.map(Some);
        }
        let finished = Finished { call: call.clone(), text: output.text_content(), failed };
        let mut data = HookData { finished: vec![finished], ..HookData::default() };
        let next = self.run_hooks(Hook::AfterTools, run, &mut data).await?;
        let finished =
            data.finished.pop().unwrap_or(Finished { call, text: String::new(), failed });
        let plans_ahead = is_last && next.is_none();
        let omitted = output.omitted();
        let (text, whole) =
            self.commit_result(&finished, output.parts, omitted, plans_ahead).await?;
        // Emitted after the commit, so that what an observer saw is still there after a crash.
        for effect in &output.effects {
            if let Effect::Todos(todos) = effect {
                self.emit(&Event::Todos(todos.clone()));
            }
        }
        self.report_unrecorded();
        let info = self.info(&finished.call);
        let capability = info.capability;
        let changes = self.shared.recorder.take_diffs(&self.call_key(&finished.call));
        let Finished { call: ToolCall { id, name, .. }, failed, .. } = finished;
        let ended_id = id.clone();
        self.emit(&Event::ToolEnds { id, name, text, failed, took, info, changes, whole });
        if !output.refused.is_empty() {
            let refused = marked(output.refused, capability);
            self.emit(&Event::Refused { id: ended_id, refused });
        }
        Ok(next)
    }

    /// Applies the effects of a call in memory. Returns the question that it asks the user.
    async fn apply_effects(
        &mut self,
        call: &ToolCall,
        effects: &[Effect],
    ) -> Result<Option<Question>, AgentError> {
        for effect in effects {
            match effect {
                Effect::Todos(todos) => {
                    let todos = todos.clone();
                    self.change_state(move |state, _| state.todos.clone_from(&todos)).await?;
                }
                Effect::Fold(reasons) => self.live.fold_next(reasons.clone()),
                Effect::HandOff { to, package } => {
                    let handed =
                        HandedOff { to: to.clone(), package: package.clone(), done: false };
                    self.change_state(move |_, local| local.hand_off = Some(handed.clone()))
                        .await?;
                }
                Effect::Ask { question, choices } => {
                    return Ok(Some(Question {
                        call_id: call.id.clone(),
                        question: question.clone(),
                        choices: choices.clone(),
                    }));
                }
            }
        }
        Ok(None)
    }

    /// Stores a result in one transaction, with the whole of a truncated text and with the record
    /// of what a command changed; the last result of a step also with the next request to the
    /// model. `omitted` is the number of characters that the tool itself left out. Returns the text
    /// as the model gets it.
    async fn commit_result(
        &mut self,
        finished: &Finished,
        parts: Vec<Part>,
        omitted: usize,
        plans_ahead: bool,
    ) -> Result<(String, Option<WholeOutput>), AgentError> {
        let (text_part, whole) = self.truncate_result(&finished.text, omitted);
        let text = match &text_part.body {
            Body::Text(text) => text.clone(),
            _ => String::new(),
        };
        let accepts_images = self.sees();
        let images = parts.into_iter().filter(|part| matches!(part.body, Body::Image(_)));
        let accepted = images.map(|part| match accepts_images {
            true => part,
            false => Part::text("[image omitted: this model does not accept images]"),
        });
        let parts: Vec<Part> = std::iter::once(text_part).chain(accepted).collect();
        let result = result_message(&finished.call, parts, finished.failed);
        self.live.add_messages(vec![result]).await?;
        let id = finished.call.id.clone();
        self.change_state(move |_, local| local.started.retain(|started| *started != id)).await?;
        let key = self.call_key(&finished.call);
        self.live.add_file_records(self.shared.recorder.finished(&key));
        if plans_ahead {
            self.live.plan_ahead();
        }
        self.commit().await?;
        self.shared.recorder.forget_finished(&key);
        Ok((text, whole))
    }

    /// Returns what identifies a call among those of all agents.
    pub(super) fn call_key(&self, call: &ToolCall) -> CallKey {
        (self.live.session().id.clone(), call.id.clone())
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

    /// Truncates a result that is too long to its head and tail. The whole text, without the
    /// `omitted` characters that the tool itself left out, becomes an artifact with the next write.
    fn truncate_result(&mut self, text: &str, omitted: usize) -> (Part, Option<WholeOutput>) {
        let limit = self.result_chars();
        let chars = text.chars().count();
        let earlier = (omitted > 0).then(|| Truncated::new(omitted, chars + omitted));
        let part = |earlier: Option<Truncated>| Part {
            truncated: earlier.map(Box::new),
            ..Part::text(text)
        };
        if chars <= limit {
            return (part(earlier), None);
        }
        let artifact = artifact_id(text);
        let kept = earlier.clone().map(|earlier| earlier.with_artifact(&artifact));
        let truncation =
            Truncation::new(limit / 2, limit / 4).artifact(&artifact).after(kept.as_ref());
        let Some(short) = truncate(text, &truncation) else { return (part(earlier), None) };
        let artifact = self.live.add_artifact(NewArtifact {
            media: "text/plain".to_owned(),
            preview: text.chars().take(200).collect(),
            bytes: text.as_bytes().to_vec(),
        });
        (short.into_part(), Some(WholeOutput { artifact, lines: text.lines().count() }))
    }
}
