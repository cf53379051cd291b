//! What is known of a turn while it runs. Nothing in it must survive the program: what must is in
//! the log.

use std::collections::BTreeMap;
use std::time::Instant;

use waterline::message::Message;
use waterline_provider::answer::{Answer, Usage};

use crate::approver::ApprovalReply;
use crate::loop_guard::Repeats;
use crate::middleware::Counters;
use crate::outcome::Ending;

/// What comes next in a turn.
#[derive(Debug)]
pub(super) enum Next {
    /// The model is asked.
    Model,
    /// The open calls are run.
    Tools,
    /// The turn ends.
    End(Ending),
}

/// Why the model is asked.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Reason {
    /// There is a message or a result to answer.
    #[default]
    Input,
    /// The answer stopped before its end; the next one continues it.
    Continue,
    /// The answer was empty.
    Empty,
}

/// A turn that must end.
#[derive(Debug)]
pub(super) struct MustEnd {
    pub(super) why: String,
    /// Whether the model was asked for its report.
    pub(super) report_asked: bool,
}

impl MustEnd {
    pub(super) const fn new(why: String) -> Self {
        Self { why, report_asked: false }
    }
}

/// A turn that runs.
#[derive(Debug)]
pub(super) struct TurnState {
    pub(super) since: Instant,
    pub(super) steps: usize,
    pub(super) tool_calls: usize,
    pub(super) usage: Usage,
    pub(super) repeats: Repeats,
    /// Why the model is asked next, or was asked last.
    pub(super) reason: Reason,
    /// The turn must end: the model is asked for a report, and nothing else follows.
    pub(super) must_end: Option<MustEnd>,
    /// What the model said last; an answer in pieces is put together.
    pub(super) text: String,
    /// How often an answer that was truncated was continued.
    pub(super) continued: usize,
    /// Whether an answer that did not have its form was asked for again.
    pub(super) repaired: bool,
    /// Replies to requests for approval, by call.
    pub(super) replies: BTreeMap<String, ApprovalReply>,
    /// Replies that middlewares wanted, by call.
    pub(super) consents: BTreeMap<String, ApprovalReply>,
}

impl TurnState {
    pub(super) fn new() -> Self {
        Self {
            since: Instant::now(),
            steps: 0,
            tool_calls: 0,
            usage: Usage::default(),
            repeats: Repeats::default(),
            reason: Reason::Input,
            must_end: None,
            text: String::new(),
            continued: 0,
            repaired: false,
            replies: BTreeMap::new(),
            consents: BTreeMap::new(),
        }
    }

    pub(super) const fn counters(&self, iterations: usize) -> Counters {
        Counters { steps: self.steps, iterations, tool_calls: self.tool_calls }
    }

    /// Whether the model has said nothing yet of its present answer.
    pub(super) fn is_silent(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Adds an answer: its text continues the one before if that was asked for.
    pub(super) fn note(&mut self, answer: &Answer) {
        let said: Vec<String> =
            answer.messages.iter().map(Message::text).filter(|text| !text.is_empty()).collect();
        match self.reason {
            Reason::Continue => self.reason = Reason::Input,
            Reason::Input | Reason::Empty => self.text.clear(),
        }
        self.text.push_str(&said.join("\n"));
        let usage = answer.usage;
        self.steps += 1;
        self.usage.input += usage.input;
        self.usage.cache_read += usage.cache_read;
        self.usage.cache_write += usage.cache_write;
        self.usage.output += usage.output;
    }
}
