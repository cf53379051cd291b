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
    Action, Budget, Figures, FoldLevel, FoldRequest, Generation, Input, Keep, Passage, Plan, Slot,
    SummaryRequest, extend, plan,
};
use crate::policy::Policy;
use crate::reason::Reasons;
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
/// assert!(next.tokens().context < next.tokens().window);
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
        self.next(Request::default())
    }

    /// Like [`Context::plan`], with passages of earlier messages for the stage `recall` to quote:
    /// those that fit the newest user message, best first. [`Policy::search`] says how many are
    /// needed. With [`Context::plan`] the stage searches the history by words instead.
    pub fn plan_with(&mut self, passages: Vec<Passage>) -> Next<'_> {
        self.next(Request { passages: Some(passages), ..Request::default() })
    }

    /// Plans a fold whether or not one is due: because the user asked for it, or because a provider
    /// rejected the context as too long. `reason` is shown to people. If nothing can be freed, the
    /// plan is an extension.
    pub fn fold(&mut self, level: FoldLevel, reason: impl Into<Reasons>) -> Next<'_> {
        self.next(Request { fold: Some((level, reason.into())), ..Request::default() })
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
        add_summary(&mut self.summaries, summary);
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

    /// Sets the maximum number of tokens of a prompt.
    pub const fn set_window(&mut self, tokens: usize) {
        self.budget.window = tokens;
        self.budget.model_window = tokens;
    }

    /// Sets the tokens of the tool definitions.
    pub const fn set_tool_tokens(&mut self, tokens: usize) {
        self.budget.tools = tokens;
    }

    /// Sets the policy for later plans. What was committed stays until the next fold.
    pub fn set_policy(&mut self, policy: Policy) {
        self.policy = policy;
    }

    /// Returns the policy that plans follow.
    #[must_use]
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Returns what is known about the model: its window, tokenizer and abilities.
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

    fn next(&mut self, request: Request) -> Next<'_> {
        let input = self.input(&request);
        let extension = if self.history.is_whole() { None } else { extend(&input) };
        let needs_history = !self.history.is_whole() && extension.is_none();
        let plan = extension.unwrap_or_else(|| plan(&input));
        Next { context: self, request, plan, needs_history }
    }

    fn input<'a>(&'a self, request: &'a Request) -> Input<'a> {
        let fold = request.fold.as_ref();
        let input =
            Input::new(&self.history, &self.generation, &self.policy, self.budget, &self.model);
        Input {
            summaries: request.summaries.as_ref().unwrap_or(&self.summaries),
            keep: Keep { pins: &self.pins, lines: &self.lines },
            requested_fold: fold.map(|(level, reasons)| FoldRequest::new(*level, reasons)),
            found_passages: request.passages.as_deref(),
            ..input
        }
    }
}

impl Extend<Message> for Context {
    fn extend<T: IntoIterator<Item = Message>>(&mut self, messages: T) {
        self.history.extend(messages);
    }
}

/// What one plan depends on, in addition to the context.
#[derive(Debug, Default)]
struct Request {
    fold: Option<(FoldLevel, Reasons)>,
    /// `None` if they were not searched for.
    passages: Option<Vec<Passage>>,
    /// All summaries, including those made for this plan; `None` if none was made for it.
    summaries: Option<Vec<Summary>>,
}

/// Adds a summary and removes those that it supersedes: all their messages are covered by it too.
fn add_summary(summaries: &mut Vec<Summary>, summary: Summary) {
    let is_covered =
        |known: &Summary| known.sources.iter().all(|source| summary.sources.contains(source));
    summaries.retain(|known| !is_covered(known));
    summaries.push(summary);
}

/// A plan for the next call, not yet committed. Dropping it leaves the context as it was.
#[derive(Debug)]
#[must_use = "a plan takes effect when it is committed: `commit` returns the messages to send"]
pub struct Next<'c> {
    context: &'c mut Context,
    request: Request,
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
    pub const fn reasons(&self) -> Option<&Reasons> {
        match &self.plan.action {
            Action::Fold { reasons, .. } => Some(reasons),
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
    pub const fn wanted(&self) -> Option<&SummaryRequest> {
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
        let Self { context, mut request, .. } = self;
        let known = request.summaries.get_or_insert_with(|| context.summaries.clone());
        add_summary(known, summary);
        context.next(request)
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
        let Self { context, request, plan, .. } = self;
        if let Some(summaries) = request.summaries {
            context.summaries = summaries;
        }
        context.generation.freeze(&context.history, plan);
        let context: &'c Context = context;
        context.messages().collect()
    }
}
