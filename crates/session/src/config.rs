//! The configuration of a session: models, tools, policy.

use std::path::Path;
use std::sync::Arc;

use waterline::model::Models;
use waterline::policy::Policy;
use waterline_memory::Memory;
use waterline_provider::Model;
use waterline_provider::retry::Retry;
use waterline_provider::wire::{Options, Tool};

use crate::encoders::Encoders;
use crate::price::Price;

/// The configuration of a session.
#[derive(Clone, Debug)]
pub struct SessionConfig {
    /// The model to call.
    pub model: ModelTarget,
    /// The models to call one after the other if it fails.
    pub fallback: Vec<ModelTarget>,
    /// The model that writes summaries; by default the model itself.
    pub summariser: Option<ModelTarget>,
    /// The policy that decides when and how to fold.
    pub policy: Policy,
    /// The tools that the model may call.
    pub tools: Vec<Tool>,
    /// The options of each call.
    pub options: Options,
    /// How often and after which pauses a failed call is repeated.
    pub retry: Retry,
    /// The long-term memory, if any.
    pub memory: Option<Arc<Memory>>,
    /// The encoders for search by meaning, if any.
    pub encoders: Option<Arc<Encoders>>,
}

impl SessionConfig {
    /// Creates a configuration with a model, a policy and defaults.
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
            encoders: None,
        }
    }

    /// Returns the directory of the user's memory. Users have different ones.
    pub(crate) fn user_directory(&self) -> Option<&Path> {
        self.memory.as_ref().map(|memory| memory.root())
    }

    /// Returns the model at an index: 0 is the main model, the others are the fallbacks.
    pub(crate) fn target(&self, at: usize) -> &ModelTarget {
        at.checked_sub(1).and_then(|at| self.fallback.get(at)).unwrap_or(&self.model)
    }
}

/// A model to call.
#[derive(Clone, Debug)]
pub struct ModelTarget {
    /// The model's name at the provider.
    pub name: String,
    /// The model that is called under that name.
    pub model: Arc<dyn Model>,
    /// The model's properties: how it counts tokens, what it accepts, what its cache costs. By
    /// default the entry of the built-in catalog.
    pub about: Arc<waterline::Model>,
    /// Maximum number of tokens of a prompt; by default taken from `about`.
    pub window: Option<usize>,
    /// The policy for this model; by default that of the session.
    pub policy: Option<Policy>,
    /// The price, if it is known.
    pub price: Option<Price>,
    /// Where the size of the window comes from.
    pub window_source: WindowSource,
    /// Whether its server lists other models, and not this one.
    pub is_missing: bool,
    /// Whether its server could not be reached when it was asked about the model.
    pub is_unreachable: bool,
}

/// Where the size of a model's window comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WindowSource {
    /// The user set it.
    Setting,
    /// The server reports it.
    Server,
    /// The model is in the catalog.
    Catalog,
    /// It is a guess: the server reports none, and the catalog does not know the model.
    Guess,
}

impl ModelTarget {
    /// Creates a target for a model. `name` is the model's name at its provider.
    pub fn new(name: impl Into<String>, model: impl Model + 'static) -> Self {
        let name = name.into();
        let known = Models::builtin().find(&name);
        let window_source =
            if known.is_some() { WindowSource::Catalog } else { WindowSource::Guess };
        let about = known.unwrap_or_else(|| Models::builtin().unknown());
        let model = Arc::new(model);
        Self {
            name,
            model,
            about,
            window: None,
            policy: None,
            price: None,
            window_source,
            is_missing: false,
            is_unreachable: false,
        }
    }
}
