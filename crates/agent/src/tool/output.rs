//! What a tool gives back: words or pictures for the model, and what it wants done to the session.

use serde_json::Value;
use waterline::message::{Body, Image, Part};
use waterline_sandbox::SandboxError;

use crate::state::Todo;

/// What a tool found or did.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// For the model.
    pub parts: Vec<Part>,
    /// For the session.
    pub effects: Vec<Effect>,
}

impl Output {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self { parts: vec![Part::text(text)], effects: Vec::new() }
    }

    /// A picture, with a word about it.
    pub fn image(about: impl Into<String>, image: Image) -> Self {
        Self { parts: vec![Part::text(about), Body::Image(image).into()], effects: Vec::new() }
    }

    /// The same, with something to be done to the session.
    #[must_use]
    pub fn with(mut self, effect: Effect) -> Self {
        self.effects.push(effect);
        self
    }

    /// The words.
    #[must_use]
    pub fn words(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match &part.body {
            Body::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// What a tool wants done to the session.
#[derive(Clone, Debug)]
pub enum Effect {
    /// These are the todos now.
    Todos(Vec<Todo>),
    /// The context is to be folded before the next call.
    Fold(String),
    /// The turn waits for a person's answer.
    Ask {
        /// What is asked.
        question: String,
        /// Answers to choose from.
        choices: Vec<String>,
    },
    /// Another role goes on.
    HandOff {
        /// Which.
        to: String,
        /// What it is given.
        package: Value,
    },
}

/// Why a tool did not do it, in words for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Why.
    pub text: String,
    /// Whether another try may go better.
    pub transient: bool,
}

impl Failure {
    /// Something that will fail again.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), transient: false }
    }

    /// Something that may pass.
    pub fn transient(text: impl Into<String>) -> Self {
        Self { text: text.into(), transient: true }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(error.to_string())
    }
}

impl From<SandboxError> for Failure {
    /// The error, with the tool that helps where there is one.
    fn from(error: SandboxError) -> Self {
        let hint = match &error {
            SandboxError::IsDirectory { .. } => "; list_files shows what is in it",
            SandboxError::NotDirectory { .. } => "; read_file reads it",
            SandboxError::TooLarge { .. } => "; take a part of it with run_bash_command",
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
