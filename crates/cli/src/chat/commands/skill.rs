//! `/skill`: lists the skills, and turns one on or off.

use crate::show::{room, truncate};
use anyhow::Result;
use futures_util::future::LocalBoxFuture;

use super::{Next, Spec};
use crate::chat::Chat;
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["skill", "skills"],
    takes: "[NAME | off]",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Next> {
    match rest {
        "" => list(chat)?,
        "off" => off(chat).await?,
        name => return activate(chat, name).await,
    }
    Ok(Next::Prompt)
}

fn list(chat: &Chat) -> Result<()> {
    let active = chat.runner.agent.state()?.active_skill;
    let skills = &chat.runner.agent.config().skills;
    if skills.is_empty() {
        chat.screen.print_line(&text!("skill-none"));
    }
    for skill in skills {
        let mark = if active.as_ref() == Some(&skill.id) { "*" } else { " " };
        chat.screen
            .print_line(&truncate(&format!("{mark} {}  {}", skill.id, skill.description), room(1)));
    }
    Ok(())
}

async fn off(chat: &mut Chat) -> Result<()> {
    let Some(active) = chat.runner.agent.state()?.active_skill else {
        chat.screen.print_line(&text!("skill-not-active"));
        return Ok(());
    };
    chat.runner.agent.change(|state, _| state.active_skill = None).await?;
    chat.screen.print_line(&text!("skill-off", id = active));
    Ok(())
}

/// Turns a skill on. The model is asked to follow it now, and reminded of it with each message.
async fn activate(chat: &mut Chat, name: &str) -> Result<Next> {
    let skills = &chat.runner.agent.config().skills;
    let found = skills
        .iter()
        .find(|skill| skill.id == name || skill.name == name)
        .map(|skill| skill.id.clone());
    let Some(id) = found else {
        chat.screen.print_line(&text!("skill-unknown", name = name));
        return Ok(Next::Prompt);
    };
    let active = Some(id.clone());
    chat.runner.agent.change(move |state, _| state.active_skill.clone_from(&active)).await?;
    chat.screen.print_note(&text!("skill-on", id = &id));
    Ok(Next::Send(format!("@{id}")))
}
