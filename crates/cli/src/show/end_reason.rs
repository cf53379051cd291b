//! Why a turn ended before the model was done, in the chosen language.

use waterline_agent::{EndReason, Ending};

use super::approval::approval_reason;
use crate::phrase::phrase;
use crate::text;

/// Returns why a turn ended.
pub fn end_reason(reason: &EndReason) -> String {
    match reason {
        EndReason::TurnCalls(most) => text!("end-turn-calls", count = *most),
        EndReason::SessionCalls(most) => text!("end-session-calls", count = *most),
        EndReason::TaskCalls(most) => text!("end-task-calls", count = *most),
        EndReason::ToolCalls(most) => text!("end-tool-calls", count = *most),
        EndReason::Time(most) => text!("end-time", seconds = most.as_secs()),
        EndReason::OutputTokens(times) => text!("end-output-tokens", count = *times),
        EndReason::SameCall { tool, times } => {
            text!("end-same-call", tool = tool.as_str(), count = *times)
        }
        EndReason::Unsuccessful { tool, times } => {
            text!("end-unsuccessful", tool = tool.as_str(), count = *times)
        }
        EndReason::Refused => text!("end-refused"),
        EndReason::EmptyAnswer => text!("end-empty-answer"),
        EndReason::NoAnswerText => text!("end-no-answer-text"),
        EndReason::Schema(why) => text!("end-schema", why = phrase(why)),
        EndReason::NotApproved(reason) => {
            text!("end-not-approved", reason = approval_reason(reason))
        }
        EndReason::PersonalData => text!("end-personal-data"),
        other => other.to_string(),
    }
}

/// Returns the setting of the limit that ended a turn, if the next message continues the work.
pub fn setting_of(ending: &Ending) -> Option<(&EndReason, &'static str)> {
    match ending {
        Ending::Limit(reason @ EndReason::TurnCalls(_)) => Some((reason, "agent.steps")),
        Ending::Limit(reason @ EndReason::Time(_)) => Some((reason, "agent.time")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// The English texts of the catalog are those of the library, in the singular too.
    #[test]
    fn reasons_are_the_same_in_the_library_and_the_catalog() {
        let tool = || "read_file".to_owned();
        let reasons = [
            EndReason::TurnCalls(1),
            EndReason::TurnCalls(4),
            EndReason::SessionCalls(2),
            EndReason::TaskCalls(1),
            EndReason::ToolCalls(3),
            EndReason::Time(Duration::from_secs(90)),
            EndReason::OutputTokens(4),
            EndReason::SameCall { tool: tool(), times: 5 },
            EndReason::Unsuccessful { tool: tool(), times: 8 },
            EndReason::Refused,
            EndReason::EmptyAnswer,
            EndReason::NoAnswerText,
            EndReason::Schema("no such key".into()),
            EndReason::NotApproved("the budget is spent".into()),
            EndReason::PersonalData,
            EndReason::Other("enough".to_owned()),
        ];
        for reason in reasons {
            assert_eq!(end_reason(&reason), reason.to_string());
        }
    }
}
