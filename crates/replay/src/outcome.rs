//! What a replay is made with and what comes of it. `run` makes the one from the other.

use waterline::policy::Policy;
use waterline::tokens::Method;

use crate::counters::Counters;
use crate::lost::{Fold, Lost};
use crate::price::Prices;
use crate::training_fold::TrainingFold;

/// What a replay is made with.
#[derive(Clone, Debug)]
pub struct ReplayConfig {
    /// The policies.
    pub policies: Vec<Policy>,
    /// The tokens a context may take beside system prompt and tool definitions.
    pub windows: Vec<usize>,
    /// What tokens cost.
    pub prices: Prices,
    /// The model that is taken to be called; else the one the transcript names.
    pub model: Option<String>,
    /// The way of counting; else the model's.
    pub method: Option<Method>,
    /// Whether to find out what was forgotten, and which fold dropped it.
    pub trace: bool,
    /// Whether to note what each fold could have listed and what was needed of it, for training.
    pub learn: bool,
}

/// What one policy did with one conversation under one window.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The policy's name.
    pub policy: String,
    /// The window.
    pub window: usize,
    /// The figures.
    pub tally: Counters,
    /// Each model call.
    pub calls: Vec<CallFigures>,
    /// Each fold.
    pub folds: Vec<Fold>,
    /// Each value that was forgotten, where that was asked for.
    pub lost: Vec<Lost>,
    /// What each fold could have listed, and what was needed of it.
    pub training_folds: Vec<TrainingFold>,
}

/// One model call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallFigures {
    /// The message it made, as the file numbers it.
    pub message: usize,
    /// The whole prompt.
    pub tokens: usize,
    /// Of it, served by the cache.
    pub read: usize,
    /// Values the call needed and had.
    pub retained: usize,
    /// Values the call needed.
    pub values: usize,
}
