//! Builds a context from a model, a policy and token limits.

use std::sync::Arc;

use super::Context;
use crate::history::History;
use crate::model::{Model, Models};
use crate::phrase;
use crate::plan::{Budget, Generation};
use crate::policy::{DEFAULT_POLICY, Policy, PolicyError};
use crate::tokens::{Calibration, Counter};
use crate::tool::Tool;
use crate::warning::{Warning, WarningKind};

/// A model or policy, given by name or as a value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Choice<T> {
    /// Looked up when the context is built.
    Name(String),
    /// Used directly.
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

impl Choice<Policy> {
    /// Returns the policy. A name is that of a preset.
    ///
    /// # Errors
    /// If the preset does not exist.
    pub fn load(self) -> Result<Policy, PolicyError> {
        match self {
            Self::Name(name) => Policy::preset(&name),
            Self::Value(policy) => Ok(policy),
        }
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

/// Builds a [`Context`].
#[derive(Clone, Debug, Default)]
pub struct ContextBuilder {
    model: Option<Choice<Arc<Model>>>,
    models: Models,
    policy: Option<Choice<Policy>>,
    window: Option<usize>,
    output: Option<usize>,
    counter: Option<Counter>,
    tools: Vec<Tool>,
    calibration: Calibration,
    resumed: Option<(History, Generation)>,
}

impl ContextBuilder {
    /// Sets the model: a name in the catalog, or a [`Model`]. An unknown name gets conservative
    /// estimates and a warning.
    #[must_use]
    pub fn model(mut self, model: impl Into<Choice<Arc<Model>>>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Sets the catalog in which the name of the model is looked up. The default is the built-in
    /// one.
    #[must_use]
    pub fn models(mut self, models: Models) -> Self {
        self.models = models;
        self
    }

    /// Sets the policy: the name of a preset, or a [`Policy`]. The default is `auto`.
    #[must_use]
    pub fn policy(mut self, policy: impl Into<Choice<Policy>>) -> Self {
        self.policy = Some(policy.into());
        self
    }

    /// Sets the maximum number of tokens of a prompt. The default is the model's window less the
    /// tokens reserved for the answer.
    #[must_use]
    pub const fn window(mut self, tokens: usize) -> Self {
        self.window = Some(tokens);
        self
    }

    /// Sets the tokens of the model's window that are reserved for the answer. It has no effect if
    /// [`Self::window`] is set.
    #[must_use]
    pub const fn output(mut self, tokens: usize) -> Self {
        self.output = Some(tokens);
        self
    }

    /// Sets the token counter. The default is that of the model.
    #[must_use]
    pub const fn counter(mut self, counter: Counter) -> Self {
        self.counter = Some(counter);
        self
    }

    /// Adds a tool that is sent with every call, so that its tokens count.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Sets the correction factor of the token counter, as measured in earlier calls.
    #[must_use]
    pub const fn calibration(mut self, calibration: Calibration) -> Self {
        self.calibration = calibration;
        self
    }

    /// Resumes a stored conversation from its history (or the end of it) and what was sent.
    #[must_use]
    pub fn resume(mut self, history: History, generation: Generation) -> Self {
        self.resumed = Some((history, generation));
        self
    }

    /// Builds the context.
    ///
    /// # Errors
    /// If the policy names a preset that does not exist.
    pub fn build(self) -> Result<Context, PolicyError> {
        let mut warnings = Vec::new();
        let model = match self.model {
            Some(Choice::Value(model)) => model,
            Some(Choice::Name(name)) => self.models.find(&name).unwrap_or_else(|| {
                let text = phrase!(
                    "warning-unknown-model",
                    "unknown model {name:?}: using conservative estimates",
                    name = &name
                );
                warnings.push(Warning::new(WarningKind::UnknownModel, text));
                self.models.unknown()
            }),
            None => self.models.unknown(),
        };
        let policy = self.policy.unwrap_or_else(|| DEFAULT_POLICY.into()).load()?;
        warnings.extend(
            policy.warnings.iter().map(|text| Warning::new(WarningKind::Setting, text.clone())),
        );
        let (history, generation) = self.resumed.unwrap_or_else(|| {
            let counter = self.counter.unwrap_or_else(|| model.counter());
            (History::new(counter), Generation::new())
        });
        let output = self.output.unwrap_or(model.output);
        let window = self.window.unwrap_or_else(|| model.window.saturating_sub(output));
        let tools = self.tools.iter().map(|tool| history.counter().tool(tool)).sum();
        let whole = self.window.unwrap_or(model.window);
        let calibration = self.calibration;
        let budget = Budget { model_window: whole, tools, calibration, ..Budget::of(window) };
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
