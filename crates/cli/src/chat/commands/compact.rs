//! `/compact`: what a fold would do, and then the fold.

use crate::lang::say;
use crate::show::{call_note, cut, number, room};
use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline::plan::{Action, Plan, Slot, Treatment};
use waterline_session::LiveSession;

use super::note::notes;
use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["compact"],
    takes: "[focus]",
    about: (
        "fold now: shows what would go and what would stay, and asks",
        "立即折叠：显示将去除与保留的内容并询问",
    ),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Then> {
    let focus = (!rest.is_empty()).then_some(rest);
    let plan = chat.relay.agent.live_mut().preview_fold(REASON, focus).await?;
    let Action::Fold { from, .. } = &plan.action else {
        chat.screen.say(say("there is nothing to fold", "没有可折叠的内容"));
        return Ok(Then::Stay);
    };
    preview(chat, &plan, *from);
    if chat.agrees(say("fold?", "折叠？")) {
        let screen = chat.screen.clone();
        let folded = chat.relay.agent.live_mut().fold(REASON, focus, |event| {
            if let Some(text) = call_note(&event) {
                screen.note(&text);
            }
        });
        if !folded.await? {
            chat.screen.say(say("there is nothing to fold", "没有可折叠的内容"));
        }
    }
    Ok(Then::Stay)
}

/// Why the log says it was folded.
const REASON: &str = "the user asked for it";

/// How many slots are shown.
const SHOWN: usize = 12;

/// How many lines are shown of what the model will read instead.
const LINES: usize = 15;

/// What the fold would do: the sum, what becomes of which messages, and what the model will read
/// instead of them.
fn preview(chat: &Chat, plan: &Plan, from: usize) {
    let live = chat.relay.agent.live();
    chat.screen.say(&sum(live, plan, from));
    let changed = || plan.slots.iter().filter(|slot| slot.treatment != Treatment::Verbatim);
    for slot in changed().take(SHOWN) {
        let line =
            format!("  {}: {} – {}", span(&places(live, slot)), slot.treatment.name(), slot.reason);
        chat.screen.note(&cut(&line, room(1)));
    }
    let more = changed().count().saturating_sub(SHOWN);
    if more > 0 {
        chat.screen.note(&say(format!("  … {more} more"), format!("  … 另有 {more} 项")));
    }
    for note in notes(&plan.slots, live.history()) {
        chat.screen.say(say("in their place the model reads:", "模型将读到："));
        excerpt(chat, &note);
    }
    if plan.wanted.is_some() {
        chat.screen
            .note(say("a model is asked for a summary to put in its place", "将请模型写摘要代替"));
    }
}

/// The first lines of a note, and how many more there are.
fn excerpt(chat: &Chat, note: &str) {
    for line in note.lines().take(LINES) {
        chat.screen.note(&cut(&format!("  {line}"), room(1)));
    }
    let more = note.lines().count().saturating_sub(LINES);
    if more > 0 {
        let en = format!(
            "  … {more} more lines; then /context summary shows all, /context why N where a message went"
        );
        let zh = format!(
            "  … 另有 {more} 行；折叠后 /context summary 显示全部，/context why N 说明某条消息的去向"
        );
        chat.screen.note(&say(en, zh));
    }
}

/// The sum of a fold, on the scale of the gauge.
fn sum(live: &LiveSession, plan: &Plan, from: usize) -> String {
    let count = |fits: fn(&Slot) -> bool| {
        plan.slots.iter().filter(|slot| fits(slot)).map(|slot| slot.sources.len()).sum::<usize>()
    };
    let kept = count(|slot| slot.treatment == Treatment::Verbatim);
    let short = count(|slot| matches!(slot.treatment, Treatment::Trimmed | Treatment::Preview));
    let gone = count(|slot| !slot.treatment.is_sent());
    let (before, after) = (number(live.corrected(from)), number(plan.tokens.after));
    say(
        format!(
            "{before} → {after} tokens: {kept} messages stay as they are, {short} are shortened, {gone} are summed up; nothing is deleted"
        ),
        format!(
            "{before} → {after} 个 token：{kept} 条消息原样保留，{short} 条缩短，{gone} 条被总结；不会删除任何内容"
        ),
    )
}

/// The messages of a slot, by their places in the session.
fn places(live: &LiveSession, slot: &Slot) -> Vec<usize> {
    let cleared = usize::try_from(live.cleared()).unwrap_or_default();
    slot.sources.iter().map(|source| cleared + source + 1).collect()
}

/// Places as a person writes them: `3`, `3–9`, `3–9, 12`.
fn span(places: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &place in places {
        match runs.last_mut().filter(|(_, end)| *end + 1 == place) {
            Some((_, end)) => *end = place,
            None => runs.push((place, place)),
        }
    }
    let run = |(first, last): &(usize, usize)| match first == last {
        true => first.to_string(),
        false => format!("{first}–{last}"),
    };
    let shown: Vec<String> = runs.iter().map(run).collect();
    if shown.is_empty() { "–".to_owned() } else { shown.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::span;

    #[test]
    fn what_is_not_between_two_messages_is_not_said_to_be() {
        assert_eq!(span(&[3, 4, 5, 9, 11, 12]), "3–5, 9, 11–12");
        assert_eq!((span(&[7]).as_str(), span(&[]).as_str()), ("7", "–"));
    }
}
