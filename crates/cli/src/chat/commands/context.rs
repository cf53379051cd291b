//! `/context`: shows what is in the context and why; clears it, pins messages, undoes a fold.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline::history::History;
use waterline_log::{LogError, Refusal};
use waterline_session::LiveSession;

use super::summaries::summaries;
use super::{Next, Spec};
use crate::chat::Chat;
use crate::show::{self, one_line, room, truncate};
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["context"],
    takes: "[summary | why N | pin N | clear | undo]",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Next> {
    let (action, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let argument = argument.trim();
    match (action, argument, argument.parse::<u64>().ok()) {
        ("", ..) => super::window::show(chat).await?,
        ("summary", "", _) => summary(chat).await?,
        ("clear", "", _) => return super::clear::SPEC.start(chat).await,
        ("undo", "", _) => undo(chat).await?,
        ("why", _, Some(number)) => why(chat, number).await?,
        ("pin", _, Some(number)) => pin(chat, number).await?,
        _ => chat.screen.print_line(&SPEC.usage()),
    }
    Ok(Next::Prompt)
}

/// Shows the summaries in the context, as the model reads them.
async fn summary(chat: &mut Chat) -> Result<()> {
    let screen = chat.screen.clone();
    let live = chat.runner.agent.live_mut();
    live.whole().await?;
    let found = summaries(live.generation().slots(), live.history());
    if found.is_empty() {
        let why = match live.generation().number {
            0 => text!("context-not-folded"),
            _ => text!("context-no-summary"),
        };
        screen.print_line(&why);
    }
    found.iter().for_each(|summary| screen.print_line(summary));
    Ok(())
}

/// Shows why a message is in the context or not.
async fn why(chat: &mut Chat, number: u64) -> Result<()> {
    let screen = chat.screen.clone();
    let live = chat.runner.agent.live_mut();
    live.whole().await?;
    let history = live.history();
    let found = index_of(history, number);
    let Some((index, message)) = found.and_then(|at| Some((at, history.message(at)?))) else {
        let text = missing(live, number);
        screen.print_line(&text);
        return Ok(());
    };
    screen.print_note(&truncate(&show::role_line(message.role, &one_line(message)), room(1)));
    let slots = live.generation().slots();
    let Some(slot) = slots.iter().find(|slot| slot.sources.contains(&index)) else {
        screen.print_line(&text!("context-next-call"));
        return Ok(());
    };
    let treatment = show::treatment(slot.treatment);
    let tokens = live.corrected(slot.tokens);
    let reason = match slot.reasons.is_empty() {
        true => text!("context-unchanged"),
        false => show::reasons(&slot.reasons),
    };
    screen.print_line(&text!(
        "context-why",
        treatment = treatment,
        tokens = tokens,
        reason = reason
    ));
    Ok(())
}

/// Keeps a message verbatim in every fold.
async fn pin(chat: &mut Chat, number: u64) -> Result<()> {
    let live = chat.runner.agent.live();
    let Some(index) = index_of(live.history(), number) else {
        chat.screen.print_line(&missing(live, number));
        return Ok(());
    };
    let position = live.cleared() + index as u64 + 1;
    chat.runner.agent.pin(position).await?;
    chat.screen.print_line(&text!("context-pinned", number = number.to_string()));
    Ok(())
}

fn index_of(history: &History, number: u64) -> Option<usize> {
    history.index_of(usize::try_from(number).ok()?)
}

/// Says why the history does not have a message: it was cleared, or does not exist.
fn missing(live: &LiveSession, number: u64) -> String {
    let history = live.history();
    let last_cleared = usize::try_from(live.cleared()).unwrap_or(usize::MAX);
    let first = (0..history.len())
        .find_map(|index| history.number(index))
        .unwrap_or(last_cleared.saturating_add(1));
    match number > 0 && number < first as u64 {
        true => text!("context-cleared"),
        false => text!("context-no-message", number = number.to_string()),
    }
}

/// Undoes the last fold or, if there is none, the last clear.
async fn undo(chat: &mut Chat) -> Result<()> {
    let folded = chat.on_log(|log, id| was_undone(log.undo_fold(id))).await?;
    let cleared = !folded && chat.on_log(|log, id| was_undone(log.undo_clear(id))).await?;
    chat.reopen().await?;
    let text = match (folded, cleared) {
        (true, _) => text!("context-fold-undone"),
        (false, true) => text!("context-clear-undone"),
        (false, false) => text!("context-nothing-to-undo"),
    };
    chat.screen.print_line(&text);
    Ok(())
}

/// Returns whether something was undone. The log refuses if there is nothing to undo.
fn was_undone(result: waterline_log::Result<()>) -> waterline_log::Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(LogError::Refused(Refusal::NotFolded(_) | Refusal::NotCleared(_))) => Ok(false),
        Err(error) => Err(error),
    }
}
