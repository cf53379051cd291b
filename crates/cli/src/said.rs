//! What a person wrote, with the names and files it mentions.

use std::path::Path;

use waterline::message::Part;
use waterline_agent::mention::attach;
use waterline_agent::mention::{self, Kind};
use waterline_agent::skill::Skill;
use waterline_agent::state::Upload;
use waterline_agent::{Agent, Said};

use crate::lang::say;

/// How many files are named of those that were taken along.
const NAMED: usize = 10;

/// What is said to the agent, and what the person should know about it: files that were taken along or are not there, what a name
/// changes, names nobody has.
pub fn read(agent: &Agent, text: &str) -> (Said, Vec<String>) {
    let mut said = Said::new(text.trim_end());
    let mut notices = Vec::new();
    let names = mention::files(text);
    if !names.is_empty() {
        let attached = attach(agent.workspace(), Path::new("."), &names, agent.sees());
        notices.extend(taken_along(&attached.files));
        said.parts.extend(attached.parts);
        said.files.extend(attached.files);
        notices.extend(attached.notices);
    }
    for name in mention::names(text) {
        notices.extend(mentioned(agent, name, &mut said));
    }
    let skills = &agent.config().skills;
    let active = agent.state().ok().and_then(|state| state.active_skill);
    if let Some(skill) = active.filter(|skill| said.skill.is_none() && skills.iter().any(|known| known.id == *skill)) {
        said.parts.push(Part::text(format!("[The skill {skill} is in use: skills/{skill}/SKILL.md]")));
    }
    (said, notices)
}

/// Takes in a name; gives what the person should know about it.
fn mentioned(agent: &Agent, name: String, said: &mut Said) -> Option<String> {
    let config = agent.config();
    // What does not parse is refused when the turn begins.
    let (state, local) = (agent.state().unwrap_or_default(), agent.local().unwrap_or_default());
    let tiers = agent.tiers().unwrap_or_default();
    let roles: Vec<String> = config.roles.iter().map(|role| role.name.clone()).collect();
    let found = mention::look_up(&name, &tiers, &config.skills, &roles);
    let notice = match found.kind {
        Kind::Tool => None,
        Kind::Disabled => {
            let tool = config.toolbox.find(&name);
            let about = tool.map(|tool| format!("{} Arguments: {}", tool.about(), tool.schema())).unwrap_or_default();
            let text = format!("[The user allows the tool {name}; it is called through call_tool. {about}]");
            said.parts.push(Part::text(text));
            said.tools.push(name.clone());
            let is_new = !config.toolbox.may_use(&name, &local);
            is_new.then(|| allowed(&name))
        }
        Kind::Skill(skill) => {
            let text = format!("[The user names the skill {name}: read skills/{}/SKILL.md and follow it.]", skill.id);
            said.parts.push(Part::text(text));
            let is_active = state.active_skill.as_ref() == Some(&skill.id);
            let notice = (!is_active).then(|| held(&skill));
            said.skill = Some(skill.id);
            notice
        }
        Kind::Agent => {
            said.parts.push(Part::text(format!("[The user names the role {name}.]")));
            None
        }
        Kind::Unknown => {
            let en = format!("@{name} is no tool, skill or role here");
            return Some(say(en, format!("@{name} 不是这里的工具、技能或角色")));
        }
    };
    said.mentioned.push(name);
    notice
}

/// A tool that may be used from now on.
fn allowed(name: &str) -> String {
    say(
        format!("the tool {name} is allowed in this session; /tools shows them"),
        format!("本会话已允许工具 {name}；/tools 可查看"),
    )
}

/// A skill that was only mentioned.
fn held(skill: &Skill) -> String {
    let id = &skill.id;
    say(
        format!("the skill {id} holds for this message; /skill {id} uses it from now on"),
        format!("技能 {id} 仅用于本条消息；/skill {id} 可持续使用"),
    )
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
        let told = taken_along(&[file("notes.md", 16), file("docs/a b.md", 12_340), file("pic.png", 2_500_000)]);
        assert!(told.unwrap().ends_with("notes.md (16 B), docs/a b.md (12.3 kB), pic.png (2.5 MB)"));
        let many: Vec<Upload> = (0..12).map(|_| file("x", 1)).collect();
        assert_eq!(taken_along(&many).unwrap().matches("x (1 B)").count(), 10);
        assert!(taken_along(&[]).is_none());
    }
}
