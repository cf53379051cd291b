//! Turns a user's text into input for the agent: files are attached, and mentions are explained to
//! the model.

use std::path::Path;

use waterline::message::Part;

use super::{AttachProblem, Kind, attach, dotted, files, look_up, names};
use crate::agent::{Agent, UserInput};
use crate::environment::private_path;
use crate::role::Role;
use crate::state::Upload;
use crate::tool::{CALL_TOOL, HAND_OFF};

/// A notice for the user about a mention.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// These files were attached.
    Attached(Vec<Upload>),
    /// A file was not attached, or only partly.
    Problem(AttachProblem),
    /// A disabled tool is allowed from now on.
    ToolAllowed(String),
    /// A skill is used for this message only.
    SkillOnce(String),
    /// No tool, skill or role has this name.
    Unknown(String),
    /// No tool, skill or role has this name, but a file has it.
    IsFile(String),
}

/// Reads a user's text. `#files` are attached, relative to `base`, and `@names` are explained to
/// the model.
#[must_use]
pub fn read(agent: &Agent, base: &Path, text: &str) -> (UserInput, Vec<Notice>) {
    let mut input = UserInput::new(text.trim_end());
    let mut notices = Vec::new();
    let paths = files(text);
    if !paths.is_empty() {
        let attached = attach(agent.workspace(), base, &paths, agent.sees());
        if !attached.files.is_empty() {
            notices.push(Notice::Attached(attached.files.clone()));
        }
        input.parts.extend(attached.parts);
        input.files.extend(attached.files);
        notices.extend(attached.problems.into_iter().map(Notice::Problem));
    }
    let dotted = dotted(text);
    let starts_path =
        |name: &str| dotted.iter().any(|path| path.strip_prefix(name).is_some_and(is_below));
    for name in names(text).into_iter().filter(|name| !starts_path(name)) {
        notices.extend(mention(agent, name, &mut input));
    }
    for name in dotted {
        notices.push(match base.join(&name).is_file() {
            true => Notice::IsFile(name),
            false => Notice::Unknown(name),
        });
    }
    let skills = &agent.config().skills;
    let active = agent.state().ok().and_then(|state| state.active_skill);
    let is_used =
        |skill: &String| input.skill.is_none() && skills.iter().any(|known| known.id == *skill);
    if let Some(skill) = active.filter(is_used) {
        let file = skill_file(agent, &skill);
        input.parts.push(Part::text(format!("[Active skill: {skill}. Follow {file}.]")));
    }
    (input, notices)
}

/// Whether the rest of a path begins below what was removed from it.
fn is_below(rest: &str) -> bool {
    rest.starts_with('/')
}

/// Returns how the model names the file of a skill.
fn skill_file(agent: &Agent, id: &str) -> String {
    private_path(agent.workspace(), &format!("skills/{id}/SKILL.md"))
}

/// Adds a mention to the input, and returns a notice for the user.
fn mention(agent: &Agent, name: String, input: &mut UserInput) -> Option<Notice> {
    let config = agent.config();
    // State that does not parse is reported when the turn starts.
    let state = agent.state().unwrap_or_default();
    let local = agent.local_state().unwrap_or_default();
    let tiers = agent.tiers().unwrap_or_default();
    let roles: Vec<String> = config.roles.iter().map(|role| role.name.clone()).collect();
    let notice = match look_up(&name, &tiers, &config.skills, &roles).kind {
        Kind::Tool => None,
        Kind::Disabled => {
            let tool = config.toolbox.find(&name);
            let about = tool
                .map(|tool| format!("{} Arguments: {}", tool.about(), tool.schema()))
                .unwrap_or_default();
            let text = format!(
                "[The user has allowed the tool {name}. Call it through {CALL_TOOL}. {about}]"
            );
            input.parts.push(Part::text(text));
            input.tools.push(name.clone());
            (!config.toolbox.may_use(&name, &local)).then(|| Notice::ToolAllowed(name.clone()))
        }
        Kind::Skill(skill) => {
            let text = format!(
                "[The user requests the skill {name}. Read {} and follow it.]",
                skill_file(agent, &skill.id)
            );
            input.parts.push(Part::text(text));
            let is_active = state.active_skill.as_ref() == Some(&skill.id);
            input.skill = Some(skill.id.clone());
            (!is_active).then_some(Notice::SkillOnce(skill.id))
        }
        Kind::Agent => {
            let is_own = |role: &&Role| state.role.as_ref() == Some(&role.name);
            let own = config.roles.iter().find(is_own);
            let may_hand_off = config.toolbox.may_use(HAND_OFF, &local)
                && own.is_some_and(|role| role.hands_to.contains(&name));
            let advice = if may_hand_off {
                format!(" Hand the work over with {HAND_OFF} if that is what they want.")
            } else {
                String::new()
            };
            input.parts.push(Part::text(format!("[The user mentions the role {name}.{advice}]")));
            None
        }
        Kind::Unknown => return Some(Notice::Unknown(name)),
    };
    input.mentioned.push(name);
    notice
}
