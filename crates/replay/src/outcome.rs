//! The configuration and the outcome of a replay.

use waterline::Models;
use waterline::policy::Policy;
use waterline::tokens::Method;

use crate::counters::Counters;
use crate::lost::{Fold, Lost};
use crate::price::Prices;
use crate::training_fold::TrainingFold;

/// The configuration of a replay.
#[derive(Clone, Debug)]
pub struct ReplayConfig {
    /// The policies to compare.
    pub policies: Vec<Policy>,
    /// The windows to compare, in tokens, without system prompt and tool definitions.
    pub windows: Vec<usize>,
    /// The prices of tokens.
    pub prices: Prices,
    /// The model to assume; by default the one in the transcript.
    pub model: Option<String>,
    /// The catalog that describes the models.
    pub models: Models,
    /// The counting method; by default the model's.
    pub method: Option<Method>,
    /// Whether to record the values that were forgotten and the folds that dropped them.
    pub trace: bool,
    /// Whether to record training data for the ledger's weights.
    pub learn: bool,
}

/// The outcome of one policy on one conversation under one window.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The policy's name.
    pub policy: String,
    /// The tokens that a context may have.
    pub window: usize,
    /// The sums over all calls.
    pub counters: Counters,
    /// The figures of each model call.
    pub calls: Vec<CallFigures>,
    /// Every fold, in order.
    pub folds: Vec<Fold>,
    /// The values that were forgotten, if [`ReplayConfig::trace`] is set.
    pub lost: Vec<Lost>,
    /// The training data of each fold, if [`ReplayConfig::learn`] is set.
    pub training_folds: Vec<TrainingFold>,
}

/// The figures of one model call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallFigures {
    /// The number of the message it produced: from 1, without the system prompt.
    pub message: usize,
    /// Tokens of the whole prompt.
    pub tokens: usize,
    /// Tokens of the prompt that were read from the cache.
    pub read: usize,
    /// Number of values that the call needed and its context had.
    pub retained: usize,
    /// Number of values that the call needed.
    pub values: usize,
}
