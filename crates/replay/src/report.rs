//! Everything a replay found: rows of figures, and for one session the course of its calls.

use crate::counters::Counters;
use crate::pool::Done;
use crate::price::Prices;
use crate::run::{Outcome, ReplayConfig};

/// What was found.
#[derive(Clone, Debug)]
pub struct Report {
    /// The policies, in the order they were given.
    pub policies: Vec<String>,
    /// The windows.
    pub windows: Vec<usize>,
    /// What tokens cost.
    pub prices: Prices,
    /// How tokens were counted; none for as each model does.
    pub counted: Option<String>,
    /// The files, each with a tally for every policy and window.
    pub datasets: Vec<Dataset>,
    /// The session with the most calls, in detail.
    pub longest: Option<Session>,
}

/// The figures of one file, policy by policy and window by window.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// The file.
    pub name: String,
    /// The figures.
    pub tallies: Vec<Counters>,
}

/// One session in detail.
#[derive(Clone, Debug)]
pub struct Session {
    /// Its id.
    pub id: String,
    /// What each policy did with it under each window.
    pub outcomes: Vec<Outcome>,
}

/// One row of figures.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The policy.
    pub policy: &'a str,
    /// The window.
    pub window: usize,
    /// The file, or `all`.
    pub dataset: &'a str,
    /// The figures.
    pub tally: Counters,
}

impl Report {
    /// An empty report.
    #[must_use]
    pub fn new(setup: &ReplayConfig, names: Vec<String>) -> Self {
        let count = setup.policies.len() * setup.windows.len();
        let empty = |name| Dataset { name, tallies: vec![Counters::default(); count] };
        Self {
            policies: setup.policies.iter().map(|policy| policy.name.clone()).collect(),
            windows: setup.windows.clone(),
            prices: setup.prices.clone(),
            counted: setup.method.map(|method| method.to_string()),
            datasets: names.into_iter().map(empty).collect(),
            longest: None,
        }
    }

    /// Takes in a session that was replayed. One without a model call says nothing.
    pub fn add(&mut self, done: Done) {
        if done.outcomes.iter().all(|outcome| outcome.calls.is_empty()) {
            return;
        }
        if let Some(dataset) = self.datasets.get_mut(done.dataset) {
            for (tally, outcome) in dataset.tallies.iter_mut().zip(&done.outcomes) {
                tally.add(&outcome.tally);
            }
        }
        let session = Session { id: done.id, outcomes: done.outcomes };
        // Memory stays bounded on any number of sessions: the one with the most calls is kept.
        let calls =
            |session: &Session| session.outcomes.first().map_or(0, |outcome| outcome.calls.len());
        if self.longest.as_ref().is_none_or(|known| calls(&session) > calls(known)) {
            self.longest = Some(session);
        }
    }

    /// How many sessions there were.
    #[must_use]
    pub fn conversations(&self) -> usize {
        self.datasets
            .iter()
            .filter_map(|dataset| dataset.tallies.first())
            .map(|tally| tally.conversations)
            .sum()
    }

    /// The rows over all files: policy by policy, window by window.
    pub fn totals(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.policies.len() * self.windows.len()).filter_map(|at| {
            let mut tally = Counters::default();
            self.datasets
                .iter()
                .filter_map(|dataset| dataset.tallies.get(at))
                .for_each(|other| tally.add(other));
            self.row(at, "all", tally)
        })
    }

    /// The rows of single files that had sessions.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.datasets.iter().flat_map(|dataset| {
            let tallies =
                dataset.tallies.iter().enumerate().filter(|(_, tally)| tally.conversations > 0);
            tallies.filter_map(|(at, tally)| self.row(at, &dataset.name, *tally))
        })
    }

    fn row<'a>(&'a self, at: usize, dataset: &'a str, tally: Counters) -> Option<Row<'a>> {
        let policy = self.policies.get(at / self.windows.len())?;
        let window = *self.windows.get(at % self.windows.len())?;
        Some(Row { policy, window, dataset, tally })
    }
}
