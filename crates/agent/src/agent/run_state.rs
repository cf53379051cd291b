//! The state of a run, which is one execution of a turn. It is lost when the process exits; what is
//! needed to resume is in the log.

use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::{Value, json};
use waterline::message::Message;
use waterline_provider::answer::{Answer, Usage};

use crate::approver::ApprovalReply;
use crate::loop_guard::LoopGuard;
use crate::middleware::Counters;
use crate::outcome::Ending;
use crate::reason::EndReason;

/// The next action of a turn.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and it is not stored")]
pub(super) enum Next {
    /// Call the model.
    Model,
    /// Run the open calls.
    Tools,
    /// End the turn.
    End(Ending),
}

/// Why the model is called.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Reason {
    /// There is a message or a result to answer.
    #[default]
    Input,
    /// The previous answer was incomplete; the next one continues it.
    Continue,
    /// The previous answer was empty.
    Empty,
}

/// A limit was reached: the model gets one more call to report, then the turn ends.
#[derive(Debug)]
pub(super) struct MustEnd {
    pub(super) why: EndReason,
    pub(super) report_requested: bool,
}

impl MustEnd {
    pub(super) const fn new(why: EndReason) -> Self {
        Self { why, report_requested: false }
    }
}

/// What one run has done so far. A turn that is interrupted and resumed has several runs.
#[derive(Debug)]
pub(super) struct RunState {
    pub(super) run_id: String,
    /// Whether each step writes a checkpoint.
    pub(super) writes_checkpoints: bool,
    pub(super) started: Instant,
    /// Model calls so far.
    pub(super) steps: usize,
    pub(super) tool_calls: usize,
    pub(super) usage: Usage,
    pub(super) loop_guard: LoopGuard,
    /// Why the model is called next, or was called last.
    pub(super) reason: Reason,
    pub(super) must_end: Option<MustEnd>,
    /// The text of the newest answer, including the answers it continues.
    pub(super) text: String,
    /// How many times a truncated answer was continued.
    pub(super) continuations: usize,
    /// Whether the model was already asked to correct an answer that did not match the schema.
    pub(super) repaired: bool,
    /// Replies to approval requests, by call id.
    pub(super) replies: BTreeMap<String, ApprovalReply>,
    /// Replies to approval requests of middlewares, by call id.
    pub(super) middleware_replies: BTreeMap<String, ApprovalReply>,
}

impl RunState {
    pub(super) fn new(run_id: String, writes_checkpoints: bool) -> Self {
        Self {
            run_id,
            writes_checkpoints,
            started: Instant::now(),
            steps: 0,
            tool_calls: 0,
            usage: Usage::default(),
            loop_guard: LoopGuard::default(),
            reason: Reason::Input,
            must_end: None,
            text: String::new(),
            continuations: 0,
            repaired: false,
            replies: BTreeMap::new(),
            middleware_replies: BTreeMap::new(),
        }
    }

    /// Returns the metadata of a checkpoint after a part of the turn.
    pub(super) fn checkpoint(&self, after: &str) -> Value {
        json!({"step": self.steps, "after": after, "source": "agent", "run_id": self.run_id})
    }

    pub(super) const fn counters(&self, iterations: usize) -> Counters {
        Counters { steps: self.steps, iterations, tool_calls: self.tool_calls }
    }

    /// Returns whether the current answer has no text yet.
    pub(super) fn is_silent(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Records an answer. Its text replaces the previous one, unless it continues it.
    pub(super) fn record(&mut self, answer: &Answer) {
        let texts: Vec<String> =
            answer.messages.iter().map(Message::text).filter(|text| !text.is_empty()).collect();
        match self.reason {
            Reason::Continue => self.reason = Reason::Input,
            Reason::Input | Reason::Empty => self.text.clear(),
        }
        self.text.push_str(&texts.join("\n"));
        let usage = answer.usage;
        self.steps += 1;
        self.usage.input += usage.input;
        self.usage.cache_read += usage.cache_read;
        self.usage.cache_write += usage.cache_write;
        self.usage.output += usage.output;
    }
}
