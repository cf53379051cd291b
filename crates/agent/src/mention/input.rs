//! A user's text as input for the agent: its files are attached, and the model is told what its
//! names mean.

use std::path::Path;

use waterline::message::Part;

use super::{Kind, attach, files, look_up, names};
use crate::agent::{Agent, UserInput};
use crate::state::Upload;

/// What the user should know about the names and files of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// These files were attached.
    Attached(Vec<Upload>),
    /// A file was not attached, or not whole.
    Problem(String),
    /// A tool may be used from now on.
    ToolAllowed(String),
    /// A skill is used for this message only.
    SkillOnce(String),
    /// No tool, skill or role has this name.
    Unknown(String),
}

/// Reads a user's text: `#files` are attached, from `base` on, and `@names` are explained to the
/// model.
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
        notices.extend(attached.notices.into_iter().map(Notice::Problem));
    }
    for name in names(text) {
        notices.extend(mention(agent, name, &mut input));
    }
    let (skills, active) =
        (&agent.config().skills, agent.state().ok().and_then(|state| state.active_skill));
    let is_used =
        |skill: &String| input.skill.is_none() && skills.iter().any(|known| known.id == *skill);
    if let Some(skill) = active.filter(is_used) {
        input
            .parts
            .push(Part::text(format!("[The skill {skill} is in use: skills/{skill}/SKILL.md]")));
    }
    (input, notices)
}

/// Adds what a name means; returns what the user should know about it.
fn mention(agent: &Agent, name: String, input: &mut UserInput) -> Option<Notice> {
    let config = agent.config();
    // What does not parse is refused when the turn begins.
    let (state, local) = (agent.state().unwrap_or_default(), agent.local().unwrap_or_default());
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
                "[The user allows the tool {name}; it is called through call_tool. {about}]"
            );
            input.parts.push(Part::text(text));
            input.tools.push(name.clone());
            (!config.toolbox.may_use(&name, &local)).then(|| Notice::ToolAllowed(name.clone()))
        }
        Kind::Skill(skill) => {
            let text = format!(
                "[The user names the skill {name}: read skills/{}/SKILL.md and follow it.]",
                skill.id
            );
            input.parts.push(Part::text(text));
            let is_active = state.active_skill.as_ref() == Some(&skill.id);
            input.skill = Some(skill.id.clone());
            (!is_active).then_some(Notice::SkillOnce(skill.id))
        }
        Kind::Agent => {
            input.parts.push(Part::text(format!("[The user names the role {name}.]")));
            None
        }
        Kind::Unknown => return Some(Notice::Unknown(name)),
    };
    input.mentioned.push(name);
    notice
}
