//! The engine as one owned object: push messages, make a plan, and commit it to get the messages to
//! send.
//!
//! This file adds no rules: it holds what [`plan()`](crate::plan::plan) needs between calls and
//! enforces the order of plan and commit. It calls no model, reads no clock and stores nothing; an
//! application that keeps sessions stores [`Context::history`] and [`Context::generation`] and
//! resumes from them.

mod builder;

pub use builder::{Choice, ContextBuilder};

use std::sync::Arc;

use crate::history::History;
use crate::message::Message;
use crate::model::Model;
use crate::plan::{
    Action, Budget, Figures, FoldLevel, Generation, Input, Keep, Plan, RequestedFold, Slot, Wanted,
    extend, plan,
};
use crate::policy::Policy;
use crate::summary::Summary;
use crate::tokens::{Calibration, Counter};
use crate::warning::Warning;

/// A conversation with a model, kept within its window.
///
/// ```
/// use waterline::{Context, Message};
///
/// let mut context = Context::builder().model("gpt-4o").policy("auto").build()?;
/// context.push(Message::system("You are a careful engineer."));
/// context.push(Message::user("Why does the build fail?"));
///
/// let next = context.plan();
/// assert!(next.tokens().after < next.tokens().window);
/// let messages = next.commit();
/// assert_eq!(messages.len(), 2);
/// # Ok::<(), waterline::PolicyError>(())
/// ```
///
/// The messages to send come out of [`Next::commit`], so a plan that is sent is always committed.
/// Nothing can be pushed while a plan is open:
///
/// ```compile_fail
/// # use waterline::{Context, Message};
/// # let mut context = Context::builder().build().unwrap();
/// let next = context.plan();
/// context.push(Message::user("One more thing."));
/// next.commit();
/// ```
#[derive(Clone, Debug)]
pub struct Context {
    model: Arc<Model>,
    policy: Policy,
    budget: Budget,
    history: History,
    generation: Generation,
    summaries: Vec<Summary>,
    pins: Vec<usize>,
    lines: Vec<String>,
    warnings: Vec<Warning>,
}

impl Context {
    /// Returns a builder. By default it plans for an unknown model with the policy `auto`.
    #[must_use]
    pub fn builder() -> ContextBuilder {
        ContextBuilder::default()
    }

    /// Appends a message and returns its index in the history.
    pub fn push(&mut self, message: Message) -> usize {
        self.history.append(message)
    }

    /// Appends a message whose tokens were counted before by [`Context::counter`].
    pub fn push_counted(&mut self, message: Message, tokens: usize) -> usize {
        self.history.append_counted(message, tokens)
    }

    /// Plans the next call. Planning changes nothing until the plan is committed.
    pub fn plan(&mut self) -> Next<'_> {
        self.next(None)
    }

    /// Plans a fold whether or not one is due: because the user asked for it, or because a provider
    /// rejected the context as too long. `reason` is shown to people. If nothing can be freed, the
    /// plan is an extension.
    pub fn fold(&mut self, level: FoldLevel, reason: impl Into<String>) -> Next<'_> {
        self.next(Some((level, reason.into())))
    }

    /// Returns the messages of the last committed plan.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.generation.context(&self.history)
    }

    /// Returns the committed slots: what is sent, what is not, and why.
    #[must_use]
    pub fn slots(&self) -> &[Slot] {
        self.generation.slots()
    }

    /// Pins a message: every fold keeps it.
    pub fn pin(&mut self, message: usize) {
        if !self.pins.contains(&message) {
            self.pins.push(message);
        }
    }

    /// Removes the pin of a message.
    pub fn unpin(&mut self, message: usize) {
        self.pins.retain(|&pinned| pinned != message);
    }

    /// Returns the pinned messages.
    #[must_use]
    pub fn pins(&self) -> &[usize] {
        &self.pins
    }

    /// Sets the lines that a summary must contain verbatim: open todos, pending approvals.
    pub fn keep_lines(&mut self, lines: Vec<String>) {
        self.lines = lines;
    }

    /// Adds a summary that an earlier plan wanted. The next fold uses it; call [`Context::fold`] to
    /// use it now.
    pub fn add_summary(&mut self, summary: Summary) {
        self.summaries
            .retain(|known| !known.sources.iter().all(|source| summary.sources.contains(source)));
        self.summaries.push(summary);
    }

    /// Records how many tokens the provider counted for the prompt of the last committed plan.
    pub fn record_usage(&mut self, prompt_tokens: usize) {
        let estimated = self.generation.tokens() + self.budget.tools;
        self.budget.calibration.observe(estimated, prompt_tokens);
    }

    /// Returns the learned ratio between real and counted tokens.
    #[must_use]
    pub const fn calibration(&self) -> Calibration {
        self.budget.calibration
    }

    /// Sets whether the provider's cache no longer holds the prompt. A fold costs less then.
    pub const fn set_cache_cold(&mut self, is_cold: bool) {
        self.budget.cold = is_cold;
    }

    /// Sets the most tokens of a prompt.
    pub const fn set_window(&mut self, tokens: usize) {
        self.budget.window = tokens;
        self.budget.whole = tokens;
    }

    /// Sets the tokens of the tool definitions.
    pub const fn set_tool_tokens(&mut self, tokens: usize) {
        self.budget.tools = tokens;
    }

    /// Sets the policy for later plans. What was committed stays until the next fold.
    pub fn set_policy(&mut self, policy: Policy) {
        self.policy = policy;
    }

    /// Returns the policy.
    #[must_use]
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Returns the model.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Returns the token budget of a call.
    #[must_use]
    pub const fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Returns the token counter.
    #[must_use]
    pub const fn counter(&self) -> &Counter {
        self.history.counter()
    }

    /// Returns every message that was pushed, with atoms, tokens and values.
    #[must_use]
    pub const fn history(&self) -> &History {
        &self.history
    }

    /// Returns what was sent so far.
    #[must_use]
    pub const fn generation(&self) -> &Generation {
        &self.generation
    }

    /// Replaces a history of which only the end was loaded with the whole one.
    pub fn load_history(&mut self, whole: History) {
        self.history = whole;
    }

    /// Returns the warnings about the settings and about the messages pushed so far.
    pub fn warnings(&self) -> impl Iterator<Item = &Warning> {
        self.warnings.iter().chain(self.history.warnings())
    }

    fn next(&mut self, requested: Option<(FoldLevel, String)>) -> Next<'_> {
        let input = self.input(requested.as_ref());
        let extension = if self.history.is_whole() { None } else { extend(&input) };
        let needs_history = !self.history.is_whole() && extension.is_none();
        let plan = extension.unwrap_or_else(|| plan(&input));
        Next { context: self, requested, plan, needs_history }
    }

    fn input<'a>(&'a self, requested: Option<&'a (FoldLevel, String)>) -> Input<'a> {
        let input =
            Input::new(&self.history, &self.generation, &self.policy, self.budget, &self.model);
        Input {
            summaries: &self.summaries,
            keep: Keep { pins: &self.pins, lines: &self.lines },
            requested: requested.map(|(level, reason)| RequestedFold { level: *level, reason }),
            ..input
        }
    }
}

