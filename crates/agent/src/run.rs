//! What is known of a turn while it is under way. Nothing in it must survive the program: what must is in the log.

use std::collections::BTreeMap;
use std::time::Instant;

use waterline::message::Message;
use waterline_provider::answer::{Answer, Usage};

use crate::middleware::Tally;
use crate::outcome::Ending;
use crate::person::Word;
use crate::repeats::Repeats;

/// What comes next in a turn.
#[derive(Debug)]
pub(crate) enum Next {
    /// The model is asked.
    Model,
    /// The open calls are run.
    Tools,
    /// The turn ends.
    End(Ending),
}

/// A turn under way.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) since: Instant,
    pub(crate) steps: usize,
    pub(crate) tool_calls: usize,
    pub(crate) usage: Usage,
    pub(crate) repeats: Repeats,
    /// Why the model was asked for a report: it is its last word in this turn.
    pub(crate) last_words: Option<String>,
    /// It was asked for that report.
    pub(crate) reported: bool,
    /// What the model said last; an answer in pieces is put together.
    pub(crate) text: String,
    /// The next answer goes on from the one before.
    pub(crate) goes_on: bool,
    /// How often an answer that was cut was gone on with.
    pub(crate) continued: usize,
    /// An answer was asked for again because there was nothing in it.
    pub(crate) nudged: bool,
    /// An answer was asked for again because it did not have its form.
    pub(crate) repaired: bool,
    /// What people said to calls that are a risk.
    pub(crate) words: BTreeMap<String, Word>,
    /// What people said where a middleware wanted them to.
    pub(crate) consents: BTreeMap<String, Word>,
}

impl Run {
    pub(crate) fn new() -> Self {
        Self {
            since: Instant::now(),
            steps: 0,
            tool_calls: 0,
            usage: Usage::default(),
            repeats: Repeats::default(),
            last_words: None,
            reported: false,
            text: String::new(),
            goes_on: false,
            continued: 0,
            nudged: false,
            repaired: false,
            words: BTreeMap::new(),
            consents: BTreeMap::new(),
        }
    }

    pub(crate) const fn tally(&self, iterations: usize) -> Tally {
        Tally { steps: self.steps, iterations, tool_calls: self.tool_calls }
    }

    /// Whether the model has said nothing yet, of the answer it is at.
    pub(crate) fn is_silent(&self) -> bool {
        self.text.trim().is_empty()
    }

    pub(crate) fn note(&mut self, answer: &Answer) {
        let said: Vec<String> = answer.messages.iter().map(Message::text).filter(|text| !text.is_empty()).collect();
        if !std::mem::take(&mut self.goes_on) {
            self.text.clear();
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
