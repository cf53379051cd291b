//! The events of an agent for its observers, and their JSON form.

use std::time::Duration;

use serde::{Serialize, Serializer};
use waterline::reason::Reasons;
use waterline_provider::answer::{Delta, Stop, Usage};
use waterline_sandbox::Refusal;
use waterline_session::Event as CallEvent;

use crate::changes::FileDiff;
use crate::describe::CallInfo;
use crate::notice::Notice;
use crate::state::Todo;

/// What failed when a turn ended with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FailureKind {
    /// The model call failed, or its answer could not be used.
    Model,
    /// Running the calls failed. A failed tool is not an error but a result.
    Tool,
    /// The log, the workspace or a setting failed.
    Other,
}

/// An output that is too long for the context and was stored as an artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct WholeOutput {
    /// The hash of the artifact.
    pub artifact: String,
    /// Number of lines.
    pub lines: usize,
}

impl WholeOutput {
    /// Returns the output in an artifact.
    #[must_use]
    pub const fn new(artifact: String, lines: usize) -> Self {
        Self { artifact, lines }
    }
}

/// An event of an agent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A turn starts, or is resumed.
    Begins,
    /// The model is called; the number counts the model calls of this turn.
    Asks(usize),
    /// Progress of the model call: text as it streams, folds, retries.
    Call(CallEvent),
    /// The model finished an answer, or a message with calls.
    Answered {
        /// Why the answer ended.
        stop: Stop,
        /// The tokens that the provider counted.
        usage: Usage,
    },
    /// The turn ended with an error.
    Failed {
        /// What failed.
        kind: FailureKind,
        /// The error in English.
        why: String,
    },
    /// A tool starts.
    ToolBegins {
        /// The id of the call.
        id: String,
        /// The name of the tool.
        name: String,
        /// The arguments, as JSON.
        arguments: String,
        /// The tool's description of the call.
        info: CallInfo,
    },
    /// A tool that is still running wrote output.
    Output {
        /// The id of the call.
        id: String,
        /// The last line so far.
        line: String,
    },
    /// A tool finished, or a call was refused.
    ToolEnds {
        /// The id of the call.
        id: String,
        /// The name of the tool.
        name: String,
        /// The text of the result.
        text: String,
        /// Whether it failed.
        failed: bool,
        /// How long it took.
        took: Duration,
        /// The tool's description of the call.
        info: CallInfo,
        /// The files that it changed.
        changes: Vec<FileDiff>,
        /// The whole output, if `text` is only a part of it.
        whole: Option<WholeOutput>,
    },
    /// The sandbox refused something to the call that just ended.
    Refused {
        /// The id of the call.
        id: String,
        /// What it refused.
        refused: Vec<Refusal>,
    },
    /// The task list changed.
    Todos(Vec<Todo>),
    /// A message that the user sent during the turn was added.
    Steered(String),
    /// A standing instruction was recognized in the user's message.
    Remembered {
        /// The sentence of the user.
        text: String,
        /// The instruction that it replaces.
        replaced: Option<String>,
        /// Whether it applies to later sessions too.
        is_lasting: bool,
    },
    /// A standing instruction is no longer given to the model, because newer ones take its place.
    RuleLeftOut {
        /// The sentence of the user.
        text: String,
    },
    /// A hook of a middleware failed; the turn continues without it.
    HookFailed {
        /// The name of the middleware in the configuration.
        middleware: &'static str,
        /// The name of the hook, such as `before_model`.
        hook: &'static str,
        /// The error in English.
        why: String,
    },
    /// Another role takes over, in a separate session.
    HandedOff {
        /// The name of the role that takes over.
        to: String,
        /// The id of the session that continues the work.
        session: String,
    },
    /// An event of a sub-agent.
    Below {
        /// The context of the sub-agent.
        context_id: String,
        /// What happened in the sub-agent.
        event: Box<Event>,
    },
    /// A note for the user.
    Notice(Notice),
    /// No other event of the turn follows.
    Ends,
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Line::of(self).serialize(serializer)
    }
}

/// An event as JSON: `{"event": "text", "text": "…"}`. Other programs depend on the names, so they
/// do not follow the Rust names.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line<'a> {
    Begins,
    Asks {
        step: usize,
    },
    Sent {
        tokens: usize,
    },
    Responds,
    Text {
        text: &'a str,
    },
    Thinking {
        text: &'a str,
    },
    Call {
        at: usize,
        id: &'a str,
        name: &'a str,
    },
    Arguments {
        at: usize,
        json: &'a str,
    },
    Retry {
        why: String,
        wait_ms: u128,
    },
    Model {
        model: &'a str,
    },
    Raw {
        name: Option<&'a str>,
        data: &'a str,
    },
    // The name that programs already read.
    #[serde(rename = "summarising")]
    Summarizing,
    Folded {
        reason: String,
        reasons: &'a Reasons,
        before: usize,
        after: usize,
    },
    Notice {
        text: String,
    },
    Answered {
        prompt_tokens: usize,
        cached_tokens: usize,
        output_tokens: usize,
    },
    Failed {
        kind: FailureKind,
        why: &'a str,
    },
    Tool {
        id: &'a str,
        name: &'a str,
        arguments: &'a str,
    },
    Output {
        id: &'a str,
        line: &'a str,
    },
    Result {
        id: &'a str,
        name: &'a str,
        text: &'a str,
        failed: bool,
        took_ms: u128,
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        changes: &'a [FileDiff],
        #[serde(skip_serializing_if = "Option::is_none")]
        whole: Option<&'a WholeOutput>,
    },
    Refused {
        id: &'a str,
        refused: &'a [Refusal],
    },
    Todos {
        todos: &'a [Todo],
    },
    Steered {
        text: &'a str,
    },
    Remembered {
        text: &'a str,
        replaced: Option<&'a str>,
        lasting: bool,
    },
    RuleLeftOut {
        text: &'a str,
    },
    HookFailed {
        middleware: &'a str,
        hook: &'a str,
        why: &'a str,
    },
    HandedOff {
        to: &'a str,
        session: &'a str,
    },
    Below {
        context_id: &'a str,
        of: Box<Line<'a>>,
    },
    Ends,
    /// An event that this version does not know.
    Unknown,
}

