//! `/undo`: goes back by one turn or more.

use crate::show::{one_line, room, truncate};
use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_log::RewindTarget;
use waterline_provider::wire::parse_stored;

use super::{Next, Spec};
use crate::chat::{Chat, files};
use crate::text;

pub(super) const SPEC: Spec = Spec {
    // `waterline sessions` calls it rewind.
    names: &["undo", "rewind"],
    takes: "[N]",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Next> {
    back(chat, rest).await?;
    Ok(Next::Prompt)
}

/// Goes back by this number of turns, one by default, and shows what was undone.
pub(super) async fn back(chat: &mut Chat, turns: &str) -> Result<()> {
    let turns = turns.parse::<u64>().unwrap_or(1).max(1);
    let before = chat.session().tip;
    let count_before = super::current::count(chat.runner.agent.live());
    let moved_from = files::begin(chat).await?;
    let rewound = chat.on_log(move |log, id| {
        let after = log.rewind(id, RewindTarget::Turns(turns))?.tip;
        let first = log.entries_in(before, after.position()..after.position() + 1)?.pop();
        Ok(first)
    });
    let first = rewound.await?;
    files::open_moved(chat, moved_from).await?;
    let count_after = super::current::count(chat.runner.agent.live());
    chat.screen.print_line(&text!("undo-count", before = count_before, after = count_after));
    if let Some(first) = first {
        let message = one_line(&first.message(parse_stored));
        let undone = match turns {
            1 => text!("undo-turn", message = message),
            _ => text!("undo-turns", message = message),
        };
        chat.screen.print_line(&truncate(&undone, room(1)));
    }
    files::follow(chat).await?;
    chat.screen.print_note(&text!("undo-note"));
    Ok(())
}
