//! `/branches`: lists the branches of the session, or switches to one.

use crate::show::{self, one_line, pad, room, truncate};
use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_log::{Branch, Entry, Log, Numbering, Session};
use waterline_provider::wire::parse_stored;

use super::{Next, Spec};
use crate::chat::{Chat, files};
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["branches"],
    takes: "[ID]",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Next> {
    if !rest.is_empty() && !switch(chat, rest).await? {
        return Ok(Next::Prompt);
    }
    for (branch, newest, numbering) in &chat.on_log(branches).await? {
        chat.screen.print_line(&line(branch, newest.as_ref(), numbering));
    }
    Ok(Next::Prompt)
}

/// Switches to the branch whose id has this prefix. Returns whether exactly one matches.
async fn switch(chat: &mut Chat, prefix: &str) -> Result<bool> {
    let branches = chat.on_log(|log, id| log.branches(id)).await?;
    let matches = |branch: &&Branch| branch.id.is_some_and(|id| id.to_string().starts_with(prefix));
    let mut found = branches.iter().filter(matches);
    let (Some(branch), None) = (found.next(), found.next()) else {
        chat.screen.print_line(&text!("branches-no-match", prefix = prefix));
        return Ok(false);
    };
    let Some(to) = branch.id else { return Ok(false) };
    let moved_from = files::begin(chat).await?;
    chat.on_log(move |log, id| log.switch(id, to)).await?;
    files::open_moved(chat, moved_from).await?;
    files::follow(chat).await?;
    Ok(true)
}

/// A branch with its newest message and its numbering.
type Listed = (Branch, Option<Entry>, Numbering);

fn branches(log: &Log, id: &str) -> waterline_log::Result<Vec<Listed>> {
    let session = log.session(id)?;
    let newest = |branch: Branch| -> waterline_log::Result<_> {
        let end = branch.tip.position();
        let entry = log.entries_in(branch.tip, end.saturating_sub(1)..end)?.pop();
        let numbering = log.numbering(&Session { tip: branch.tip, ..session.clone() })?;
        Ok((branch, entry, numbering))
    };
    log.branches(id)?.into_iter().map(newest).collect()
}

/// Formats a branch on one line: its length, and its newest message.
fn line(branch: &Branch, newest: Option<&Entry>, numbering: &Numbering) -> String {
    let mark = if branch.is_current { "*" } else { " " };
    let id = branch.id.map(|id| id.short()).unwrap_or_default();
    let count = numbering.count(branch.tip.position());
    let shared = numbering.count(branch.shared);
    let size = text!("branches-size", count = count, shared = shared);
    let message = newest.map(|entry| entry.message(parse_stored));
    let newest = message.map(|message| match branch.is_side_branch {
        true => text!("branches-interrupted", message = one_line(&message)),
        false => show::role_line(message.role, &one_line(&message)),
    });
    truncate(&format!("{mark} {}  {size}  {}", pad(&id, 12), newest.unwrap_or_default()), room(1))
}
