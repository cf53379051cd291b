//! Shows what is in the window, by part and by turn, as bars. Tokens are counted as in the prompt's
//! gauge: as the provider counts them.

use anyhow::Result;
use waterline::history::History;
use waterline::message::{Message, Role};
use waterline::plan::{CountLimit, Treatment};
use waterline_session::LiveSession;

use crate::chat::Chat;
use crate::lang::list;
use crate::show::{bar, number, one_line, pad, room, size, treatment as treatment_label, truncate};
use crate::terminal::Screen;
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
    chat.runner.agent.live_mut().whole().await?;
    let agent = &chat.runner.agent;
    let live = agent.live();
    let used = agent.context_tokens().await?;
    let mut parts = parts(live, agent.system_tokens().await?);
    let (mut turns, older) = turns(live);
    let counted = sum(&parts);
    scale(&mut turns, counted, used);
    scale(&mut parts, counted, used);
    parts.push((text!("context-free"), live.window().saturating_sub(used)));
    parts.push((text!("context-answer"), live.answer_tokens()));
    show_turns(&screen, &turns, older);
    // The totals are last: in a small window the turns scroll away.
    screen.print_line(&counts(live.history()));
    for row in &parts {
        screen.print_line(&line(row, live.window()));
    }
    if !instructions.is_empty() {
        let files = list(&instructions.into_keys().collect::<Vec<_>>());
        screen.print_note(&text!("context-instructions", files = files));
    }
    if let Some(limit) = limit(live) {
        screen.print_line(&limit);
    }
    screen.print_line(&total(live, used));
    Ok(())
}

/// Shows the tokens of the newest turns.
fn show_turns(screen: &Screen, turns: &[Row], older: usize) {
    if older > 0 {
        screen.print_note(&text!("context-older-turns", count = older));
    }
    let largest = turns.iter().map(|(_, tokens)| *tokens).max().unwrap_or_default();
    for row in turns {
        screen.print_line(&line(row, largest));
    }
}

fn sum(rows: &[Row]) -> usize {
    rows.iter().map(|(_, tokens)| tokens).sum()
}

/// Scales rows from the tokens of the local counter to those of the provider, so that they add up.
/// The whole context has `counted` of the former and `used` of the latter; the rows are its end.
fn scale(rows: &mut [Row], counted: usize, used: usize) {
    let scaled = |tokens: usize| (tokens * used).checked_div(counted).unwrap_or_default();
    let mut upto = counted.saturating_sub(sum(rows));
    for (_, tokens) in rows {
        let from = upto;
        upto += *tokens;
        *tokens = scaled(upto) - scaled(from);
    }
}

/// Formats a row: its label, its share of the whole as a bar, its tokens.
fn line((label, tokens): &Row, whole: usize) -> String {
    let columns = size().map_or_else(|| room(0), |(columns, _)| columns.min(room(0)));
    let label_width = (columns / 2).saturating_sub(8).clamp(12, 44);
    let bar_width = columns.saturating_sub(label_width + 3 + NUMBER).min(MAX_BAR);
    let label = pad(&truncate(&label.replace('\n', "⏎"), label_width), label_width);
    format!("{label}  {}{:>NUMBER$}", bar(*tokens, whole, bar_width), number(*tokens))
}

/// Formats the number of messages or turns that the policy keeps, if it keeps a number of them.
fn limit(live: &LiveSession) -> Option<String> {
    let shown = live.generation();
    match live.policy().limit()? {
        CountLimit::Messages(max) => {
            Some(text!("context-limit-messages", count = shown.messages(), max = max))
        }
        CountLimit::Turns(max) => {
            Some(text!("context-limit-turns", count = shown.turns(), max = max))
        }
        _ => None,
    }
}

fn total(live: &LiveSession, used: usize) -> String {
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

/// Returns the characters of a message: its text, its calls and its results.
fn length(message: &Message) -> usize {
    let results = message.results().map(|result| result.text().chars().count());
    let calls = message.calls().map(|call| call.name.chars().chain(call.arguments.chars()).count());
    message.text().chars().count() + results.sum::<usize>() + calls.sum::<usize>()
}

/// Returns what is in the window by part, as the local counter counts. `system` are the tokens of
/// the system prompt.
fn parts(live: &LiveSession, system: usize) -> Vec<Row> {
    let slots = live.generation().slots();
    let of = |treatment: Treatment| {
        slots
            .iter()
            .filter(|slot| slot.treatment == treatment)
            .map(|slot| slot.tokens)
            .sum::<usize>()
    };
    // Before the first call nothing was sent, not even the system prompt.
    let verbatim = of(Treatment::Verbatim) + unsent(live, 0..live.history().len());
    let messages = verbatim.saturating_sub(live.history().system_tokens());
    let changed = [Treatment::Summary, Treatment::Recalled, Treatment::Preview, Treatment::Trimmed]
        .into_iter()
        .map(|treatment| (treatment_label(treatment), of(treatment)));
    let mut parts = vec![
        (text!("context-tools"), live.tool_tokens()),
        (text!("context-system-prompt"), system),
    ];
    parts.extend(changed.filter(|(_, tokens)| *tokens > 0));
    parts.push((text!("context-verbatim"), messages));
    parts
}

/// Returns the tokens of those messages that have no slot yet, because they came after the last
/// call.
fn unsent(live: &LiveSession, messages: impl IntoIterator<Item = usize>) -> usize {
    let covered = live.generation().covered();
    let new = messages.into_iter().filter(|at| *at >= covered);
    new.map(|at| live.history().message_tokens(at)).sum()
}

/// Returns the tokens of the newest turns, as the local counter counts, and the number of older
/// turns.
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
    (label, tokens)
}

#[cfg(test)]
mod tests {
    use waterline::message::ToolCall;

    use super::*;

    #[test]
    fn scaled_rows_add_up() {
        let row = |tokens| (String::new(), tokens);
        let mut parts = [row(3_921), row(0), row(1_000), row(5_678)];
        let mut turns = [row(2_000), row(3_678)];
        scale(&mut parts, 10_599, 11_786);
        scale(&mut turns, 10_599, 11_786);
        let [_, (_, none), _, (_, messages)] = &parts;
        assert_eq!((sum(&parts), *none, sum(&turns)), (11_786, 0, *messages));
    }

    #[test]
    fn calls_and_results_have_characters_too() {
        let call = ToolCall { id: "1".into(), name: "ls".into(), arguments: "{\"a\":1}".into() };
        assert_eq!(length(&Message::assistant_with_calls("look", [call])), 4 + 2 + 7);
        assert_eq!(length(&Message::tool_result("1", "three")), 5);
    }
}
