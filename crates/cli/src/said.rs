//! What a person wrote, with the names and files it mentions.

use std::path::Path;

use waterline::message::Part;
use waterline_agent::mention::{self, Kind};
use waterline_agent::workspace::attach;
use waterline_agent::{Agent, Said};

use crate::lang::say;

/// What is said to the agent, and what the person should know about it: files that are not there, names nobody has.
pub fn read(agent: &Agent, text: &str) -> (Said, Vec<String>) {
    let mut said = Said::new(text.trim_end());
    let mut notices = Vec::new();
    let names = mention::files(text);
    if !names.is_empty() {
        let attached = attach(agent.workspace(), Path::new("."), &names, agent.sees());
        said.parts.extend(attached.parts);
        said.files.extend(attached.files);
        notices.extend(attached.notices);
    }
    let equipment = agent.equipment();
    let roles: Vec<String> = equipment.roles.iter().map(|role| role.name.clone()).collect();
    for name in mention::names(text) {
        let found =
            mention::look_up(&name, &equipment.toolbox, &equipment.skills, &roles, &agent.live().session().state);
        match found.kind {
            Kind::Tool => {}
            Kind::Disabled => {
                let tool = equipment.toolbox.find(&name);
                let about =
                    tool.map(|tool| format!("{} Arguments: {}", tool.about(), tool.schema())).unwrap_or_default();
                said.parts.push(Part::text(format!(
                    "[The user allows the tool {name}; it is called through call_tool. {about}]"
                )));
                said.tools.push(name.clone());
            }
            Kind::Skill(skill) => {
                said.parts.push(Part::text(format!(
                    "[The user names the skill {name}: read skills/{}/SKILL.md and follow it.]",
                    skill.id
                )));
                said.skill = Some(skill.id);
            }
            Kind::Agent => {
                said.parts.push(Part::text(format!("[The user names the role {name}.]")));
            }
            Kind::Unknown => {
                let (en, zh) =
                    (format!("@{name} is no tool, skill or role here"), format!("@{name} 不是这里的工具、技能或角色"));
                notices.push(say(en, zh));
                continue;
            }
        }
        said.mentioned.push(name);
    }
    let active = agent.live().session().state.active_skill.as_ref();
    if let Some(skill) =
        active.filter(|skill| said.skill.is_none() && equipment.skills.iter().any(|known| known.id == **skill))
    {
        said.parts.push(Part::text(format!("[The skill {skill} is in use: skills/{skill}/SKILL.md]")));
    }
    (said, notices)
}
