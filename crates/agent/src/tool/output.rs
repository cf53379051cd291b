//! What a tool returns: content for the model, and effects on the session.

use serde_json::Value;
use waterline::message::{Body, Image, Part};
use waterline_sandbox::{Refusal, SandboxError};

use crate::state::Todo;

/// The result of a successful call.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// Text and images for the model.
    pub parts: Vec<Part>,
    /// Changes to the session, made before the result is stored.
    pub effects: Vec<Effect>,
    /// What the sandbox refused to the call.
    pub refused: Vec<Refusal>,
}

impl Output {
    /// Returns an output with one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { parts: vec![Part::text(text)], ..Self::default() }
    }

    /// Returns an output with an image and a text about it.
    pub fn image(about: impl Into<String>, image: Image) -> Self {
        Self { parts: vec![Part::text(about), Body::Image(image).into()], ..Self::default() }
    }

    /// Adds an effect.
    #[must_use]
    pub fn with(mut self, effect: Effect) -> Self {
        self.effects.push(effect);
        self
    }

    /// Returns the texts, joined by newlines.
    #[must_use]
    pub fn text_content(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match &part.body {
            Body::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// A change to the session that a tool requests.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Effect {
    /// Replaces the task list.
    Todos(Vec<Todo>),
    /// Folds the context before the next call, for this reason.
    Fold(String),
    /// Makes the turn wait for the user's answer.
    Ask {
        /// The question for the user.
        question: String,
        /// Suggested answers.
        choices: Vec<String>,
    },
    /// Ends the turn and hands the work to another role.
    HandOff {
        /// The role that continues.
        to: String,
        /// The summary and paths it receives.
        package: Value,
    },
}

/// Why a call failed, worded for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The text of the result.
    pub text: String,
    /// Whether a retry may succeed.
    pub transient: bool,
    /// What the sandbox refused to the call.
    pub refused: Vec<Refusal>,
}

impl Failure {
    /// Returns a failure that a retry would not fix.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), transient: false, refused: Vec::new() }
    }

    /// Returns a failure that a retry may fix.
    pub fn transient(text: impl Into<String>) -> Self {
        Self { transient: true, ..Self::new(text) }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(error.to_string())
    }
}

impl From<SandboxError> for Failure {
    /// Converts the error and adds a hint if another tool helps.
    fn from(error: SandboxError) -> Self {
        let hint = match &error {
            SandboxError::IsDirectory { .. } => "; use list_files to list it",
            SandboxError::NotDirectory { .. } => "; use read_file to read it",
            SandboxError::TooLarge { .. } => "; extract a part of it with run_bash_command",
            _ => "",
        };
        Self::new(format!("{error}{hint}"))
    }
}

impl From<waterline_session::SessionError> for Failure {
    fn from(error: waterline_session::SessionError) -> Self {
        Self::new(error.to_string())
    }
}
