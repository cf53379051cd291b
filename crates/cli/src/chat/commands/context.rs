//! `/context`: what is in the window, by part and by turn, and why; clearing, pinning, and taking a fold back.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline::history::History;
use waterline::message::{Message, Role};
use waterline::plan::Treatment;
use waterline_log::LogError;
use waterline_session::Live;

use super::{Spec, Then};
use crate::chat::Chat;
use crate::lang::say;
use crate::show::{cut, number, pad};

pub(super) const SPEC: Spec = Spec {
    names: &["context"],
    takes: "[clear | why N | pin N | undo]",
    about: (
        "what is in the window, and why; empty it; keep message N; take the last fold back",
        "窗口中的内容及原因；清空；固定第 N 条；撤销上次折叠",
    ),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

/// How wide a bar is.
const BAR: usize = 30;

/// How many turns are shown, the newest.
const TURNS: usize = 20;

async fn run(chat: &mut Chat, rest: &str) -> Result<Then> {
    let (word, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    match (word, argument.trim().parse::<u64>().ok()) {
        ("", _) => show(chat).await?,
        ("clear", _) => return super::clear::SPEC.start(chat).await,
        ("undo", _) => undo(chat).await?,
        ("why", Some(place)) => why(chat, place).await?,
        ("pin", Some(place)) => pin(chat, place).await?,
        _ => chat.screen.say(&format!("/context {}", SPEC.takes)),
    }
    Ok(Then::Stay)
}

async fn show(chat: &mut Chat) -> Result<()> {
    let screen = chat.screen.clone();
    let live = chat.relay.agent.live_mut();
    live.whole().await?;
    screen.say(&counts(live.history()));
    let parts = parts(live);
    let counted: usize = parts.iter().map(|(_, tokens)| tokens).sum();
    for (name, tokens) in parts.into_iter().chain(turns(live)) {
        let filled = (tokens * BAR).div_ceil(live.window().max(1)).min(BAR);
        let bar = format!("{}{}", "█".repeat(filled), "·".repeat(BAR - filled));
        screen.say(&format!("{}  {bar}  {}", pad(&cut(&name, 34), 34), number(tokens)));
    }
    let [counted, real, high, window] = [counted, live.prompt_tokens(), live.high_mark(), live.window()].map(number);
    let en = format!("{counted} counted, {real} as the model counts / high mark {high} / window {window}");
    screen.say(&say(en, format!("计 {counted}，按模型计 {real} / 高水位 {high} / 窗口 {window}")));
    Ok(())
}

/// How many messages there are, whose, and how long.
fn counts(history: &History) -> String {
    let messages = || (0..history.len()).filter_map(|at| history.message(at));
    let count = |role: Role| messages().filter(|message| message.role == role).count();
    let length = |message: &Message| {
        let results: usize = message.results().map(|result| result.text().chars().count()).sum();
        message.text().chars().count() + results
    };
    format!(
        "{} {}: user {}, assistant {}, tool {}, system {}; {} {}",
        history.len(),
        say("messages", "条消息"),
        count(Role::User),
        count(Role::Assistant),
        count(Role::Tool),
        count(Role::System),
        number(messages().map(length).sum()),
        say("characters", "个字符")
    )
}

/// What is in the window, by part.
fn parts(live: &Live) -> Vec<(String, usize)> {
    let slots = live.generation().slots();
    let of = |treatment: Treatment| {
        slots.iter().filter(|slot| slot.treatment == treatment).map(|slot| slot.tokens).sum::<usize>()
    };
    let system = live.history().system_tokens();
    let made = [Treatment::Summary, Treatment::Recalled, Treatment::Preview, Treatment::Trimmed];
    let made = made.into_iter().map(|treatment| (treatment.name().to_owned(), of(treatment)));
    let mut parts = vec![(say("tools", "工具定义").to_owned(), live.tool_tokens())];
    parts.push((say("system prompt", "系统提示").to_owned(), system));
    parts.extend(made.filter(|(_, tokens)| *tokens > 0));
    parts.push((say("as it was said", "原样").to_owned(), of(Treatment::Verbatim).saturating_sub(system)));
    parts
}

/// What of each of the newest turns is in it.
fn turns(live: &Live) -> Vec<(String, usize)> {
    let (history, slots) = (live.history(), live.generation().slots());
    let turns = history.turns().len();
    let turn = |turn: usize| {
        let atoms = history.turn_atoms(turn).filter_map(|atom| history.atom(atom));
        let messages: Vec<usize> = atoms.flat_map(|atom| atom.messages.clone()).collect();
        let sent = slots.iter().filter(|slot| {
            slot.treatment != Treatment::Summary && slot.sources.iter().any(|source| messages.contains(source))
        });
        let words = messages.first().and_then(|&at| history.message(at)).map(Message::text).unwrap_or_default();
        let place = messages.first().map_or(0, |at| live.cleared() + *at as u64 + 1);
        (format!("{} {} [{place}] {words}", say("turn", "第"), turn + 1), sent.map(|slot| slot.tokens).sum())
    };
    (turns.saturating_sub(TURNS)..turns).map(turn).collect()
}

/// Why a message is or is not there.
async fn why(chat: &mut Chat, place: u64) -> Result<()> {
    let screen = chat.screen.clone();
    let live = chat.relay.agent.live_mut();
    live.whole().await?;
    let Some(index) = place.checked_sub(live.cleared() + 1).and_then(|index| usize::try_from(index).ok()) else {
        screen.say(say("it was cleared away; /context undo takes that back", "已被清空；/context undo 可恢复"));
        return Ok(());
    };
    let Some(message) = live.history().message(index) else {
        screen.say(say("there is no such message", "没有该消息"));
        return Ok(());
    };
    screen.note(&cut(&format!("{}: {}", message.role.name(), crate::command::sessions::gist(message)), 110));
    match live.generation().slots().iter().find(|slot| slot.sources.contains(&index)) {
        Some(slot) => screen.say(&format!(
            "{} ({} {}): {}",
            slot.treatment.name(),
            number(slot.tokens),
            say("tokens", "个 token"),
            if slot.reason.is_empty() { say("it is there as it was said", "原样保留") } else { &slot.reason }
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
    chat.relay.agent.live_mut().pin(place).await?;
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

/// Whether there was something to take back. That there was nothing is a refusal; any other error is one.
fn was_there(taken_back: waterline_log::Result<()>) -> waterline_log::Result<bool> {
    match taken_back {
        Ok(()) => Ok(true),
        Err(LogError::Refused(_)) => Ok(false),
        Err(error) => Err(error),
    }
}
