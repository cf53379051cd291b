//! What a user is told about the names and files in what they wrote.

use std::path::Path;

use waterline_agent::mention::{self, Notice};
use waterline_agent::state::Upload;
use waterline_agent::{Agent, UserInput};

use crate::lang::say;

/// How many files are named of those that were attached.
const NAMED: usize = 10;

/// The input for the agent, and what the user should know about it.
pub fn read(agent: &Agent, text: &str) -> (UserInput, Vec<String>) {
    let (input, notices) = mention::read(agent, Path::new("."), text);
    (input, notices.iter().filter_map(told).collect())
}

fn told(notice: &Notice) -> Option<String> {
    Some(match notice {
        Notice::Attached(files) => return taken_along(files),
        Notice::Problem(text) => text.clone(),
        Notice::ToolAllowed(name) => say(
            format!("the tool {name} is allowed in this session; /tools shows them"),
            format!("本会话已允许工具 {name}；/tools 可查看"),
        ),
        Notice::SkillOnce(id) => say(
            format!("the skill {id} holds for this message; /skill {id} uses it from now on"),
            format!("技能 {id} 仅用于本条消息；/skill {id} 可持续使用"),
        ),
        Notice::Unknown(name) => {
            let en = format!("@{name} is no tool, skill or role here");
            say(en, format!("@{name} 不是这里的工具、技能或角色"))
        }
        _ => return None,
    })
}

/// The files that were taken along.
fn taken_along(files: &[Upload]) -> Option<String> {
    let word = |file: &Upload| {
        let path = file.path.strip_prefix("uploads/").unwrap_or(&file.path);
        format!("{path} ({})", size(file.bytes.unwrap_or_default()))
    };
    let mut words: Vec<String> = files.iter().take(NAMED).map(word).collect();
    let more = files.len().saturating_sub(NAMED);
    if more > 0 {
        words.push(say(format!("{more} more"), format!("另有 {more} 个")));
    }
    (!words.is_empty()).then(|| format!("{}: {}", say("attached", "已附带"), words.join(", ")))
}

/// A number of bytes in three digits or so.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{}.{} kB", bytes / 1_000, bytes % 1_000 / 100),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_were_taken_along_are_named_with_their_size() {
        let file = |path: &str, bytes: u64| Upload {
            path: format!("uploads/{path}"),
            bytes: Some(bytes),
            ..Upload::default()
        };
        let told = taken_along(&[
            file("notes.md", 16),
            file("docs/a b.md", 12_340),
            file("pic.png", 2_500_000),
        ]);
        assert!(
            told.unwrap().ends_with("notes.md (16 B), docs/a b.md (12.3 kB), pic.png (2.5 MB)")
        );
        let many: Vec<Upload> = (0..12).map(|_| file("x", 1)).collect();
        assert_eq!(taken_along(&many).unwrap().matches("x (1 B)").count(), 10);
        assert!(taken_along(&[]).is_none());
    }
}
