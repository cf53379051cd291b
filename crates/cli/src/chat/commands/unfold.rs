//! `/unfold`: shows a call in full.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_agent::tool::Capability;

use super::{Next, Spec};
use crate::chat::Chat;
use crate::show::{lines, plain};
use crate::terminal::{FinishedCall, counts, rows_of, whole};
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["unfold"],
    takes: "[N]",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Next> {
    let number = rest.parse().ok();
    let Some(call) = chat.screen.call(number) else {
        let why = match number {
            Some(number) => text!("unfold-no-such", number = number),
            None => text!("unfold-none"),
        };
        chat.screen.print_line(&why);
        return Ok(Next::Prompt);
    };
    // A long output is an artifact, and the model got a part of it.
    let output = match call.whole.clone() {
        Some(whole) => {
            let bytes = chat.on_log(move |log, _| log.artifact(&whole.artifact)).await?;
            String::from_utf8_lossy(&bytes).into_owned()
        }
        None => call.text.clone(),
    };
    chat.screen.print_styled(&format!("{}\n{}", shown(&call), lines(&output)));
    Ok(Next::Prompt)
}

/// Formats a call with the diffs of the files that it changed.
fn shown(call: &FinishedCall) -> String {
    // The diff of a written file says more than the arguments.
    let mut text = match (call.info.capability, call.changes.as_slice()) {
        (Capability::Write, [_, ..]) => plain(&call.name),
        _ => whole(&call.name, &call.arguments, &call.info, usize::MAX).text,
    };
    for diff in &call.changes {
        let joint = if call.info.capability == Capability::Write { " " } else { "\n" };
        let (rows, hidden) = rows_of(diff, usize::MAX);
        text += &format!("{joint}{} {}{rows}", plain(&diff.path), counts(diff.added, diff.removed));
        if hidden > 0 {
            text += &format!("\n  {}", text!("call-more-lines", count = hidden));
        }
    }
    text
}
