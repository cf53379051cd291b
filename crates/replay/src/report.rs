//! [`Report`]: the results of a replay over many files, with one session in detail.

use crate::counters::Counters;
use crate::pool::Done;
use crate::price::Prices;
use crate::run::{Outcome, ReplayConfig};
use crate::surprise::Score;

/// The results of a replay.
#[derive(Clone, Debug)]
pub struct Report {
    /// The names of the policies, in the order of the configuration.
    pub policies: Vec<String>,
    /// The windows that were compared, in tokens.
    pub windows: Vec<usize>,
    /// The prices of tokens.
    pub prices: Prices,
    /// The counting method; `None` if each model has its own.
    pub counted: Option<String>,
    /// The results of each file.
    pub datasets: Vec<Dataset>,
    /// The session with the most calls, in detail.
    pub longest: Option<Session>,
    /// The model that judged answers, if one did.
    pub judge: Option<JudgeInfo>,
}

/// The model that judged answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgeInfo {
    /// The model's name.
    pub model: String,
    /// Maximum number of answers that it judged per policy and window.
    pub answers: usize,
    /// How many answers were left out because a context was too long for the model.
    pub too_long: usize,
}

/// The figures of one file, policy by policy and window by window.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Dataset {
    /// The name of the file.
    pub name: String,
    /// The figures for every policy and window.
    pub counters: Vec<Counters>,
}

/// One session in detail.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Session {
    /// The session's id.
    pub id: String,
    /// The outcome of each policy under each window.
    pub outcomes: Vec<Outcome>,
}

/// One row of figures.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Row<'a> {
    /// The name of the policy.
    pub policy: &'a str,
    /// The tokens that a context may have.
    pub window: usize,
    /// The name of the file, or `all`.
    pub dataset: &'a str,
    /// What was counted for the row.
    pub counters: Counters,
}

impl Report {
    /// Creates an empty report for files with these names.
    #[must_use]
    pub fn new(config: &ReplayConfig, names: Vec<String>) -> Self {
        let count = config.policies.len() * config.windows.len();
        let empty = |name| Dataset { name, counters: vec![Counters::default(); count] };
        Self {
            policies: config.policies.iter().map(|policy| policy.name.clone()).collect(),
            windows: config.windows.clone(),
            prices: config.prices.clone(),
            counted: config.method.map(|method| method.to_string()),
            datasets: names.into_iter().map(empty).collect(),
            longest: None,
            judge: None,
        }
    }

    /// Adds a session. A session without a model call is ignored.
    pub fn add(&mut self, done: Done) {
        if done.outcomes.iter().all(|outcome| outcome.calls.is_empty()) {
            return;
        }
        if let Some(dataset) = self.datasets.get_mut(done.dataset) {
            for (counters, outcome) in dataset.counters.iter_mut().zip(&done.outcomes) {
                counters.add(&outcome.counters);
            }
        }
        let session = Session { id: done.id, outcomes: done.outcomes };
        // Only the session with the most calls is kept, so that memory stays bounded.
        let calls =
            |session: &Session| session.outcomes.first().map_or(0, |outcome| outcome.calls.len());
        if self.longest.as_ref().is_none_or(|known| calls(&session) > calls(known)) {
            self.longest = Some(session);
        }
    }

    /// Adds what a judge scored in one session of a dataset, under one policy and window.
    pub fn add_score(&mut self, dataset: usize, track: usize, score: &Score) {
        let dataset = self.datasets.get_mut(dataset);
        if let Some(counters) = dataset.and_then(|dataset| dataset.counters.get_mut(track)) {
            counters.surprise.add_session(score);
        }
    }

    /// Returns the number of sessions.
    #[must_use]
    pub fn conversations(&self) -> usize {
        self.datasets
            .iter()
            .filter_map(|dataset| dataset.counters.first())
            .map(|counters| counters.conversations)
            .sum()
    }

    /// Returns the totals over all files, policy by policy and window by window.
    pub fn totals(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.policies.len() * self.windows.len()).filter_map(|at| {
            let mut counters = Counters::default();
            self.datasets
                .iter()
                .filter_map(|dataset| dataset.counters.get(at))
                .for_each(|other| counters.add(other));
            self.row(at, "all", counters)
        })
    }

    /// Returns the rows of each file that had sessions.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.datasets.iter().flat_map(|dataset| {
            let counters = dataset
                .counters
                .iter()
                .enumerate()
                .filter(|(_, counters)| counters.conversations > 0);
            counters.filter_map(|(at, counters)| self.row(at, &dataset.name, *counters))
        })
    }

    fn row<'a>(&'a self, at: usize, dataset: &'a str, counters: Counters) -> Option<Row<'a>> {
        let policy = self.policies.get(at / self.windows.len())?;
        let window = *self.windows.get(at % self.windows.len())?;
        Some(Row { policy, window, dataset, counters })
    }
}
