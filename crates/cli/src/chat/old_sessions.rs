//! Asks once in a while whether to delete old sessions. Nothing is deleted without asking, unless
//! the config says so.

use anyhow::Result;
use waterline_agent::expiry::{self, SESSION_DAYS, before};
use waterline_log::EraseTarget;
use waterline_session::Level;

use super::Chat;
use crate::terminal::Line;
use crate::text;

/// The preference that keeps the answer: `never`, or the time of the question.
const PREFERENCE: &str = "clean_up";

impl Chat {
    /// Asks whether sessions that were not used for a month are to be deleted. Without a terminal
    /// it only reports them.
    pub(super) async fn offer_cleanup(&mut self) -> Result<()> {
        if self.assembly.config.settings.agent.session_days.is_some() {
            return Ok(());
        }
        let user = self.session().user.clone().unwrap_or_default();
        let asked = self.on_log(move |log, _| log.preferences(&user)).await?;
        let month = before(&self.log, SESSION_DAYS);
        let is_recent = |answer: &String| answer.parse().is_ok_and(|time: i64| time > month);
        if asked.get(PREFERENCE).is_some_and(|answer| answer == "never" || is_recent(answer)) {
            return Ok(());
        }
        let whom = EraseTarget::IdleSince(month);
        let wanted = whom.clone();
        let old = self.on_log(move |log, _| log.would_erase(&wanted)).await?.sessions;
        if old.is_empty() || old.contains(&self.session().id) {
            return Ok(());
        }
        if !self.input.is_terminal() {
            self.screen.print_note(&text!("old-sessions", count = old.len(), days = SESSION_DAYS));
            return Ok(());
        }
        let question = text!("old-sessions-question", count = old.len(), days = SESSION_DAYS);
        let line = tokio::task::block_in_place(|| self.input.read(&question, Level::Normal));
        let answer = match line {
            Ok(Line::Text(text)) => text.trim().to_lowercase(),
            _ => String::new(),
        };
        if matches!(answer.as_str(), "y" | "yes") {
            self.delete_old(whom, &old).await?;
        }
        let kept = if answer == "never" { answer } else { self.log.now().to_string() };
        let user = self.session().user.clone().unwrap_or_default();
        self.on_log(move |log, _| log.set_preference(&user, PREFERENCE, Some(&kept))).await
    }

    async fn delete_old(&self, whom: EraseTarget, sessions: &[String]) -> Result<()> {
        let log = self.log.clone();
        let sessions = sessions.to_vec();
        let root = self.runner.agent.config().workspaces.clone();
        // The owner of a workspace is known only as long as its session exists.
        let workspaces =
            tokio::task::spawn_blocking(move || expiry::of(&log, &sessions, root)).await??;
        self.on_log(move |log, _| log.erase(&whom)).await?;
        let workspaces = workspaces.keeping_outputs();
        let kept = tokio::task::spawn_blocking(move || workspaces.remove()).await?;
        kept.iter().for_each(|reason| self.screen.print_note(reason));
        self.screen.print_line(&text!("chat-clean-done"));
        Ok(())
    }
}
