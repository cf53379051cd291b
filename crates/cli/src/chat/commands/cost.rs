//! `/cost`: the calls, tokens and price of the session, including its roles and sub-agents.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_agent::{OFFLINE, State};
use waterline_log::{Log, LogError, Relation, Session, Usage};

use super::{Next, Spec};
use crate::chat::Chat;
use crate::chat::gauge::price;
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["cost"],
    takes: "",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

/// Maximum number of hand-offs that are followed back to the first session.
const MAX_HANDOFFS: usize = 100;

/// Returns the calls of a session, of the roles that it handed its work to or got it from, and of
/// all their sub-agents, each with the relation of the session that made it to its parent.
fn calls(log: &Log, id: &str) -> waterline_log::Result<Vec<(Relation, Usage)>> {
    let first = first_session(log, id)?;
    let own = log.usage(&first)?.into_iter().map(|call| (Relation::Main, call));
    Ok(own.chain(log.usage_below(&first)?).collect())
}

/// Returns the calls that `calls` returns, without their relations. The prompt's gauge adds them
/// up.
pub fn all_calls(log: &Log, id: &str) -> waterline_log::Result<Vec<Usage>> {
    Ok(calls(log, id)?.into_iter().map(|(_, call)| call).collect())
}

/// Returns the session in which the work began: follows hand-offs between roles back.
fn first_session(log: &Log, id: &str) -> waterline_log::Result<String> {
    let mut session = log.session(id)?;
    for _ in 0..MAX_HANDOFFS {
        let Some(parent) = handed_over_by(&session) else { break };
        match log.session(&parent) {
            Ok(found) => session = found,
            // It was erased.
            Err(LogError::NoSession { .. }) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(session.id)
}

/// Returns the session that handed its work over to this one.
fn handed_over_by(session: &Session) -> Option<String> {
    let is_role = session.relation == Relation::Main
        && State::of(session).is_ok_and(|state| state.role.is_some());
    session.parent.clone().filter(|_| is_role)
}

async fn run(chat: &mut Chat, _: &str) -> Result<Next> {
    let calls = chat.on_log(calls).await?;
    let of_sub_agents: Vec<Usage> = calls
        .iter()
        .filter(|(relation, _)| *relation == Relation::SubAgent)
        .map(|(_, call)| call.clone())
        .collect();
    let all: Vec<Usage> = calls.into_iter().map(|(_, call)| call).collect();
    print_totals(chat, &all);
    if !of_sub_agents.is_empty() {
        chat.screen.print_line(&sub_agents(&of_sub_agents));
    }
    Ok(Next::Prompt)
}

fn print_totals(chat: &Chat, calls: &[Usage]) {
    let live = chat.runner.agent.live();
    let prompt = prompt(calls);
    let answers = sum(calls, |call| call.output);
    let share = (sum(calls, |call| call.cache_read) * 100).checked_div(prompt).unwrap_or(0);
    chat.screen.print_line(&text!("cost-calls", count = calls.len()));
    chat.screen.print_line(&match share {
        0 => text!("cost-prompt-tokens-uncached", tokens = prompt),
        share => text!("cost-prompt-tokens", tokens = prompt, share = share),
    });
    chat.screen.print_line(&text!("cost-answer-tokens", tokens = answers));
    let model_price = live.model().price.as_ref();
    match price(calls) {
        Some(price) => chat.screen.print_line(&text!("cost-price", price = price)),
        // Before the first call there is nothing to add up.
        None if calls.is_empty() && model_price.is_some() => {}
        // The built-in model costs nothing.
        None if live.model().name == OFFLINE => {}
        None => {
            chat.screen.print_line(&text!("cost-price-unknown", model = &live.model().name));
        }
    }
    if let Some(date) = model_price.and_then(|price| price.date.as_deref()) {
        chat.screen.print_note(&text!("cost-price-date", model = &live.model().name, date = date));
    }
}

/// Formats the part of the totals that sub-agents used.
fn sub_agents(calls: &[Usage]) -> String {
    let count = calls.len();
    let prompt = prompt(calls);
    let answers = sum(calls, |call| call.output);
    match price(calls) {
        Some(price) => text!(
            "cost-sub-agents-price",
            count = count,
            prompt = prompt,
            answers = answers,
            price = price,
        ),
        None => text!("cost-sub-agents", count = count, prompt = prompt, answers = answers),
    }
}

fn prompt(calls: &[Usage]) -> usize {
    sum(calls, |call| call.input + call.cache_read + call.cache_write)
}

fn sum(calls: &[Usage], of: fn(&Usage) -> u64) -> usize {
    usize::try_from(calls.iter().map(of).sum::<u64>()).unwrap_or(usize::MAX)
}
