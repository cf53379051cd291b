//! What a tool returns: content for the model, and effects on the session.

use serde_json::Value;
use waterline::message::{Body, Image, Part, Truncated};
use waterline::reason::Reasons;
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

    /// Returns how many characters the tool left out of its texts.
    pub(crate) fn omitted(&self) -> usize {
        self.parts.iter().filter_map(|part| part.truncated.as_deref()).map(|cut| cut.omitted).sum()
    }

    /// Returns the failure of a call that has this output.
    pub(crate) fn into_failure(self) -> Failure {
        let omitted = self.omitted();
        Failure { refused: self.refused.clone(), omitted, ..Failure::new(self.text_content()) }
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
    Fold(Reasons),
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
    /// The number of characters that the tool left out of the text.
    pub omitted: usize,
}

impl Failure {
    /// Returns a failure that a retry would not fix.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), transient: false, refused: Vec::new(), omitted: 0 }
    }

    /// Returns a failure that a retry may fix.
    pub fn transient(text: impl Into<String>) -> Self {
        Self { transient: true, ..Self::new(text) }
    }
}

impl Failure {
    /// Returns the output of a call that failed.
    pub(crate) fn into_output(self) -> Output {
        let Self { text, refused, omitted, .. } = self;
        let total = text.chars().count() + omitted;
        let truncated = (omitted > 0).then(|| Box::new(Truncated::new(omitted, total)));
        let part = Part { truncated, ..Part::text(text) };
        Output { parts: vec![part], refused, ..Output::default() }
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
        let refused = match &error {
            SandboxError::Outside { whole, .. } => {
                vec![Refusal::File { path: whole.clone(), write: false }]
            }
            _ => Vec::new(),
        };
        Self { refused, ..Self::new(format!("{error}{hint}")) }
    }
}

impl From<waterline_session::SessionError> for Failure {
    fn from(error: waterline_session::SessionError) -> Self {
        Self::new(error.to_string())
    }
}
