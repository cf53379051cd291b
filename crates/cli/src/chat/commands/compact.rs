//! `/compact`: shows what a fold would do, asks, and folds.

use crate::show::{self, call_note, room, truncate};
use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline::plan::{Action, Plan, Slot, Treatment};
use waterline::reason::Reason;
use waterline_session::LiveSession;

use super::summaries::summaries;
use super::{Next, Spec};
use crate::chat::Chat;
use crate::lang::list;
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["compact"],
    takes: "[FOCUS]",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Next> {
    let focus = (!rest.is_empty()).then_some(rest);
    let plan = chat.runner.agent.live_mut().preview_fold(Reason::Requested, focus).await?;
    let Action::Fold { from, .. } = &plan.action else {
        chat.screen.print_line(&text!("compact-nothing"));
        return Ok(Next::Prompt);
    };
    let before = chat.runner.agent.live().corrected(*from);
    let freed = before.saturating_sub(plan.tokens.context);
    // With a focus, the user wants a summary, however little it frees.
    if focus.is_none() && freed < before / WORTHWHILE {
        chat.screen.print_line(&text!("compact-too-little", freed = freed, before = before));
        return Ok(Next::Prompt);
    }
    preview(chat, &plan, *from);
    if chat.confirm(&text!("compact-question")) {
        let screen = chat.screen.clone();
        let folded = chat.runner.agent.live_mut().fold(Reason::Requested, focus, |event| {
            if let Some(text) = call_note(&event) {
                screen.print_note(&text);
            }
        });
        if !folded.await? {
            chat.screen.print_line(&text!("compact-nothing"));
        }
    } else {
        chat.screen.print_line(&text!("compact-declined"));
    }
    Ok(Next::Prompt)
}

/// A fold that frees less than this part of the context is not worth the lost messages.
const WORTHWHILE: usize = 20;

/// The number of slots shown.
const SHOWN: usize = 12;

/// The number of lines shown of each summary.
const LINES: usize = 15;

/// Shows what the fold would do: the totals, the treatment of each message, and the summaries.
fn preview(chat: &Chat, plan: &Plan, from: usize) {
    let live = chat.runner.agent.live();
    chat.screen.print_line(&totals(live, plan, from));
    let changed = || plan.slots.iter().filter(|slot| slot.treatment != Treatment::Verbatim);
    for slot in changed().take(SHOWN) {
        let line = text!(
            "compact-row",
            messages = ranges(&numbers(live, slot)),
            treatment = show::treatment(slot.treatment),
            reason = show::reasons(&slot.reasons)
        );
        chat.screen.print_note(&truncate(&format!("  {line}"), room(1)));
    }
    let more = changed().count().saturating_sub(SHOWN);
    if more > 0 {
        chat.screen.print_note(&format!("  {}", text!("compact-more-slots", count = more)));
    }
    let summaries = summaries(&plan.slots, live.history());
    if !summaries.is_empty() {
        chat.screen.print_line(&text!("compact-replacement"));
    }
    summaries.iter().for_each(|summary| excerpt(chat, summary));
    if plan.wanted.is_some() {
        chat.screen.print_note(&text!("compact-summary-by-model"));
    }
}

/// Shows the first lines of a summary, and how many more there are.
fn excerpt(chat: &Chat, summary: &str) {
    for line in summary.lines().take(LINES) {
        chat.screen.print_note(&truncate(&format!("  {line}"), room(1)));
    }
    let more = summary.lines().count().saturating_sub(LINES);
    if more > 0 {
        chat.screen.print_note(&format!("  {}", text!("compact-more-lines", count = more)));
    }
}

/// Formats the totals of a fold; tokens are counted as in the prompt's gauge.
fn totals(live: &LiveSession, plan: &Plan, from: usize) -> String {
    let count = |matches: fn(&Slot) -> bool| {
        let slots = plan.slots.iter().filter(|slot| matches(slot));
        slots.map(|slot| numbers(live, slot).len()).sum::<usize>()
    };
    let kept = count(|slot| slot.treatment == Treatment::Verbatim);
    let shortened = count(|slot| matches!(slot.treatment, Treatment::Trimmed | Treatment::Preview));
    let omitted = count(|slot| !slot.treatment.is_sent());
    let before = live.corrected(from);
    text!(
        "compact-totals",
        before = before,
        after = plan.tokens.context,
        kept = kept,
        shortened = shortened,
        omitted = omitted,
    )
}

/// Returns the numbers of a slot's messages.
fn numbers(live: &LiveSession, slot: &Slot) -> Vec<usize> {
    slot.sources.iter().filter_map(|&source| live.history().number(source)).collect()
}

/// Formats numbers as ranges: `3`, `3–9`, `3–9, 12`.
fn ranges(numbers: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &number in numbers {
        match runs.last_mut().filter(|(_, end)| *end + 1 == number) {
            Some((_, end)) => *end = number,
            None => runs.push((number, number)),
        }
    }
    let run = |(first, last): &(usize, usize)| match first == last {
        true => first.to_string(),
        false => format!("{first}–{last}"),
    };
    let shown: Vec<String> = runs.iter().map(run).collect();
    if shown.is_empty() { "–".to_owned() } else { list(&shown) }
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn ranges_join_only_consecutive_numbers() {
        assert_eq!(ranges(&[3, 4, 5, 9, 11, 12]), "3–5, 9, 11–12");
        assert_eq!(ranges(&[7]), "7");
        assert_eq!(ranges(&[]), "–");
    }
}
