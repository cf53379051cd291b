//! The note about how a turn ended, if it did not end with an answer.

use waterline_agent::{Ending, Outcome, Waiting};

use crate::show::odd;
use crate::text;

/// Returns the note. In a chat, a question is answered with the next message.
pub(super) fn note(outcome: &Outcome, session: &str) -> Option<String> {
    match &outcome.ending {
        Ending::Waiting(Waiting::Question(question)) => {
            Some(text!("ending-question", question = &question.question))
        }
        _ => odd(outcome, session),
    }
}
