//! Shows what is in the window, by part and by turn, as bars. Tokens are counted as in the prompt's
//! gauge: as the provider counts them.

use anyhow::Result;
use waterline::history::History;
use waterline::message::{Message, Role};
use waterline::plan::Treatment;
use waterline_session::LiveSession;

use crate::chat::Chat;
use crate::show::{bar, number, one_line, pad, room, size, treatment as treatment_label, truncate};
use crate::text;

/// The number of turns shown, the newest.
const TURNS: usize = 20;

/// The width of a number with the gap before it.
const NUMBER: usize = 10;

/// The largest width of a bar: a longer one shows no more.
const MAX_BAR: usize = 40;

/// A label and its tokens.
type Row = (String, usize);

pub(super) async fn show(chat: &mut Chat) -> Result<()> {
    let screen = chat.screen.clone();
    let instructions = chat.runner.agent.state()?.instructions;
    let live = chat.runner.agent.live_mut();
    live.whole().await?;
    screen.print_line(&counts(live.history()));
    for row in &parts(live) {
        screen.print_line(&line(row, live.window()));
    }
    if !instructions.is_empty() {
        let files = instructions.into_keys().collect::<Vec<_>>().join(", ");
        screen.print_note(&text!("context-instructions", files = files));
    }
    let (turns, older) = turns(live);
    if older > 0 {
        screen.print_note(&text!("context-older-turns", count = older));
    }
    let largest = turns.iter().map(|(_, tokens)| *tokens).max().unwrap_or_default();
    for row in &turns {
        screen.print_line(&line(row, largest));
    }
    screen.print_line(&total(live));
    Ok(())
}

/// Formats a row: its label, its share of the whole as a bar, its tokens.
fn line((label, tokens): &Row, whole: usize) -> String {
    let columns = size().map_or_else(|| room(0), |(columns, _)| columns.min(room(0)));
    let label_width = (columns / 2).saturating_sub(8).clamp(12, 44);
    let bar_width = columns.saturating_sub(label_width + 3 + NUMBER).min(MAX_BAR);
    let label = pad(&truncate(&label.replace('\n', "⏎"), label_width), label_width);
    format!("{label}  {}{:>NUMBER$}", bar(*tokens, whole, bar_width), number(*tokens))
}

fn total(live: &LiveSession) -> String {
    let used = live.context_tokens();
    let high = live.high_mark();
    let window = live.window();
    let answer = live.answer_tokens();
    text!("context-total", used = used, high = high, window = window, answer = answer)
}

/// Formats the number of messages, by role, and their length. The system prompt is not counted.
fn counts(history: &History) -> String {
    let numbered = || (0..history.len()).filter(|&at| history.number(at).is_some());
    let messages = || numbered().filter_map(|at| history.message(at));
    let count = |role: Role| messages().filter(|message| message.role == role).count();
    let length = |message: &Message| {
        let results: usize = message.results().map(|result| result.text().chars().count()).sum();
        message.text().chars().count() + results
    };
    let user = count(Role::User);
    let assistant = count(Role::Assistant);
    let tool = count(Role::Tool);
    text!(
        "context-messages",
        count = numbered().count(),
        user = user,
        assistant = assistant,
        tool = tool,
        system = count(Role::System),
        characters = messages().map(length).sum::<usize>(),
    )
}

/// Returns what is in the window by part, what is free, and what is reserved for the answer.
fn parts(live: &LiveSession) -> Vec<Row> {
    let slots = live.generation().slots();
    let of = |treatment: Treatment| {
        slots
            .iter()
            .filter(|slot| slot.treatment == treatment)
            .map(|slot| slot.tokens)
            .sum::<usize>()
    };
    // Before the first call nothing was sent, not even the system prompt.
    let system = live.history().system_tokens();
    let verbatim = of(Treatment::Verbatim) + unsent(live, 0..live.history().len());
    let changed = [Treatment::Summary, Treatment::Recalled, Treatment::Preview, Treatment::Trimmed];
    let changed = changed.into_iter().map(|treatment| (treatment_label(treatment), of(treatment)));
    let mut parts = vec![(text!("context-tools"), live.tool_tokens())];
    parts.push((text!("context-system-prompt"), system));
    parts.extend(changed.filter(|(_, tokens)| *tokens > 0));
    parts.push((text!("context-verbatim"), verbatim.saturating_sub(system)));
    let mut parts: Vec<Row> =
        parts.into_iter().map(|(label, tokens)| (label, live.corrected(tokens))).collect();
    let free = live.window().saturating_sub(live.context_tokens());
    parts.push((text!("context-free"), free));
    parts.push((text!("context-answer"), live.answer_tokens()));
    parts
}

/// Returns the tokens of those messages that have no slot yet, because they came after the last
/// call.
fn unsent(live: &LiveSession, messages: impl IntoIterator<Item = usize>) -> usize {
    let covered = live.generation().covered();
    let new = messages.into_iter().filter(|at| *at >= covered);
    new.map(|at| live.history().message_tokens(at)).sum()
}

/// Returns the tokens of the newest turns, and the number of older turns.
fn turns(live: &LiveSession) -> (Vec<Row>, usize) {
    let turns = live.history().turns().len();
    let older = turns.saturating_sub(TURNS);
    ((older..turns).map(|at| turn(live, at)).collect(), older)
}

/// Returns one turn, labeled with its first message and the number of that message.
fn turn(live: &LiveSession, at: usize) -> Row {
    let history = live.history();
    let atoms = history.turn_atoms(at).filter_map(|atom| history.atom(atom));
    let messages: Vec<usize> = atoms.flat_map(|atom| atom.messages.clone()).collect();
    let slots =
        live.generation().slots().iter().filter(|slot| slot.treatment != Treatment::Summary);
    let sent = slots.filter(|slot| slot.sources.iter().any(|source| messages.contains(source)));
    let tokens =
        sent.map(|slot| slot.tokens).sum::<usize>() + unsent(live, messages.iter().copied());
    let first = messages.first().and_then(|&first| history.message(first));
    let text = first.map(one_line).unwrap_or_default();
    let number = messages.first().and_then(|&first| history.number(first)).unwrap_or_default();
    let label = text!("context-turn", turn = at + 1, message = number.to_string(), text = text);
    (label, live.corrected(tokens))
}
