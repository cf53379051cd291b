//! `/skill`.

use crate::lang::say;
use crate::show::{cut, room};
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
    match rest {
        "" => list(chat)?,
        "off" => off(chat).await?,
        name => return take(chat, name).await,
    }
    Ok(Then::Stay)
}

fn list(chat: &Chat) -> Result<()> {
    let active = chat.relay.agent.state()?.active_skill;
    let skills = &chat.relay.agent.config().skills;
    if skills.is_empty() {
        chat.screen.say(say(
            "there are no skills; put folders with a SKILL.md into .waterline/skills",
            "没有技能；将含 SKILL.md 的目录放入 .waterline/skills",
        ));
    }
    for skill in skills {
        let mark = if active.as_ref() == Some(&skill.id) { "*" } else { " " };
        chat.screen.say(&cut(&format!("{mark} {}  {}", skill.id, skill.description), room(1)));
    }
    Ok(())
}

/// No skill is in use from now on.
async fn off(chat: &mut Chat) -> Result<()> {
    let Some(active) = chat.relay.agent.state()?.active_skill else {
        chat.screen.say(say("no skill is in use", "没有使用中的技能"));
        return Ok(());
    };
    chat.relay.agent.change(|state, _| state.active_skill = None).await?;
    let en = format!("the skill {active} is not in use any more");
    chat.screen.say(&say(en, format!("技能 {active} 已停用")));
    Ok(())
}

/// Uses a skill from now on: the model is told at once, and with each message.
async fn take(chat: &mut Chat, name: &str) -> Result<Then> {
    let skills = &chat.relay.agent.config().skills;
    let found = skills
        .iter()
        .find(|skill| skill.id == name || skill.name == name)
        .map(|skill| skill.id.clone());
    let Some(id) = found else {
        chat.screen.say(say("there is no such skill", "没有该技能"));
        return Ok(Then::Stay);
    };
    let active = Some(id.clone());
    chat.relay.agent.change(move |state, _| state.active_skill.clone_from(&active)).await?;
    let en = format!(
        "the skill {id} is in use: the model is told with each message; /skill off ends it"
    );
    chat.screen.note(&say(en, format!("技能 {id} 使用中：每条消息都会告知模型；/skill off 停用")));
    Ok(Then::Say(format!("@{id}")))
}
