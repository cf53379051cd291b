//! The approval prompts and questions of a turn, and how their answers are read. `chat` and `run`
//! share them.

use waterline_agent::tool::Subject;
use waterline_agent::{ApprovalReason, ApprovalReply, ApprovalRequest, Question, RiskCause};

use super::arguments::whole;
use super::screen::dim;
use crate::lang::list;
use crate::show::{approval_reason, lines, unhidden};
use crate::text;

/// Maximum number of lines of a file shown in an approval prompt.
const CONTENT_LINES: usize = 30;

/// An approval request as it is shown, with style codes.
pub struct Asked {
    /// Everything that the user should read before answering.
    pub text: String,
    /// Its last line, which is repeated after an empty answer.
    pub question: String,
}

/// Formats an approval request. A long file is shown in part; [`view`] shows all of it.
pub fn request(request: &ApprovalRequest) -> Asked {
    format_request(request, CONTENT_LINES)
}

/// Formats an approval request with the whole content, for the reply that asks to see it.
pub fn view(request: &ApprovalRequest) -> Asked {
    format_request(request, usize::MAX)
}

/// Returns whether a reply asks to see the whole content.
pub fn is_view(line: &str) -> bool {
    matches!(line.trim().to_lowercase().as_str(), "v" | "view")
}

fn format_request(request: &ApprovalRequest, max_lines: usize) -> Asked {
    let asked = match (request.may_always, &request.info.subject) {
        (true, _) if !request.directories.is_empty() => text!("approval-question-directory"),
        (false, _) => text!("approval-question"),
        (true, _) if is_protected(&request.reason) => {
            text!("approval-question-protected")
        }
        (true, Subject::Command(_)) => text!("approval-question-command"),
        (true, _) => text!("approval-question-tool"),
    };
    let agent = request.context_id.as_ref().map(|id| format!("{id}: ")).unwrap_or_default();
    let tool = format!("{agent}{}", request.tool);
    let call = whole(&tool, &request.arguments, &request.info, max_lines);
    let more = match call.hidden {
        0 => String::new(),
        hidden => format!("\n  {}", dim(&text!("approval-more-lines", count = hidden))),
    };
    let reason = unhidden(&why(request));
    let text = format!("{}{more}\n{reason}\n{asked}", call.text);
    Asked { text, question: asked }
}

/// Returns why a call needs approval, with the protected paths that it may change then. The reason
/// is only one of several, and may be another.
fn why(request: &ApprovalRequest) -> String {
    let reason = approval_reason(&request.reason);
    if request.protected.is_empty() || is_protected(&request.reason) {
        return reason;
    }
    format!("{reason}\n{}", text!("approval-protected", paths = list(&request.protected)))
}

/// Returns whether an approval is needed because of protected paths. "Always" then means these
/// paths.
fn is_protected(reason: &ApprovalReason) -> bool {
    matches!(
        reason,
        ApprovalReason::Risk { cause: RiskCause::Protected(_) | RiskCause::Repository, .. }
    )
}

/// Reads the reply to an approval request; `None` if the line is none, such as an empty one or `?`.
pub fn reply(line: String) -> Option<ApprovalReply> {
    match ApprovalReply::read(&line) {
        None if matches!(line.trim(), "" | "?" | "？") => None,
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

/// Reads the answer to a question: the choice with this number, or the line itself; `None` if it is
/// empty.
pub fn answer(question: &Question, line: String) -> Option<String> {
    let number = line.trim().parse::<usize>().ok();
    let chosen = number.and_then(|number| question.choices.get(number.checked_sub(1)?).cloned());
    Some(chosen.unwrap_or(line)).filter(|answer| !answer.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use waterline_agent::changes::FileDiff;
    use waterline_agent::tool::CallInfo;

    use super::*;

    #[test]
    fn a_request_names_the_agent_and_the_possible_replies() {
        let arguments = "{\"command\":\"ls\"}";
        let mut critical = ApprovalRequest::new("c", "run_bash_command", arguments, "medium risk");
        critical.context_id = Some("subagent-1a2b3c4d".to_owned());
        let Asked { text: whole, question: asked } = request(&critical);
        assert!(
            whole.starts_with("subagent-1a2b3c4d: run_bash_command") && whole.ends_with(&asked),
            "{whole}"
        );
        assert!(!asked.contains("[a]"), "{asked}");
        critical.may_always = true;
        let mut first = critical.clone();
        first.directories = vec!["/srv/tide".into()];
        let shown = request(&first).question;
        assert!(shown.contains("[a]lways in this directory"), "{shown}");
        let asked = request(&critical).question;
        assert!(asked.contains("[a]"), "{asked}");
        assert_eq!(reply(" ".to_owned()), None);
        assert_eq!(reply("A".to_owned()), Some(ApprovalReply::AllowAlways));
        assert_eq!(
            reply("too early".to_owned()),
            Some(ApprovalReply::Deny(Some("too early".to_owned())))
        );
    }

    /// An approval covers the protected paths of a call, whatever the question is about.
    #[test]
    fn a_request_names_the_protected_paths() {
        let arguments = r#"{"command":"make test","protected":[".git/config",".bashrc"]}"#;
        let mut asked = ApprovalRequest::new("c", "run_bash_command", arguments, "high risk");
        asked.info.subject = Subject::Command("make test".to_owned());
        asked.protected = vec![".git/config".to_owned(), ".bashrc".to_owned()];
        let shown = request(&asked).text;
        assert!(
            shown.contains("high risk\n") && shown.contains(": .git/config, .bashrc\n"),
            "{shown}"
        );
    }

    /// A payload far down in a file can be seen before the call is approved.
    #[test]
    fn the_whole_content_can_be_viewed() {
        let content: String = (1..=500).map(|line| format!("line {line}\n")).collect();
        let info = CallInfo {
            subject: Subject::Content { path: "a".to_owned(), content: content.clone() },
            diff: Some(FileDiff::new("a", None, Some(content.as_bytes()))),
            ..CallInfo::default()
        };
        let arguments = serde_json::json!({"path": "a", "content": content}).to_string();
        let mut asked = ApprovalRequest::new("c", "write_file", arguments, "approval is required");
        asked.may_always = true;
        *asked.info = info;
        let short = request(&asked).text;
        assert!(short.contains("… 470 more lines; v shows them"), "{short}");
        assert!(!short.contains("line 400") && view(&asked).text.contains("line 400"));
        assert!(is_view(" V") && !is_view("very bad"));
    }

    #[test]
    fn a_number_selects_a_choice() {
        let choices = vec!["north".to_owned(), "south".to_owned()];
        let asked = Question::new("c", "Which harbor?", choices);
        assert!(question(&asked).contains("\n  2. south"));
        let answered = |line: &str| answer(&asked, line.to_owned());
        assert_eq!(answered("2").as_deref(), Some("south"));
        assert_eq!(answered("0").as_deref(), Some("0"));
        assert_eq!(answered("3").as_deref(), Some("3"));
        assert_eq!(answered("west").as_deref(), Some("west"));
        assert_eq!(answered(""), None);
    }
}
