//! Moves the files of a session with its messages, and says what happened to them.

use anyhow::{Result, bail};
use waterline_agent::changes::{DiffKind, FileDiff};
use waterline_log::Session;

use super::{Chat, Choice};
use crate::moved_files::{names, report, shown};
use crate::terminal::{counts, rows_of};
use crate::text;

/// With more conflicts than this, one question is about all of them.
const MAX_QUESTIONS: usize = 5;

/// Maximum number of lines of a diff shown before a question.
const DIFF_LINES: usize = 12;

/// Moves the files after the session was moved. Asks before a change of the user is overwritten;
/// without a terminal the change is kept.
pub(super) async fn follow(chat: &mut Chat) -> Result<()> {
    let conflicts = chat.runner.agent.file_conflicts().await?;
    let overwrite = match chat.input.is_terminal() {
        true => ask(chat, conflicts),
        false => Vec::new(),
    };
    let moved = chat.runner.agent.move_files(overwrite).await?;
    report(&moved).iter().for_each(|line| chat.screen.print_line(line));
    Ok(())
}

/// Prepares a move of the session, and returns the session as it is before the move.
pub(super) async fn begin(chat: &mut Chat) -> Result<Session> {
    chat.runner.agent.begin_move().await?;
    chat.on_log(|log, id| log.session(id)).await
}

/// Opens the session after it was moved in the log, and checks that its files can follow. If either
/// fails, the move is taken back: a command that fails has no effect.
pub(super) async fn open_moved(chat: &mut Chat, before: Session) -> Result<()> {
    if let Err(error) = chat.reopen().await {
        // The chat still has the session as it was.
        take_back(chat, before).await?;
        return Err(error);
    }
    if let Err(error) = check(chat).await {
        take_back(chat, before).await?;
        chat.reopen().await?;
        return Err(error);
    }
    Ok(())
}

async fn take_back(chat: &Chat, before: Session) -> Result<()> {
    chat.on_log(move |log, _| log.take_back(&before).map(drop)).await
}

/// Checks that the chat may change the files that follow the session.
async fn check(chat: &Chat) -> Result<()> {
    let unreachable = chat.runner.agent.unreachable_files().await?;
    if unreachable.is_empty() {
        return Ok(());
    }
    bail!(text!("files-unreachable", paths = names(unreachable.iter())))
}

/// Finishes a move of the files that was interrupted.
pub(super) async fn finish(chat: &mut Chat) -> Result<()> {
    if chat.runner.agent.local_state()?.files_at.is_some() {
        follow(chat).await?;
    }
    Ok(())
}

/// Returns the files whose changes the user agrees to overwrite. `conflicts` is what the move would
/// do to them.
fn ask(chat: &mut Chat, conflicts: Vec<FileDiff>) -> Vec<String> {
    let mut paths: Vec<String> = conflicts.iter().map(|diff| diff.path.clone()).collect();
    if conflicts.len() > MAX_QUESTIONS {
        let question = text!("files-overwrite-all", paths = names(paths.iter()));
        return if chat.confirm(&question) { paths } else { Vec::new() };
    }
    let mut agreed = Vec::new();
    for (at, diff) in conflicts.iter().enumerate() {
        show(chat, diff);
        match chat.choose(&question(diff), at + 1 < conflicts.len()) {
            Choice::Yes => agreed.push(diff.path.clone()),
            Choice::No => {}
            Choice::All => {
                agreed.extend(paths.split_off(at));
                break;
            }
        }
    }
    agreed
}

/// Shows what a move of the session would do to a file.
fn show(chat: &Chat, diff: &FileDiff) {
    let (rows, hidden) = rows_of(diff, DIFF_LINES);
    if rows.is_empty() {
        return;
    }
    let counts = counts(diff.added, diff.removed);
    chat.screen.print_styled(&format!("{} {counts}{rows}", shown(&diff.path)));
    if hidden > 0 {
        chat.screen.print_note(&format!("  {}", text!("call-more-lines", count = hidden)));
    }
}

fn question(diff: &FileDiff) -> String {
    let path = shown(&diff.path);
    match diff.kind {
        DiffKind::Deleted => text!("files-delete", path = path),
        _ => text!("files-overwrite", path = path),
    }
}
