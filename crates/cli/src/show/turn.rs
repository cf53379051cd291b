//! Notices about a turn: how it ended, and what happened in its calls.

use waterline_agent::{Ending, Outcome, Waiting};
use waterline_session::{Event as CallEvent, Notice, RetryReason};

use super::end_reason::{end_reason, setting_of};
use super::reason::reasons as show_reasons;
use crate::error::describe_call;
use crate::text;

/// Returns a notice about a turn that did not end with an answer.
pub fn odd(outcome: &Outcome, session: &str) -> Option<String> {
    if let Some((why, setting)) = setting_of(&outcome.ending) {
        let why = end_reason(why);
        return Some(text!("turn-limit-run", why = why, setting = setting, session = session));
    }
    match &outcome.ending {
        Ending::Limit(why) => Some(text!("turn-limit", why = end_reason(why))),
        Ending::Halted(why) => Some(text!("turn-halted", why = end_reason(why))),
        Ending::Waiting(Waiting::Question(question)) => {
            let question = question.question.as_str();
            Some(text!("turn-question", question = question, session = session))
        }
        Ending::Waiting(Waiting::Approval(request)) => {
            let call = format!("{} {}", request.tool, request.arguments);
            Some(text!("turn-approval", call = call))
        }
        Ending::Done if outcome.text.trim().is_empty() => Some(text!("turn-empty")),
        _ => None,
    }
}

/// Returns the notice that another role takes over.
pub fn handed_off(to: &str, session: &str) -> String {
    text!("turn-handed-off", role = to, session = session)
}

/// Returns the notice about an event of a call, if it needs one.
pub fn call_note(event: &CallEvent) -> Option<String> {
    match event {
        CallEvent::Retry { why, wait } if wait.is_zero() => {
            Some(text!("call-retry", why = retry_reason(why)))
        }
        CallEvent::Retry { why, wait } => {
            let seconds = format!("{:.0}", wait.as_secs_f64());
            Some(text!("call-retry-in", why = retry_reason(why), seconds = seconds))
        }
        CallEvent::Model(name) => Some(text!("call-model", model = name.as_str())),
        CallEvent::Summarizing => Some(text!("call-summarizing")),
        CallEvent::Folded { reasons, before, after } => Some(text!(
            "call-folded",
            before = *before,
            after = *after,
            why = show_reasons(reasons)
        )),
        CallEvent::Notice(notice) => Some(call_notice(notice)),
        _ => None,
    }
}

fn retry_reason(reason: &RetryReason) -> String {
    match reason {
        RetryReason::Failed(error) => describe_call(error),
        RetryReason::WindowFull => text!("call-window-full"),
        RetryReason::PromptTruncated => text!("call-prompt-truncated"),
        other => other.to_string(),
    }
}

fn call_notice(notice: &Notice) -> String {
    match notice {
        Notice::OverWindow { tokens, window } => {
            text!("call-over-window", tokens = *tokens, window = *window)
        }
        Notice::FoldingDoesNotHelp { window } => text!("call-full-again", window = *window),
        Notice::NoStructuredOutput { model, error } => {
            text!("call-no-schema", model = model.as_str(), why = describe_call(error))
        }
        Notice::NoSummary { why } => text!("call-no-summary", why = why.as_str()),
        other => other.to_string(),
    }
}

/// Returns the note that a standing instruction was recognized.
pub fn remembered(text: &str, replaced: Option<&str>, is_lasting: bool) -> String {
    match replaced {
        _ if !is_lasting => text!("memory-recognized-session", text = text),
        Some(earlier) => text!("memory-recognized-replaced", text = text, earlier = earlier),
        None => text!("memory-recognized", text = text),
    }
}
