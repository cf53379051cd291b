//! Scores sampled answers with a model. It takes two replays: the first finds the calls that could
//! be scored, the second renders the contexts of the chosen ones. The model itself is the caller's:
//! a function that scores a prompt.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Mutex;

use crate::chatml::{Prompt, is_scorable};
use crate::report::Report;
use crate::run::Context;
use crate::sample::{Sample, SampledCall};
use crate::surprise::Score;

/// Collects the calls that could be scored, while the first replay runs.
#[derive(Debug, Default)]
pub struct Candidates(Mutex<BTreeMap<usize, Vec<SampledCall>>>);

impl Candidates {
    /// Notes the call of a context of this session.
    pub fn add(&self, session: usize, context: &Context<'_>) {
        // The calls are the same for every policy and window.
        if context.track == 0
            && is_scorable(context.answer)
            && let Ok(mut sessions) = self.0.lock()
        {
            let candidate = SampledCall { call: context.call, tokens: context.whole };
            sessions.entry(session).or_default().push(candidate);
        }
    }

    /// Chooses up to `count` calls for each window.
    #[must_use]
    pub fn sample(self, windows: &[usize], count: usize) -> Sample {
        let found = self.0.into_inner().unwrap_or_default();
        let len = found.last_key_value().map_or(0, |(session, _)| session + 1);
        let mut sessions = vec![Vec::new(); len];
        for (session, candidates) in found {
            if let Some(slot) = sessions.get_mut(session) {
                *slot = candidates;
            }
        }
        Sample::new(&sessions, windows, count)
    }
}

/// A function that scores the answer in a prompt, or returns `None` if the prompt is too long for
/// the model. Several threads call it at the same time.
pub type Scorer<'a, E> = dyn Fn(&Prompt) -> Result<Option<Score>, E> + Sync + 'a;

/// A call that was chosen: its window, session and number.
type Chosen = (usize, usize, usize);

/// Scores the chosen calls, while the second replay runs.
pub struct Judge<'a, E> {
    sample: Sample,
    score: &'a Scorer<'a, E>,
    state: Mutex<State<E>>,
}

struct State<E> {
    /// The scores by call and track.
    scores: BTreeMap<(Chosen, usize), Score>,
    /// The calls with a context that was too long for the model.
    too_long: BTreeSet<Chosen>,
    error: Option<E>,
}

impl<E> fmt::Debug for Judge<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Judge").field("sample", &self.sample).finish_non_exhaustive()
    }
}

impl<'a, E> Judge<'a, E> {
    /// Creates a judge of these calls.
    #[must_use]
    pub const fn new(sample: Sample, score: &'a Scorer<'a, E>) -> Self {
        let state = State { scores: BTreeMap::new(), too_long: BTreeSet::new(), error: None };
        Self { sample, score, state: Mutex::new(state) }
    }

    /// Scores the answer to a context of this session, if its call was chosen. After an error
    /// nothing more is scored.
    pub fn judge(&self, session: usize, context: &Context<'_>) {
        let is_chosen = self.sample.has(context.window, session, context.call);
        if !is_chosen || self.state.lock().is_ok_and(|state| state.error.is_some()) {
            return;
        }
        let result = (self.score)(&Prompt::new(context.messages, context.answer));
        let Ok(mut state) = self.state.lock() else { return };
        let call = (context.window, session, context.call);
        match result {
            Ok(Some(score)) => {
                state.scores.insert((call, context.track), score);
            }
            Ok(None) => {
                state.too_long.insert(call);
            }
            Err(error) if state.error.is_none() => state.error = Some(error),
            Err(_) => {}
        }
    }

    /// Adds the scores to a report. `datasets` has the dataset of each session. A call with a
    /// context that was too long under one policy counts for none, so that all policies are judged
    /// by the same answers. Returns the number of such calls.
    ///
    /// # Errors
    /// The first error of the scoring function.
    pub fn finish(self, report: &mut Report, datasets: &[usize]) -> Result<usize, E> {
        // A thread that panicked has ended the replay, so the lock is not poisoned here.
        let Ok(state) = self.state.into_inner() else { return Ok(0) };
        if let Some(error) = state.error {
            return Err(error);
        }
        let mut sessions: BTreeMap<(usize, usize), Score> = BTreeMap::new();
        for ((call, track), score) in &state.scores {
            if !state.too_long.contains(call) {
                let (_, session, _) = call;
                sessions.entry((*session, *track)).or_default().add(score);
            }
        }
        for ((session, track), score) in sessions {
            if let Some(&dataset) = datasets.get(session) {
                report.add_score(dataset, track, &score);
            }
        }
        Ok(state.too_long.len())
    }
}
