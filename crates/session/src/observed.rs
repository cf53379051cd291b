//! What providers taught about their models, kept from session to session: the real window, and how
//! far the counter is off. Each has a setting of its own in the log, so that two sessions do not
//! overwrite what the other learned.

use crate::error::SessionError;
use crate::live::LiveSession;
use crate::model_stats::{EVERYBODY, ModelStats};

/// A factor that moved by less is not worth a write.
const WORTH: f64 = 0.01;

/// How long a model that failed is left alone, in milliseconds.
const REST: i64 = 5 * 60 * 1_000;

impl LiveSession {
    /// The name under which the model_stats with a model is kept: the same model may have another
    /// window elsewhere.
    pub(crate) fn stats_key(&self) -> String {
        self.experience_key_of(self.at)
    }

    fn experience_key_of(&self, at: usize) -> String {
        let candidate = self.config.candidate(at);
        match candidate.model.address() {
            "" => candidate.name.clone(),
            address => format!("{}@{address}", candidate.name),
        }
    }

    /// What is known of the model that is asked.
    pub(crate) fn model_stats(&self) -> ModelStats {
        self.experiences.get(&self.stats_key()).copied().unwrap_or_default()
    }

    /// The first model that did not fail a short while ago; the very first where all did.
    pub(crate) fn first_ready(&self) -> usize {
        let now = self.log.now();
        let is_ready = |&at: &usize| {
            self.experiences
                .get(&self.experience_key_of(at))
                .is_none_or(|known| !known.is_resting(now))
        };
        (0..=self.config.fallback.len()).find(is_ready).unwrap_or(0)
    }

    /// Leaves the model alone for a while, in this session and others.
    pub(crate) async fn rest(&mut self) -> Result<(), SessionError> {
        let (key, until) = (self.stats_key(), self.log.now() + REST);
        self.experiences.entry(key.clone()).or_default().rests = Some(until);
        self.on_log(move |log| {
            log.set_preference(EVERYBODY, &format!("rests/{key}"), Some(&until.to_string()))
        })
        .await
    }

    /// The window of the model is so many tokens, for prompt and answer. What the provider said
    /// itself holds in all sessions, what was concluded in this one.
    pub(crate) async fn learn_window(
        &mut self,
        window: usize,
        is_said: bool,
    ) -> Result<(), SessionError> {
        let (key, now) = (self.stats_key(), self.log.now());
        self.experiences.entry(key.clone()).or_default().window = Some((window, now));
        if !is_said {
            return Ok(());
        }
        self.on_log(move |log| {
            log.set_preference(
                EVERYBODY,
                &format!("window/{key}"),
                Some(&format!("{window} {now}")),
            )
        })
        .await
    }

    /// Has the next write note how far the counter is off, if that moved.
    pub(crate) fn learn_factor(&mut self) {
        let (key, factor) = (self.stats_key(), self.budget.calibration.factor());
        let known = self.experiences.entry(key.clone()).or_default();
        if (known.factor.unwrap_or(1.0) - factor).abs() <= WORTH {
            return;
        }
        known.factor = Some(factor);
        let preference = (EVERYBODY.to_owned(), format!("factor/{key}"), format!("{factor:.3}"));
        self.staged.preferences.push(preference);
    }
}
