//! [`Walk`] follows a conversation as it grows: the state before each model call that does not
//! depend on the policy.

use waterline::history::History;
use waterline::message::{Message, Role, Wire};
use waterline::plan::{Budget, Passage};
use waterline::tokens::{Calibration, Counter};
use waterline_transcript::Entry;

use crate::need::{CallNeeds, Needs};
use crate::price::{Bill, Prices};
use crate::search::Search;

/// A conversation up to the next call.
#[derive(Debug)]
pub(crate) struct Walk {
    pub(crate) history: History,
    pub(crate) wire: Wire,
    /// The cost of all calls so far if nothing had been folded.
    pub(crate) append_only: Bill,
    /// Tokens of tool definitions.
    tools: usize,
    /// Tokens of the whole history at the last call.
    sent: usize,
    last_time: Option<i64>,
    /// Whether any message other than a system prompt has been appended.
    has_started: bool,
    /// The index of the messages, if a policy quotes passages.
    search: Option<Search>,
    /// The passages for the newest user message.
    passages: Vec<Passage>,
}

/// One model call, with the data to measure it.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) needs: &'a Needs,
    /// The number of each message: from 1, without the system prompt.
    pub(crate) numbers: &'a [usize],
    pub(crate) prices: &'a Prices,
    /// The number of the message that the call produced.
    pub(crate) number: usize,
    /// The tool calls of that message that have values.
    pub(crate) tools: &'a [CallNeeds],
    /// Whether the cache has expired.
    pub(crate) is_cold: bool,
    pub(crate) is_last: bool,
}

impl Walk {
    pub(crate) fn new(counter: Counter, tools: usize, wire: Wire, searches: bool) -> Self {
        Self {
            history: History::new(counter),
            wire,
            append_only: Bill::default(),
            tools,
            sent: 0,
            last_time: None,
            has_started: false,
            search: searches.then(Search::default),
            passages: Vec::new(),
        }
    }

    /// Returns whether a message is the answer to a model call: it makes tool calls, or follows a
    /// message that is not the assistant's. A program may store one answer as several messages;
    /// the others do not count.
    pub(crate) fn is_call(&self, message: &Message) -> bool {
        let newest =
            (0..self.history.len()).rev().find_map(|at| match self.history.source(at)?.role {
                Role::System => None,
                role => Some(role),
            });
        let answers = newest.is_some_and(|role| role != Role::Assistant);
        message.role == Role::Assistant
            && self.has_started
            && (answers || message.calls().next().is_some())
    }

    /// Returns the call that this entry answers.
    pub(crate) fn call<'a>(
        &mut self,
        needs: &'a Needs,
        numbers: &'a [usize],
        entry: &Entry,
        prices: &'a Prices,
        is_last: bool,
    ) -> Call<'a> {
        let at = self.history.len();
        let start = needs.calls.partition_point(|call| call.message < at);
        let end = needs.calls.partition_point(|call| call.message <= at);
        let gap = self.last_time.zip(entry.time).map_or(0, |(last, now)| now - last);
        let is_cold = prices.is_cold(gap);
        let all = self.history.tokens() + self.tools;
        self.append_only.add(prices.prompt(self.sent.min(all), all, is_cold));
        self.sent = all;
        self.last_time = entry.time.or(self.last_time);
        if let Some(search) = &self.search {
            self.passages = search.passages(&self.history);
        }
        let tools = needs.calls.get(start..end).unwrap_or_default();
        let number = numbers.get(at).copied().unwrap_or(at);
        Call { needs, numbers, prices, number, tools, is_cold, is_last }
    }

    pub(crate) fn append(&mut self, entry: Entry) {
        self.has_started |= entry.message.role != Role::System;
        if let Some(search) = &mut self.search {
            search.add(self.history.len(), &entry.message);
        }
        self.history.append(entry.message);
    }

    /// Returns the passages that a search found for the next call.
    pub(crate) fn passages(&self) -> Option<&[Passage]> {
        self.search.is_some().then_some(&self.passages)
    }

    /// Returns the budget. The window is for the conversation; system prompt and tool definitions
    /// are added to it.
    pub(crate) fn budget(&self, window: usize) -> Budget {
        Budget {
            window: window + self.overhead(),
            model_window: window + self.overhead(),
            tools: self.tools,
            calibration: Calibration::default(),
            cold: false,
        }
    }

    /// Returns the tokens of the system prompt and the tool definitions.
    pub(crate) const fn overhead(&self) -> usize {
        self.history.system_tokens() + self.tools
    }

    /// Returns the tokens of the conversation, without system prompt and tool definitions.
    pub(crate) fn conversation_tokens(&self) -> usize {
        self.history.tokens().saturating_sub(self.history.system_tokens())
    }

    pub(crate) const fn tools(&self) -> usize {
        self.tools
    }
}
