//! What is said of an ending in a conversation, where somebody goes on by writing.

use waterline_agent::{Ending, Outcome, Waiting};

use crate::lang::say;
use crate::show::odd;

/// What is to be said about an ending that is not what somebody waits for.
pub(super) fn words(outcome: &Outcome, session: &str) -> Option<String> {
    match &outcome.ending {
        Ending::Waiting(Waiting::Question(question)) => {
            let asked = &question.question;
            let en = format!("it asks: {asked}\nwhat you write next is the answer");
            Some(say(en, format!("它问：{asked}\n您接下来写的内容就是回答")))
        }
        _ => odd(outcome, session),
    }
}
