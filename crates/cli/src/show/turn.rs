//! What is said about a turn besides its answer: how it ended, and what happened in its calls.

use waterline_agent::{Ending, Outcome, Waiting};
use waterline_session::Event as CallEvent;

use super::number;
use crate::lang::say;

/// What is to be said about an ending that is not what somebody waits for.
pub fn odd(outcome: &Outcome, session: &str) -> Option<String> {
    match &outcome.ending {
        Ending::Limit(why) => Some(say(format!("ended early: {why}"), format!("提前结束：{why}"))),
        Ending::Halted(why) => Some(say(format!("stopped: {why}"), format!("已停止：{why}"))),
        Ending::Waiting(Waiting::Question(question)) => {
            let asked = &question.question;
            let en =
                format!("it asks: {asked}\nanswer with: waterline run --session {session} \"…\"");
            let zh =
                format!("它问：{asked}\n请用以下命令回答：waterline run --session {session} \"…\"");
            Some(say(en, zh))
        }
        Ending::Waiting(Waiting::Approval(request)) => Some(format!(
            "{} {} waits for somebody to agree to it",
            request.tool, request.arguments
        )),
        Ending::Done if outcome.text.trim().is_empty() => {
            Some(say("the answer was empty".to_owned(), "回答为空".to_owned()))
        }
        Ending::Done | Ending::HandOff { .. } => None,
    }
}

/// What is said when another role takes over.
pub fn handed_off(to: &str, session: &str) -> String {
    say(format!("{to} goes on, in session {session}"), format!("由 {to} 继续，会话 {session}"))
}

/// What is said of something that happens in a call, beside the answer.
pub fn call_note(event: &CallEvent) -> Option<String> {
    match event {
        CallEvent::Delta(_) | CallEvent::Raw(_) => None,
        CallEvent::Again { why, wait } => {
            let after = if wait.is_zero() {
                String::new()
            } else {
                format!(" in {:.0} s", wait.as_secs_f64())
            };
            Some(format!("trying again{after}: {why}"))
        }
        CallEvent::Model(name) => Some(format!("asking {name} instead")),
        CallEvent::Summarising => Some("summing up what is folded".to_owned()),
        CallEvent::Folded { reason, before, after } => {
            Some(format!("folded from {} to {} tokens: {reason}", number(*before), number(*after)))
        }
        CallEvent::Notice(text) => Some(text.clone()),
    }
}
