//! What a session is held with: models, tools, policy.

use std::sync::Arc;

use waterline::model::Models;
use waterline::policy::Policy;
use waterline_provider::Model;
use waterline_provider::retry::Retry;
use waterline_provider::wire::{Options, Tool};

use crate::memory::Sink;

/// What a session is held with.
#[derive(Clone, Debug)]
pub struct SessionConfig {
    /// The model that is asked.
    pub model: ModelTarget,
    /// Models that are asked one after the other when it fails.
    pub fallback: Vec<ModelTarget>,
    /// Who writes summaries; the model itself where nobody is named.
    pub summariser: Option<ModelTarget>,
    /// When to fold, and how.
    pub policy: Policy,
    /// The tool definitions.
    pub tools: Vec<Tool>,
    /// Settings of a call.
    pub options: Options,
    /// When to try again.
    pub retry: Retry,
    /// Where memories go; nowhere where there is none.
    pub memory: Option<Arc<dyn Sink>>,
}

impl SessionConfig {
    /// A model and a policy, and nothing else.
    #[must_use]
    pub fn new(model: ModelTarget, policy: Policy) -> Self {
        Self {
            model,
            fallback: Vec::new(),
            summariser: None,
            policy,
            tools: Vec::new(),
            options: Options::default(),
            retry: Retry::default(),
            memory: None,
        }
    }

    /// The model at a place of the list: 0 is the one that is asked first.
    pub(crate) fn candidate(&self, at: usize) -> &ModelTarget {
        at.checked_sub(1).and_then(|at| self.fallback.get(at)).unwrap_or(&self.model)
    }
}

/// A model that can be asked.
#[derive(Clone, Debug)]
pub struct ModelTarget {
    /// Its name, as the provider writes it.
    pub name: String,
    /// What is called under that name.
    pub model: Arc<dyn Model>,
    /// What is known about it: how it counts, what it accepts, what its cache costs. By default the
    /// built-in catalogue's entry.
    pub about: Arc<waterline::Model>,
    /// Tokens a prompt may take; what is known of the model where nothing is said.
    pub window: Option<usize>,
    /// When to fold with it, and how, where that is not as with the others.
    pub policy: Option<Policy>,
    /// What a million fresh prompt tokens cost, in whatever money.
    pub price: Option<f64>,
}

impl ModelTarget {
    /// A model under the name by which its provider knows it.
    pub fn new(name: impl Into<String>, model: impl Model) -> Self {
        let name = name.into();
        let about = Models::builtin().resolve(&name);
        Self { name, model: Arc::new(model), about, window: None, policy: None, price: None }
    }
}