impl Extend<Message> for Context {
    fn extend<T: IntoIterator<Item = Message>>(&mut self, messages: T) {
        self.history.extend(messages);
    }
}

/// A plan for the next call, not yet committed. Dropping it leaves the context as it was.
#[derive(Debug)]
#[must_use = "a plan takes effect when it is committed: `commit` returns the messages to send"]
pub struct Next<'c> {
    context: &'c mut Context,
    requested: Option<(FoldLevel, String)>,
    plan: Plan,
    needs_history: bool,
}

impl<'c> Next<'c> {
    /// Returns whether the plan extends what was sent or folds it.
    #[must_use]
    pub const fn action(&self) -> &Action {
        &self.plan.action
    }

    /// Returns why the plan folds, or `None` if it extends what was sent.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match &self.plan.action {
            Action::Fold { reason, .. } => Some(reason),
            Action::Extend => None,
        }
    }

    /// Returns the new slots: those of the new messages, or all of them if the plan folds.
    #[must_use]
    pub fn slots(&self) -> &[Slot] {
        &self.plan.slots
    }

    /// Returns the token counts before and after, and the marks.
    #[must_use]
    pub const fn tokens(&self) -> Figures {
        self.plan.tokens
    }

    /// Returns the problems that the plan could not avoid.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.plan.warnings
    }

    /// Returns the summary that would be better than the digest in this plan. Ask a model for it
    /// and pass the text to [`Next::with_summary`], or commit and add it later with
    /// [`Context::add_summary`].
    #[must_use]
    pub const fn wanted(&self) -> Option<&Wanted> {
        self.plan.wanted.as_ref()
    }

    /// Returns the messages that the wanted summary is about.
    pub fn wanted_messages(&self) -> impl Iterator<Item = &Message> {
        let sources = self.plan.wanted.iter().flat_map(|wanted| &wanted.sources);
        sources.filter_map(|&source| self.context.history.message(source))
    }

    /// Plans again with the text of the wanted summary. If none is wanted, the plan stays
    /// unchanged.
    pub fn with_summary(self, text: impl Into<String>) -> Self {
        let Some(summary) = self.plan.wanted.as_ref().map(|wanted| wanted.summary(text)) else {
            return self;
        };
        let Self { context, requested, .. } = self;
        context.add_summary(summary);
        context.next(requested)
    }

    /// Returns whether a fold is due that needs messages which are not loaded. If so, load them
    /// with [`Context::load_history`] and plan again. This happens only in a context that was
    /// resumed with the end of a history.
    #[must_use]
    pub const fn needs_history(&self) -> bool {
        self.needs_history
    }

    /// Commits the plan and returns the messages to send, in order.
    pub fn commit(self) -> Vec<&'c Message> {
        let Self { context, plan, .. } = self;
        context.generation.freeze(&context.history, plan);
        let context: &'c Context = context;
        context.messages().collect()
    }
}
