//! `/cost`: what the session took, and what those took who worked for it.

use crate::chat::gauge::price;
use crate::lang::say;
use crate::show::{count, number};
use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_agent::State;
use waterline_log::{Log, LogError, Relation, Session, Usage};

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["cost"],
    takes: "",
    about: ("what this session and its sub-agents took", "本会话及其子代理的用量"),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

/// How many hand-offs are followed up to the session that the work began in.
const ROLES: usize = 100;

/// The calls of a session, of the roles that its work was handed to or came from, and of
/// everybody's sub-agents: each with how whoever made it stands to the one above.
fn calls(log: &Log, id: &str) -> waterline_log::Result<Vec<(Relation, Usage)>> {
    let began = began(log, id)?;
    let own = log.usage(&began)?.into_iter().map(|call| (Relation::Main, call));
    Ok(own.chain(log.usage_below(&began)?).collect())
}

/// The same without a word on who made which: what the prompt adds up.
pub fn all_calls(log: &Log, id: &str) -> waterline_log::Result<Vec<Usage>> {
    Ok(calls(log, id)?.into_iter().map(|(_, call)| call).collect())
}

/// The session in which the work of a session began: a role goes on for the one before it.
fn began(log: &Log, id: &str) -> waterline_log::Result<String> {
    let mut session = log.session(id)?;
    for _ in 0..ROLES {
        let Some(parent) = handed_by(&session) else { break };
        match log.session(&parent) {
            Ok(found) => session = found,
            // Somebody erased it.
            Err(LogError::NoSession { .. }) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(session.id)
}

/// The session that handed its work over to this one.
fn handed_by(session: &Session) -> Option<String> {
    let is_role = session.relation == Relation::Main
        && State::of(session).is_ok_and(|state| state.role.is_some());
    session.parent.clone().filter(|_| is_role)
}

async fn run(chat: &mut Chat, _: &str) -> Result<Then> {
    let calls = chat.on_log(calls).await?;
    let (below, own): (Vec<_>, Vec<_>) =
        calls.into_iter().partition(|(of, _)| *of == Relation::SubAgent);
    let only = |calls: Vec<(Relation, Usage)>| {
        calls.into_iter().map(|(_, call)| call).collect::<Vec<Usage>>()
    };
    let (below, mut all) = (only(below), only(own));
    all.extend(below.iter().cloned());
    tell(chat, &all);
    if !below.is_empty() {
        chat.screen.say(&of_sub_agents(&below));
    }
    Ok(Then::Stay)
}

fn tell(chat: &Chat, calls: &[Usage]) {
    let prompt = prompt(calls);
    let share = (sum(calls, |call| call.cache_read) * 100).checked_div(prompt).unwrap_or(0);
    chat.screen.say(&format!("{}: {}", say("calls", "调用"), number(calls.len())));
    chat.screen.say(&format!(
        "{}: {} ({share}% {})",
        say("prompt tokens", "提示 token"),
        number(prompt),
        say("from the cache", "来自缓存")
    ));
    let answers = number(sum(calls, |call| call.output));
    chat.screen.say(&format!("{}: {answers}", say("answer tokens", "回答 token")));
    let price = price(calls).unwrap_or_else(|| {
        say(
            "not known; models.NAME.price in the config says it",
            "未知；可在配置 models.名称.price 中设置",
        )
        .to_owned()
    });
    chat.screen.say(&format!("{}: {price}", say("price", "费用")));
}

/// What of all that sub-agents took.
fn of_sub_agents(calls: &[Usage]) -> String {
    let [prompt, answers] = [prompt(calls), sum(calls, |call| call.output)].map(number);
    let made = count(calls.len(), "call");
    let en = format!("of it sub-agents: {made}, {prompt} prompt tokens, {answers} answer tokens");
    let zh = format!(
        "其中子代理：{} 次调用，提示 token {prompt}，回答 token {answers}",
        number(calls.len())
    );
    match price(calls) {
        Some(price) => say(format!("{en}, price {price}"), format!("{zh}，费用 {price}")),
        None => say(en, zh),
    }
}

fn prompt(calls: &[Usage]) -> usize {
    sum(calls, |call| call.input + call.cache_read + call.cache_write)
}

fn sum(calls: &[Usage], of: fn(&Usage) -> u64) -> usize {
    usize::try_from(calls.iter().map(of).sum::<u64>()).unwrap_or(usize::MAX)
}
