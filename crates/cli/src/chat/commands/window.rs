//! What is in the window, by part and by turn, as bars. Every figure is on the scale of the gauge:
//! as the provider counts.

use anyhow::Result;
use waterline::history::History;
use waterline::message::{Message, Role};
use waterline::plan::Treatment;
use waterline_session::LiveSession;

use crate::chat::Chat;
use crate::lang::say;
use crate::show::{bar, cut, number, pad, room};

/// How many turns are shown, the newest.
const TURNS: usize = 20;

/// The columns of a number and of the gaps beside it.
const NUMBER: usize = 10;

/// How wide a bar is at most: a longer one tells no more.
const WIDEST: usize = 40;

/// A name and its tokens.
type Row = (String, usize);

pub(super) async fn show(chat: &mut Chat) -> Result<()> {
    let screen = chat.screen.clone();
    let live = chat.relay.agent.live_mut();
    live.whole().await?;
    screen.say(&counts(live.history()));
    for row in &parts(live) {
        screen.say(&line(row, live.window()));
    }
    let (turns, older) = turns(live);
    if older > 0 {
        screen.note(&say(format!("… {older} older turns"), format!("… 另有 {older} 个更早的轮次")));
    }
    let largest = turns.iter().map(|(_, tokens)| *tokens).max().unwrap_or_default();
    for row in &turns {
        screen.say(&line(row, largest));
    }
    screen.say(&sum(live));
    Ok(())
}

/// A row: its name, its share of a whole as a bar, its tokens.
fn line((name, tokens): &Row, whole: usize) -> String {
    let wide = (room(0) / 2).saturating_sub(8).clamp(22, 44);
    let long = room(wide + 3 + NUMBER).min(WIDEST);
    let name = cut(&name.replace('\n', "⏎"), wide);
    format!("{}  {}{:>NUMBER$}", pad(&name, wide), bar(*tokens, whole, long), number(*tokens))
}

/// How full it is, and what that means.
fn sum(live: &LiveSession) -> String {
    let [used, high, window] = [live.context_tokens(), live.high_mark(), live.window()].map(number);
    let en = format!("{used} tokens / high mark {high} / window {window}");
    say(en, format!("{used} 个 token / 高水位 {high} / 窗口 {window}"))
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

/// What is in the window, by part; what of it is free, and what comes beside it.
fn parts(live: &LiveSession) -> Vec<Row> {
    let slots = live.generation().slots();
    let of = |treatment: Treatment| {
        slots
            .iter()
            .filter(|slot| slot.treatment == treatment)
            .map(|slot| slot.tokens)
            .sum::<usize>()
    };
    // Before the first call nothing was sent, the system prompt neither.
    let system = live.history().system_tokens();
    let said = of(Treatment::Verbatim) + since(live, 0..live.history().len());
    let made = [Treatment::Summary, Treatment::Recalled, Treatment::Preview, Treatment::Trimmed];
    let made = made.into_iter().map(|treatment| (treatment.name().to_owned(), of(treatment)));
    let mut parts = vec![(say("tools", "工具定义").to_owned(), live.tool_tokens())];
    parts.push((say("system prompt", "系统提示").to_owned(), system));
    parts.extend(made.filter(|(_, tokens)| *tokens > 0));
    parts.push((say("as it was said", "原样").to_owned(), said.saturating_sub(system)));
    let mut parts: Vec<Row> =
        parts.into_iter().map(|(name, tokens)| (name, live.corrected(tokens))).collect();
    let free = live.window().saturating_sub(live.context_tokens());
    parts.push((say("free", "空闲").to_owned(), free));
    parts.push((say("beside it, for the answer", "另留给回答").to_owned(), live.answer_tokens()));
    parts
}

/// Tokens of those of these messages that have no slot yet: what was said since the last call.
fn since(live: &LiveSession, messages: impl IntoIterator<Item = usize>) -> usize {
    let covered = live.generation().covered();
    let new = messages.into_iter().filter(|at| *at >= covered);
    new.map(|at| live.history().message_tokens(at)).sum()
}

/// What of each of the newest turns is in it, and how many turns there are before them.
fn turns(live: &LiveSession) -> (Vec<Row>, usize) {
    let turns = live.history().turns().len();
    let older = turns.saturating_sub(TURNS);
    ((older..turns).map(|at| turn(live, at)).collect(), older)
}

/// One turn: the first words of it, with the number of the message they stand in.
fn turn(live: &LiveSession, at: usize) -> Row {
    let history = live.history();
    let atoms = history.turn_atoms(at).filter_map(|atom| history.atom(atom));
    let messages: Vec<usize> = atoms.flat_map(|atom| atom.messages.clone()).collect();
    let slots =
        live.generation().slots().iter().filter(|slot| slot.treatment != Treatment::Summary);
    let sent = slots.filter(|slot| slot.sources.iter().any(|source| messages.contains(source)));
    let tokens =
        sent.map(|slot| slot.tokens).sum::<usize>() + since(live, messages.iter().copied());
    let words = messages
        .first()
        .and_then(|&first| history.message(first))
        .map(Message::text)
        .unwrap_or_default();
    let place = messages.first().map_or(0, |first| live.cleared() + *first as u64 + 1);
    (format!("{} {} [{place}] {words}", say("turn", "第"), at + 1), live.corrected(tokens))
}
