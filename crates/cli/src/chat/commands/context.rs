//! `/context`: what is in the window, by part and by turn, and why; clearing, pinning, and taking a
//! fold back.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_log::LogError;

use super::note::notes;
use super::{Spec, Then};
use crate::chat::Chat;
use crate::lang::say;
use crate::show::{cut, number, room};

pub(super) const SPEC: Spec = Spec {
    names: &["context"],
    takes: "[summary | why N | pin N | clear | undo]",
    about: (
        "what is in the window; what stands for what was folded; why message N is there or not; keep message N; empty it; take the \
         last fold or clearing back",
        "窗口中的内容；折叠部分的摘要；第 N 条消息是否在其中及原因；固定第 N 条；清空；撤销上次折叠或清空",
    ),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Then> {
    let (word, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let argument = argument.trim();
    match (word, argument, argument.parse::<u64>().ok()) {
        ("", ..) => super::window::show(chat).await?,
        ("summary", "", _) => summary(chat).await?,
        ("clear", "", _) => return super::clear::SPEC.start(chat).await,
        ("undo", "", _) => undo(chat).await?,
        ("why", _, Some(place)) => why(chat, place).await?,
        ("pin", _, Some(place)) => pin(chat, place).await?,
        _ => chat.screen.say(&SPEC.usage()),
    }
    Ok(Then::Stay)
}

/// What stands in the context in the place of what was folded, as the model reads it.
async fn summary(chat: &mut Chat) -> Result<()> {
    let screen = chat.screen.clone();
    let live = chat.relay.agent.live_mut();
    live.whole().await?;
    let notes = notes(live.generation().slots(), live.history());
    if notes.is_empty() {
        screen.say(say("nothing is summed up in the context", "上下文中没有摘要"));
    }
    notes.iter().for_each(|note| screen.say(note));
    Ok(())
}

/// Why a message is or is not there.
async fn why(chat: &mut Chat, place: u64) -> Result<()> {
    let screen = chat.screen.clone();
    let live = chat.relay.agent.live_mut();
    live.whole().await?;
    let Some(index) =
        place.checked_sub(live.cleared() + 1).and_then(|index| usize::try_from(index).ok())
    else {
        screen.say(say(
            "it was cleared away; /context undo takes that back",
            "已被清空；/context undo 可恢复",
        ));
        return Ok(());
    };
    let Some(message) = live.history().message(index) else {
        screen.say(say("there is no such message", "没有该消息"));
        return Ok(());
    };
    screen.note(&cut(
        &format!("{}: {}", message.role.name(), crate::show::one_line(message)),
        room(1),
    ));
    match live.generation().slots().iter().find(|slot| slot.sources.contains(&index)) {
        Some(slot) => screen.say(&format!(
            "{} ({} {}): {}",
            slot.treatment.name(),
            number(live.corrected(slot.tokens)),
            say("tokens", "个 token"),
            if slot.reason.is_empty() {
                say("it is there as it was said", "原样保留")
            } else {
                &slot.reason
            }
        )),
        None => screen.say(say("it is sent as it is with the next call", "下次调用时原样发送")),
    }
    Ok(())
}

/// Keeps a message word for word, whatever is folded.
async fn pin(chat: &mut Chat, place: u64) -> Result<()> {
    if !(1..=chat.session().tip.position()).contains(&place) {
        chat.screen.say(say("there is no such message", "没有该消息"));
        return Ok(());
    }
    chat.relay.agent.pin(place).await?;
    chat.screen.say(&format!("{} {place}", say("pinned", "已固定")));
    Ok(())
}

/// Takes back the last fold; where there was none, the last clearing.
async fn undo(chat: &mut Chat) -> Result<()> {
    let folded = chat.on_log(|log, id| was_there(log.undo_fold(id))).await?;
    let cleared = !folded && chat.on_log(|log, id| was_there(log.uncut(id))).await?;
    chat.reopen().await?;
    let text = match (folded, cleared) {
        (true, _) => say("the last fold is taken back", "已撤销上次折叠"),
        (false, true) => say("the clearing is taken back", "已撤销清空"),
        (false, false) => say("nothing was folded or cleared", "没有折叠或清空可撤销"),
    };
    chat.screen.say(text);
    Ok(())
}

/// Whether there was something to take back. That there was nothing is a refusal; any other error
/// is one.
fn was_there(taken_back: waterline_log::Result<()>) -> waterline_log::Result<bool> {
    match taken_back {
        Ok(()) => Ok(true),
        Err(LogError::Refused(_)) => Ok(false),
        Err(error) => Err(error),
    }
}
