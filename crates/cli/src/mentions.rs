//! Notices about the `@names` and `#files` in a message.

use std::path::Path;

use waterline_agent::mention::{self, AttachProblem, FileProblem, Notice};
use waterline_agent::state::Upload;
use waterline_agent::{Agent, UserInput};

use crate::error::describe_cause;
use crate::lang::list;
use crate::number::bytes;
use crate::text;

/// Maximum number of attached files that are listed.
const LISTED: usize = 10;

/// A message that was read.
pub struct Mentions {
    pub input: UserInput,
    /// Notices for the user.
    pub notices: Vec<String>,
    /// Whether a file is too large to be attached: the message makes little sense without it.
    pub is_incomplete: bool,
}

/// Reads a message, with its mentions.
pub fn read(agent: &Agent, text: &str) -> Mentions {
    let (input, notices) = mention::read(agent, Path::new("."), text);
    let is_incomplete = notices.iter().any(|notice| {
        let Notice::Problem(AttachProblem::File { why, .. }) = notice else { return false };
        matches!(why, FileProblem::TooLarge { .. })
    });
    Mentions { input, notices: notices.iter().filter_map(describe).collect(), is_incomplete }
}

fn describe(notice: &Notice) -> Option<String> {
    Some(match notice {
        Notice::Attached(files) => return attached(files),
        Notice::Problem(problem) => describe_problem(problem),
        Notice::ToolAllowed(name) => text!("mention-tool", name = name),
        Notice::SkillOnce(id) => text!("mention-skill", id = id),
        Notice::Unknown(name) => text!("mention-unknown", name = name),
        Notice::IsFile(name) => text!("mention-is-file", name = name),
        _ => return None,
    })
}

fn describe_problem(problem: &AttachProblem) -> String {
    match problem {
        AttachProblem::NotFound(name) => text!("mention-not-found", name = name),
        AttachProblem::TooMany { name, most } => {
            text!("mention-too-many", name = name, most = *most)
        }
        AttachProblem::File { path, why } => {
            let path = path.display().to_string();
            match why {
                FileProblem::Link(target) => {
                    text!("mention-link", path = path, target = target.display().to_string())
                }
                FileProblem::NotRegular => text!("mention-not-regular", path = path),
                FileProblem::TooLarge { bytes: size, most } => {
                    text!(
                        "mention-too-large",
                        path = path,
                        size = bytes(*size),
                        most = bytes(*most)
                    )
                }
                FileProblem::NoImages => text!("mention-no-images", path = path),
                FileProblem::Other(why) => {
                    text!("error-with-cause", error = path, cause = describe_cause(why))
                }
                other => text!("error-with-cause", error = path, cause = other.to_string()),
            }
        }
        other => other.to_string(),
    }
}

/// Lists the attached files with their sizes.
fn attached(files: &[Upload]) -> Option<String> {
    let describe = |file: &Upload| {
        let path = file.path.strip_prefix("uploads/").unwrap_or(&file.path);
        let size = bytes(file.bytes.unwrap_or_default());
        text!("with-detail", text = path, detail = size)
    };
    let described: Vec<String> = files.iter().take(LISTED).map(describe).collect();
    let shown = list(&described);
    match files.len().saturating_sub(LISTED) {
        _ if files.is_empty() => None,
        0 => Some(text!("mention-attached", files = shown)),
        more => Some(text!("mention-attached-more", files = shown, more = more)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attached_files_are_listed_with_their_size() {
        let file = |path: &str, bytes: u64| Upload {
            path: format!("uploads/{path}"),
            bytes: Some(bytes),
            ..Upload::default()
        };
        let listed = attached(&[
            file("notes.md", 16),
            file("docs/a b.md", 12_340),
            file("pic.png", 2_500_000),
        ]);
        assert!(
            listed.unwrap().ends_with("notes.md (16 B), docs/a b.md (12.3 kB), pic.png (2.5 MB)")
        );
        let many: Vec<Upload> = (0..12).map(|_| file("x", 1)).collect();
        assert_eq!(attached(&many).unwrap().matches("x (1 B)").count(), 10);
        assert!(attached(&[]).is_none());
    }
}
