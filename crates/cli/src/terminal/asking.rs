//! What a person is asked in the middle of a turn, in words, and what their answer means: the same
//! in a chat and in `run`.

use waterline_agent::tool::Subject;
use waterline_agent::{ApprovalReply, ApprovalRequest, Question};

use super::arguments::whole;
use crate::lang::say;
use crate::show::{lines, unhidden};

/// How many lines of a file are shown before somebody agrees to them.
const CONTENT_LINES: usize = 20;

/// A request in words, with codes for styles: the whole of it, and its last line, which is asked
/// once more where nothing is answered.
pub fn request(request: &ApprovalRequest) -> (String, String) {
    let always = match (request.may_always, &request.info.subject) {
        (false, _) => "",
        (true, Subject::Command(_)) => say(" / [a]lways this command", " / 总是此命令 [a]"),
        (true, _) => say(" / [a]lways this tool", " / 总是此工具 [a]"),
    };
    let asked = say(
        format!("[y]es / [n]o{always}; else: a no with that reason"),
        format!("是 [y] / 否 [n]{always}；其他内容：拒绝的理由"),
    );
    let who = request.context_id.as_ref().map(|context| format!("{context}: ")).unwrap_or_default();
    let tool = format!("{who}{}", request.tool);
    let call = whole(&tool, &request.arguments, &request.info.subject, CONTENT_LINES);
    (format!("{call}\n{}\n{asked}", unhidden(&request.reason)), asked)
}

/// What somebody means by a line; nothing where it is empty.
pub fn word(line: String) -> Option<ApprovalReply> {
    match ApprovalReply::read(&line) {
        None if line.trim().is_empty() => None,
        // Whoever says something else says why not.
        None => Some(ApprovalReply::Deny(Some(line))),
        word => word,
    }
}

/// A question in words, its choices numbered.
pub fn question(question: &Question) -> String {
    let mut text = question.question.clone();
    for (at, choice) in question.choices.iter().enumerate() {
        text.push_str(&format!("\n  {}. {choice}", at + 1));
    }
    text.push_str(say("\nanswer (empty: later):", "\n请回答（留空：稍后）："));
    lines(&text)
}

/// What a line answers: the choice of its number, or the line itself; nothing where it is empty.
pub fn answer(question: &Question, line: String) -> Option<String> {
    let number = line.trim().parse::<usize>().ok();
    let chosen = number.and_then(|number| question.choices.get(number.checked_sub(1)?).cloned());
    Some(chosen.unwrap_or(line)).filter(|answer| !answer.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_who_asks_and_what_may_be_answered() {
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
    fn a_number_means_a_choice() {
        let choices = vec!["north".to_owned(), "south".to_owned()];
        let asked =
            Question { call_id: "c".to_owned(), question: "Which harbour?".to_owned(), choices };
        assert!(question(&asked).contains("\n  2. south"));
        let said = |line: &str| answer(&asked, line.to_owned());
        assert_eq!(said("2").as_deref(), Some("south"));
        assert_eq!((said("0").as_deref(), said("3").as_deref()), (Some("0"), Some("3")));
        assert_eq!((said("west").as_deref(), said("")), (Some("west"), None));
    }
}
