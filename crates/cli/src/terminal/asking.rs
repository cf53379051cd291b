//! The approval prompts and questions of a turn, and how their answers are read. `chat` and `run`
//! share them.

use waterline_agent::tool::Subject;
use waterline_agent::{ApprovalReply, ApprovalRequest, Question};

use super::arguments::whole;
use crate::show::{lines, unhidden};
use crate::text;

/// The most lines of a file shown in an approval prompt.
const CONTENT_LINES: usize = 20;

/// Formats an approval request with style codes. Returns the whole text, and its last line, which
/// is repeated after an empty answer.
pub fn request(request: &ApprovalRequest) -> (String, String) {
    let asked = match (request.may_always, &request.info.subject) {
        (false, _) => text!("approval-question"),
        (true, Subject::Command(_)) => text!("approval-question-command"),
        (true, _) => text!("approval-question-tool"),
    };
    let agent = request.context_id.as_ref().map(|id| format!("{id}: ")).unwrap_or_default();
    let tool = format!("{agent}{}", request.tool);
    let call = whole(&tool, &request.arguments, &request.info.subject, CONTENT_LINES);
    (format!("{call}\n{}\n{asked}", unhidden(&request.reason)), asked)
}

/// Reads the reply to an approval request; none if the line is empty.
pub fn word(line: String) -> Option<ApprovalReply> {
    match ApprovalReply::read(&line) {
        None if line.trim().is_empty() => None,
        // Any other text denies the call and says why.
        None => Some(ApprovalReply::Deny(Some(line))),
        reply => reply,
    }
}

/// Formats a question, with its choices numbered.
pub fn question(question: &Question) -> String {
    let mut text = question.question.clone();
    for (at, choice) in question.choices.iter().enumerate() {
        text.push_str(&format!("\n  {}. {choice}", at + 1));
    }
    text.push_str(&format!("\n{}", text!("question-prompt")));
    lines(&text)
}

/// Reads the answer to a question: the choice with this number, or the line itself; none if it is
/// empty.
pub fn answer(question: &Question, line: String) -> Option<String> {
    let number = line.trim().parse::<usize>().ok();
    let chosen = number.and_then(|number| question.choices.get(number.checked_sub(1)?).cloned());
    Some(chosen.unwrap_or(line)).filter(|answer| !answer.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_the_agent_and_the_possible_replies() {
        let critical = ApprovalRequest {
            call_id: "c".to_owned(),
            tool: "run_bash_command".to_owned(),
            arguments: "{\"command\":\"ls\"}".to_owned(),
            reason: "medium risk".to_owned(),
            may_always: false,
            context_id: Some("subagent-1a2b3c4d".to_owned()),
            info: Box::default(),
        };
        let (whole, asked) = request(&critical);
        assert!(
            whole.starts_with("subagent-1a2b3c4d: run_bash_command") && whole.ends_with(&asked),
            "{whole}"
        );
        assert!(!asked.contains("[a]"), "{asked}");
        let (_, asked) = request(&ApprovalRequest { may_always: true, ..critical });
        assert!(asked.contains("[a]"), "{asked}");
        assert_eq!(word(" ".to_owned()), None);
        assert_eq!(word("A".to_owned()), Some(ApprovalReply::AllowAlways));
        assert_eq!(
            word("too early".to_owned()),
            Some(ApprovalReply::Deny(Some("too early".to_owned())))
        );
    }

    #[test]
    fn a_number_selects_a_choice() {
        let choices = vec!["north".to_owned(), "south".to_owned()];
        let asked =
            Question { call_id: "c".to_owned(), question: "Which harbour?".to_owned(), choices };
        assert!(question(&asked).contains("\n  2. south"));
        let answered = |line: &str| answer(&asked, line.to_owned());
        assert_eq!(answered("2").as_deref(), Some("south"));
        assert_eq!(answered("0").as_deref(), Some("0"));
        assert_eq!(answered("3").as_deref(), Some("3"));
        assert_eq!(answered("west").as_deref(), Some("west"));
        assert_eq!(answered(""), None);
    }
}
