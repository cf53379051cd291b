//! How a turn ended, if it did not end with an answer: the note about it, and whether the user
//! wants to continue at a limit.

use waterline_agent::{ApprovalReply, Ending, Outcome, Waiting};

use super::Chat;
use crate::show::{end_reason, odd, setting_of};
use crate::terminal::Line;
use crate::text;

/// Returns the note. In a chat, a question is answered with the next message.
pub(super) fn note(outcome: &Outcome, session: &str) -> Option<String> {
    if let Some((why, setting)) = setting_of(&outcome.ending) {
        return Some(text!("ending-limit", why = end_reason(why), setting = setting));
    }
    match &outcome.ending {
        // The question itself is on the screen.
        Ending::Waiting(Waiting::Question(_)) => Some(text!("ending-question")),
        _ => odd(outcome, session),
    }
}

/// Returns the question at a limit after which the work can continue.
pub(super) fn question(outcome: &Outcome) -> Option<String> {
    let (why, setting) = setting_of(&outcome.ending)?;
    let question = text!("ending-limit-question", why = end_reason(why), setting = setting);
    Some(format!("{question} [y/n]"))
}

impl Chat {
    /// Asks whether to continue at a limit. A line that is not an answer is the next message.
    pub(super) fn continues(&mut self, question: &str) -> bool {
        let Ok(Line::Text(text)) = self.read_reply(question) else { return false };
        match ApprovalReply::read(&text) {
            Some(ApprovalReply::Allow) => return true,
            None if !text.trim().is_empty() => self.screen.steer(text.trim()),
            _ => {}
        }
        false
    }
}
