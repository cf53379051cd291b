//! A session in use: what is in memory of it, and how it goes to and from the log.

use std::sync::Arc;

use waterline::history::History;
use waterline::message::{Message, Role, Wire};
use waterline::model::Model;
use waterline::plan::{Budget, Generation};
use waterline::policy::Policy;
use waterline::tokens::Calibration;
use waterline::validity::Violation;
use waterline_log::{Incoming, Log, Resumed, Session, Usage as Recorded};
use waterline_provider::answer::Answer;
use waterline_provider::http::Endpoint;
use waterline_provider::http::retry::Retry;
use waterline_provider::wire::{self, Options, Tool};

use crate::error::SessionError;

/// What a session is held with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The model, by the provider's name.
    pub model: String,
    /// Where it answers.
    pub endpoint: Endpoint,
    /// When to fold, and how.
    pub policy: Policy,
    /// The tool definitions.
    pub tools: Vec<Tool>,
    /// Settings of a call.
    pub options: Options,
    /// Tokens the prompt may take; the model's own window where nothing is said.
    pub window: Option<usize>,
    /// When to try again.
    pub retry: Retry,
}

/// A session in use.
#[derive(Debug)]
pub struct Live {
    pub(crate) log: Log,
    pub(crate) setup: Setup,
    pub(crate) model: &'static Model,
    pub(crate) session: Session,
    pub(crate) cleared: u64,
    pub(crate) history: History,
    pub(crate) generation: Generation,
    pub(crate) budget: Budget,
    pub(crate) violations: Vec<Violation>,
}

/// Reads a stored message of a wire.
fn parse(text: Arc<String>, wire: Wire, role: Role) -> Option<Message> {
    wire::kept(&text, wire, role)
}

impl Live {
    /// Takes a session up: what it sent last, and the messages since.
    ///
    /// # Errors
    /// When there is no such session.
    pub async fn open(log: Log, session: &str, setup: Setup) -> Result<Self, SessionError> {
        let model = Model::known(&setup.model).unwrap_or_else(Model::unknown);
        let counter = model.counter();
        let id = session.to_owned();
        let resumed = blocking(&log, move |log| log.resume(&id, &counter, parse)).await?;
        let Resumed { session, generation, history, cleared } = resumed;
        let tools = setup.tools.iter().map(|tool| counter.tool(&tool.json)).sum();
        let window = setup.window.unwrap_or_else(|| model.input_window());
        let budget = Budget { window, tools, calibration: Calibration::default(), cold: false };
        Ok(Self { log, setup, model, session, cleared, history, generation, budget, violations: Vec::new() })
    }

    /// The session as the log has it.
    #[must_use]
    pub const fn session(&self) -> &Session {
        &self.session
    }

    /// What was sent last.
    #[must_use]
    pub const fn generation(&self) -> &Generation {
        &self.generation
    }

    /// Tokens the prompt may take, as far as is known by now.
    #[must_use]
    pub const fn window(&self) -> usize {
        self.budget.window
    }

    /// Rules of the wire that contexts broke so far; there should be none.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// Stores messages behind the session, then takes them into the history.
    pub(crate) async fn append(&mut self, messages: Vec<Message>) -> Result<(), SessionError> {
        if messages.is_empty() {
            return Ok(());
        }
        let counter = *self.history.counter();
        let incoming: Vec<Incoming> = messages.iter().map(|message| Incoming::of(message, &counter)).collect();
        let (id, tip) = (self.session.id.clone(), self.session.tip);
        let appended = blocking(&self.log, move |log| log.append(&id, tip, incoming)).await?;
        self.session.tip = appended.tip;
        self.history.extend(messages);
        Ok(())
    }

    /// Loads the messages that were left in the log.
    pub(crate) async fn load_whole(&mut self) -> Result<(), SessionError> {
        let (id, counter) = (self.session.id.clone(), *self.history.counter());
        self.history = blocking(&self.log, move |log| log.history(&id, &counter, parse)).await?;
        Ok(())
    }

    /// Stores an answer, and what it took.
    pub(crate) async fn take(&mut self, answer: &Answer) -> Result<(), SessionError> {
        let expected = self.generation.tokens() + self.budget.tools;
        if answer.usage.prompt() > 0 {
            self.budget.calibration.observe(expected, answer.usage.prompt());
        }
        self.append(answer.messages.clone()).await?;
        let usage = Recorded {
            position: self.session.tip.position(),
            model: answer.model.clone().unwrap_or_else(|| self.setup.model.clone()),
            input: answer.usage.input as u64,
            cache_read: answer.usage.cache_read as u64,
            cache_write: answer.usage.cache_write as u64,
            output: answer.usage.output as u64,
            ..Recorded::default()
        };
        let id = self.session.id.clone();
        blocking(&self.log, move |log| log.record_usage(&id, usage)).await
    }

    /// Keeps what came of an answer that broke off, beside the way of the session: it can be found there, and the next try
    /// does not go on from it.
    pub(crate) async fn keep_aside(&mut self, partial: &Answer) -> Result<(), SessionError> {
        if partial.messages.is_empty() {
            return Ok(());
        }
        let counter = *self.history.counter();
        let incoming: Vec<Incoming> = partial.messages.iter().map(|message| Incoming::of(message, &counter)).collect();
        let (id, tip) = (self.session.id.clone(), self.session.tip);
        self.session = blocking(&self.log, move |log| {
            log.append(&id, tip, incoming)?;
            log.rewind(&id, waterline_log::To::Position(tip.position()))
        })
        .await?;
        Ok(())
    }
}

/// Work on the log, on a thread where blocking is allowed.
pub(crate) async fn blocking<T: Send + 'static>(
    log: &Log,
    work: impl FnOnce(&Log) -> waterline_log::Result<T> + Send + 'static,
) -> Result<T, SessionError> {
    let log = log.clone();
    match tokio::task::spawn_blocking(move || work(&log)).await {
        Ok(outcome) => Ok(outcome?),
        Err(_) => Err(SessionError::Ending),
    }
}
