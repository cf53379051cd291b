//! Asks once in a while whether to delete old sessions. Nothing is deleted without asking, unless
//! the config says so.

use anyhow::Result;
use waterline_agent::ApprovalReply;
use waterline_agent::expiry::{self, SESSION_DAYS, before};
use waterline_log::{EraseTarget, Log};

use super::Chat;
use crate::chat::commands::{session_time as time, session_title as title};
use crate::show::{plain, room, truncate};
use crate::terminal::{Line, has_typed};
use crate::text;

/// The preference that keeps the answer: `never`, or the time of the question.
const PREFERENCE: &str = "clean_up";

/// The number of sessions that are listed before the question.
const LISTED: usize = 5;

/// The answer that ends the questions.
const NEVER: &str = "never";

/// What the user entered at the question.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Delete,
    Keep,
    Never,
    /// A message for the agent or a command. It leaves the question open for the next start.
    Message(String),
}

/// Reads the answer; `None` if there is none.
fn answer(line: anyhow::Result<Line>) -> Option<Answer> {
    let Ok(Line::Text(text)) = line else { return None };
    let text = text.trim();
    Some(match ApprovalReply::read(text) {
        Some(ApprovalReply::Allow) => Answer::Delete,
        Some(ApprovalReply::Deny(_)) => Answer::Keep,
        _ if text.is_empty() => Answer::Keep,
        _ if text.eq_ignore_ascii_case(NEVER) => Answer::Never,
        _ => Answer::Message(text.to_owned()),
    })
}

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
        if asked.get(PREFERENCE).is_some_and(|answer| answer == NEVER || is_recent(answer)) {
            return Ok(());
        }
        let whom = EraseTarget::IdleSince(month);
        let wanted = whom.clone();
        let old = self.on_log(move |log, _| log.would_erase(&wanted)).await?.sessions;
        if old.is_empty() || old.contains(&self.session().id) {
            return Ok(());
        }
        // What was typed before the question is a message, not the answer.
        if !self.input.is_terminal() || has_typed() {
            self.screen.print_note(&text!("old-sessions", count = old.len(), days = SESSION_DAYS));
            return Ok(());
        }
        self.list_old(old.clone()).await?;
        let question = text!("old-sessions-question", count = old.len(), days = SESSION_DAYS);
        let line = self.read_reply(&question);
        // The question appears before the first prompt, so a message may be typed ahead of it.
        let Some(answer) = answer(line) else { return Ok(()) };
        match answer {
            Answer::Delete => self.delete_old(whom, &old).await?,
            Answer::Keep | Answer::Never => {}
            Answer::Message(text) => {
                self.screen.steer(&text);
                return Ok(());
            }
        }
        let now = self.log.now().to_string();
        let kept = if answer == Answer::Never { NEVER.to_owned() } else { now };
        let user = self.session().user.clone().unwrap_or_default();
        self.on_log(move |log, _| log.set_preference(&user, PREFERENCE, Some(&kept))).await
    }

    /// Lists the first sessions that would be deleted, the oldest first.
    async fn list_old(&self, old: Vec<String>) -> Result<()> {
        let read = move |log: &Log, _: &str| {
            old.iter().map(|id| log.session(id)).collect::<waterline_log::Result<Vec<_>>>()
        };
        let mut sessions = self.on_log(read).await?;
        sessions.sort_by_key(|session| session.active);
        for session in sessions.iter().take(LISTED) {
            let name = Some(title(session)).filter(|title| !title.is_empty());
            let name = name.unwrap_or_else(|| session.id.clone());
            let line = format!("  {}  {name}", time(session.active));
            self.screen.print_note(&truncate(&plain(&line), room(1)));
        }
        let more = sessions.len().saturating_sub(LISTED);
        if more > 0 {
            self.screen.print_note(&text!("old-sessions-more", count = more));
        }
        Ok(())
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