impl<'a> Line<'a> {
    fn of(event: &'a Event) -> Self {
        match event {
            Event::Begins => Self::Begins,
            Event::Asks(step) => Self::Asks { step: *step },
            Event::Call(event) => Self::of_call(event),
            Event::Answered { usage, .. } => Self::Answered {
                prompt_tokens: usage.prompt(),
                cached_tokens: usage.cache_read,
                output_tokens: usage.output,
            },
            Event::Failed { kind, why } => Self::Failed { kind: *kind, why },
            Event::ToolBegins { id, name, arguments, .. } => Self::Tool { id, name, arguments },
            Event::Output { id, line } => Self::Output { id, line },
            Event::ToolEnds { id, name, text, failed, took, changes, whole, .. } => Self::Result {
                id,
                name,
                text,
                failed: *failed,
                took_ms: took.as_millis(),
                changes,
                whole: whole.as_ref(),
            },
            Event::Refused { id, refused } => Self::Refused { id, refused },
            Event::Todos(todos) => Self::Todos { todos },
            Event::Steered(text) => Self::Steered { text },
            Event::Remembered { text, replaced, is_lasting } => {
                Self::Remembered { text, replaced: replaced.as_deref(), lasting: *is_lasting }
            }
            Event::RuleLeftOut { text } => Self::RuleLeftOut { text },
            Event::HookFailed { middleware, hook, why } => {
                Self::HookFailed { middleware, hook, why }
            }
            Event::HandedOff { to, session } => Self::HandedOff { to, session },
            Event::Below { context_id, event } => {
                Self::Below { context_id, of: Box::new(Self::of(event)) }
            }
            Event::Notice(notice) => Self::Notice { text: notice.to_string() },
            Event::Ends => Self::Ends,
        }
    }

    fn of_call(event: &'a CallEvent) -> Self {
        match event {
            CallEvent::Sending { tokens } => Self::Sent { tokens: *tokens },
            CallEvent::Responds => Self::Responds,
            CallEvent::Delta(Delta::Text(text)) => Self::Text { text },
            CallEvent::Delta(Delta::Thinking(text)) => Self::Thinking { text },
            CallEvent::Delta(Delta::Call { at, id, name }) => Self::Call { at: *at, id, name },
            CallEvent::Delta(Delta::Arguments { at, json }) => Self::Arguments { at: *at, json },
            CallEvent::Retry { why, wait } => {
                Self::Retry { why: why.to_string(), wait_ms: wait.as_millis() }
            }
            CallEvent::Model(model) => Self::Model { model },
            CallEvent::Summarizing => Self::Summarizing,
            CallEvent::Folded { reasons, before, after } => {
                let (before, after) = (*before, *after);
                Self::Folded { reason: reasons.to_string(), reasons, before, after }
            }
            CallEvent::Notice(notice) => Self::Notice { text: notice.to_string() },
            CallEvent::Raw(raw) => Self::Raw { name: raw.name.as_deref(), data: &raw.data },
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_is_a_flat_object_with_its_name() {
        let line = |event: &Event| serde_json::to_value(event).unwrap();
        let text = Event::Call(CallEvent::Delta(Delta::Text("tide".to_owned())));
        assert_eq!(line(&text), json!({"event": "text", "text": "tide"}));
        let ends = Event::ToolEnds {
            id: "c1".to_owned(),
            name: "now".to_owned(),
            text: "noon".to_owned(),
            failed: false,
            took: Duration::from_millis(7),
            info: CallInfo::default(),
            changes: vec![FileDiff::new("a", None, Some(b"1\n"))],
            whole: Some(WholeOutput { artifact: "4f".to_owned(), lines: 60 }),
        };
        let result = json!({
            "event": "result", "id": "c1", "name": "now", "text": "noon", "failed": false,
            "took_ms": 7,
            "changes": [{
                "path": "a", "kind": "created", "added": 1, "removed": 0,
                "diff": "@@ -0,0 +1,1 @@\n+1\n"
            }],
            "whole": {"artifact": "4f", "lines": 60}
        });
        assert_eq!(line(&ends), result);
        let below = Event::Below { context_id: "a".to_owned(), event: Box::new(ends) };
        assert_eq!(line(&below), json!({"event": "below", "context_id": "a", "of": result}));
    }
}
