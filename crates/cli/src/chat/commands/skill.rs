//! `/skill`.

use crate::lang::say;
use crate::show::cut;
use anyhow::Result;
use futures_util::future::LocalBoxFuture;

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["skill", "skills"],
    takes: "[NAME | off]",
    about: ("list the skills, use one from now on, or none", "列出技能，启用或停用"),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Then> {
    let skills = chat.relay.agent.equipment().skills.clone();
    if rest.is_empty() {
        let active = chat.session().state.active_skill.clone();
        if skills.is_empty() {
            chat.screen.say(say(
                "there are no skills; put folders with a SKILL.md into .waterline/skills",
                "没有技能；将含 SKILL.md 的目录放入 .waterline/skills",
            ));
        }
        for skill in &skills {
            let mark = if active.as_deref() == Some(&skill.id) { "*" } else { " " };
            chat.screen.say(&cut(&format!("{mark} {}  {}", skill.id, skill.description), 118));
        }
        return Ok(Then::Stay);
    }
    if rest == "off" {
        chat.relay.agent.live_mut().change(|session| session.state.active_skill = None).await?;
        return Ok(Then::Stay);
    }
    match skills.iter().find(|skill| skill.id == rest || skill.name == rest) {
        Some(skill) => Ok(Then::Say(format!("@{}", skill.id))),
        None => {
            chat.screen.say(say("there is no such skill", "没有该技能"));
            Ok(Then::Stay)
        }
    }
}
