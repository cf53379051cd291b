//! How a context is set up: which model, which policy, how much room.

use std::sync::Arc;

use super::Context;
use crate::history::History;
use crate::model::{Model, Models};
use crate::plan::{Budget, Generation};
use crate::policy::{Policy, PolicyError};
use crate::tokens::{Calibration, Counter};
use crate::warning::{Oddity, Warning};

const DEFAULT_POLICY: &str = "auto";

/// Something that is given by name or as a value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Choice<T> {
    /// Looked up when the context is built.
    Name(String),
    /// Taken as it is.
    Value(T),
}

impl<T> From<&str> for Choice<T> {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

impl<T> From<String> for Choice<T> {
    fn from(name: String) -> Self {
        Self::Name(name)
    }
}

impl From<Policy> for Choice<Policy> {
    fn from(policy: Policy) -> Self {
        Self::Value(policy)
    }
}

impl From<Model> for Choice<Arc<Model>> {
    fn from(model: Model) -> Self {
        Self::Value(Arc::new(model))
    }
}

impl From<Arc<Model>> for Choice<Arc<Model>> {
    fn from(model: Arc<Model>) -> Self {
        Self::Value(model)
    }
}

/// Sets up a [`Context`].
#[derive(Clone, Debug, Default)]
pub struct ContextBuilder {
    model: Option<Choice<Arc<Model>>>,
    models: Models,
    policy: Option<Choice<Policy>>,
    window: Option<usize>,
    output: Option<usize>,
    counter: Option<Counter>,
    tools: Vec<String>,
    calibration: Calibration,
    resumed: Option<(History, Generation)>,
}

impl ContextBuilder {
    /// The model: a name to be looked up in the catalogue, or a description. A name that the
    /// catalogue does not have gets careful estimates and a warning.
    #[must_use]
    pub fn model(mut self, model: impl Into<Choice<Arc<Model>>>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// The catalogue in which the model's name is looked up; the built-in one by default.
    #[must_use]
    pub fn models(mut self, models: Models) -> Self {
        self.models = models;
        self
    }

    /// The policy: the name of a preset, or a policy. `auto` by default.
    #[must_use]
    pub fn policy(mut self, policy: impl Into<Choice<Policy>>) -> Self {
        self.policy = Some(policy.into());
        self
    }

    /// The tokens that a prompt may take. By default the model's window less what is kept for the
    /// answer.
    #[must_use]
    pub const fn window(mut self, tokens: usize) -> Self {
        self.window = Some(tokens);
        self
    }

    /// The tokens of the model's window that are kept for the answer. It has no effect where
    /// [`Self::window`] is set.
    #[must_use]
    pub const fn output(mut self, tokens: usize) -> Self {
        self.output = Some(tokens);
        self
    }

    /// How tokens are counted; by default as the model counts them.
    #[must_use]
    pub const fn counter(mut self, counter: Counter) -> Self {
        self.counter = Some(counter);
        self
    }

    /// A tool definition, as the JSON text that is sent with every call. Its tokens count.
    #[must_use]
    pub fn tool(mut self, definition: impl Into<String>) -> Self {
        self.tools.push(definition.into());
        self
    }

    /// What earlier calls taught about the counter.
    #[must_use]
    pub const fn calibration(mut self, calibration: Calibration) -> Self {
        self.calibration = calibration;
        self
    }

    /// Continues a stored conversation: its history (or the end of it) and what was sent.
    #[must_use]
    pub fn resume(mut self, history: History, generation: Generation) -> Self {
        self.resumed = Some((history, generation));
        self
    }

    /// Builds the context.
    ///
    /// # Errors
    /// When no preset has the name of the policy.
    pub fn build(self) -> Result<Context, PolicyError> {
        let mut warnings = Vec::new();
        let model = match self.model {
            Some(Choice::Value(model)) => model,
            Some(Choice::Name(name)) => self.models.find(&name).unwrap_or_else(|| {
                let text = format!("the model {name:?} is unknown: careful estimates are used");
                warnings.push(Warning::new(Oddity::UnknownModel, text));
                self.models.unknown()
            }),
            None => self.models.unknown(),
        };
        let policy = match self.policy.unwrap_or_else(|| DEFAULT_POLICY.into()) {
            Choice::Value(policy) => policy,
            Choice::Name(name) => Policy::preset(&name)?,
        };
        warnings.extend(policy.warnings.iter().map(|text| Warning::new(Oddity::Setting, text)));
        let (history, generation) = self.resumed.unwrap_or_else(|| {
            let counter = self.counter.unwrap_or_else(|| model.counter());
            (History::new(counter), Generation::new())
        });
        let output = self.output.unwrap_or(model.output);
        let window = self.window.unwrap_or_else(|| model.window.saturating_sub(output));
        let tools = self.tools.iter().map(|definition| history.counter().tool(definition)).sum();
        let budget = Budget { tools, calibration: self.calibration, ..Budget::of(window) };
        Ok(Context {
            model,
            policy,
            budget,
            history,
            generation,
            summaries: Vec::new(),
            pins: Vec::new(),
            lines: Vec::new(),
            warnings,
        })
    }
}
