//! Records what calls show about a model, for all sessions: its real window, how far the local
//! token counter is off, and recent failures. Each value has its own setting in the log, so that
//! two sessions do not overwrite each other's values.

use waterline_log::Usage;

use crate::between_calls::Reported;
use crate::error::SessionError;
use crate::live::LiveSession;
use crate::model_stats::{ALL_USERS, COOLDOWN, MIN_FACTOR_CHANGE, ModelStats};

impl LiveSession {
    /// Returns the key of the current model's statistics. It includes the address, because the same
    /// model may have another window on another server.
    pub(crate) fn stats_key(&self) -> String {
        self.stats_key_of(self.at)
    }

    fn stats_key_of(&self, at: usize) -> String {
        let target = self.config.target(at);
        match target.model.address() {
            "" => target.name.clone(),
            address => format!("{}@{address}", target.name),
        }
    }

    /// Returns the statistics of the current model.
    pub(crate) fn model_stats(&self) -> ModelStats {
        self.stats.get(&self.stats_key()).copied().unwrap_or_default()
    }

    /// Returns the window of the current model (prompt and answer together) that was learned from
    /// an earlier refusal, if it is smaller than the window known otherwise. A window that the user
    /// set wins until the server refuses a prompt of this session.
    #[must_use]
    pub fn learned_window(&self) -> Option<usize> {
        let set = self.model().window;
        if set.is_some() && !self.refused_by.contains(&self.stats_key()) {
            return None;
        }
        let window = set.unwrap_or_else(|| self.model.input_window());
        self.model_stats().window(self.log.now()).filter(|&whole| whole < window)
    }

    /// Returns the first model that is not cooling down; the first of all if every one is.
    pub(crate) fn first_ready(&self) -> usize {
        let now = self.log.now();
        let is_ready = |&at: &usize| {
            let known = self.stats.get(&self.stats_key_of(at));
            known.is_none_or(|known| !known.is_cooling_down(now))
        };
        (0..=self.config.fallback.len()).find(is_ready).unwrap_or(0)
    }

    /// Starts the cooldown of the current model, in this session and all others.
    pub(crate) async fn cool_down(&mut self) -> Result<(), SessionError> {
        let key = self.stats_key();
        let until = self.log.now() + COOLDOWN;
        self.stats.entry(key.clone()).or_default().cooldown_until = Some(until);
        self.on_log(move |log| {
            log.set_preference(ALL_USERS, &format!("rests/{key}"), Some(&until.to_string()))
        })
        .await
    }

    /// Records the model's window, for prompt and answer together. A window that the provider
    /// reported applies to all sessions, an estimate only to this one.
    pub(crate) async fn learn_window(
        &mut self,
        window: usize,
        is_reported: bool,
    ) -> Result<(), SessionError> {
        let key = self.stats_key();
        let now = self.log.now();
        self.refused_by.insert(key.clone());
        self.stats.entry(key.clone()).or_default().window = Some((window, now));
        if !is_reported {
            return Ok(());
        }
        self.on_log(move |log| {
            log.set_preference(
                ALL_USERS,
                &format!("window/{key}"),
                Some(&format!("{window} {now}")),
            )
        })
        .await
    }

    /// Compares the next report with one from an earlier process, so that a program that opens the
    /// session for each message also learns that the counter counts too many tokens. The report
    /// must be about the context that was stored last.
    pub(crate) fn continue_calibration(&mut self, usage: &Usage) {
        let messages = self.generation.covered();
        let covered = self.cleared + messages as u64;
        // Without a stored context, as after undoing a clear, the report is about another prompt.
        let is_of_context =
            messages > 0 && (covered + 1..=self.session.tip.position()).contains(&usage.position);
        if usage.model == self.model().name && is_of_context {
            let sent = self.generation.tokens() + self.budget.tools;
            let prompt = usage.input + usage.cache_read + usage.cache_write;
            let real = usize::try_from(prompt).unwrap_or(0);
            self.budget.calibration = self.budget.calibration.after(sent, real);
            let at = (self.at, self.generation.number);
            let report = Reported { at, messages, prompt_tokens: real };
            self.reported_before = Some(report).filter(|report| report.prompt_tokens > 0);
        }
    }

    /// Adds the calibration of the token counter to the unsaved changes, if it has changed.
    pub(crate) fn save_calibration(&mut self) {
        let key = self.stats_key();
        let factor = self.budget.calibration.factor();
        let known = self.stats.entry(key.clone()).or_default();
        if (known.factor.unwrap_or(1.0) - factor).abs() <= MIN_FACTOR_CHANGE {
            return;
        }
        known.factor = Some(factor);
        let preference = (ALL_USERS.to_owned(), format!("factor/{key}"), format!("{factor:.3}"));
        self.unsaved.preferences.push(preference);
    }
}
