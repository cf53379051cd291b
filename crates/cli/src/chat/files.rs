//! Moves the files of a session with its messages, and says what happened to them.

use anyhow::Result;

use super::Chat;
use crate::moved_files::{names, report, shown};
use crate::text;

/// With more conflicts than this, one question is about all of them.
const MAX_QUESTIONS: usize = 5;

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

/// Finishes a move of the files that was interrupted.
pub(super) async fn finish(chat: &mut Chat) -> Result<()> {
    if chat.runner.agent.local()?.files_at.is_some() {
        follow(chat).await?;
    }
    Ok(())
}

/// Returns the files whose changes the user agrees to overwrite.
fn ask(chat: &mut Chat, conflicts: Vec<String>) -> Vec<String> {
    if conflicts.len() > MAX_QUESTIONS {
        let question = text!("files-overwrite-all", paths = names(conflicts.iter()));
        return if chat.confirm(&question) { conflicts } else { Vec::new() };
    }
    let agrees = |path: &String| chat.confirm(&text!("files-overwrite", path = shown(path)));
    conflicts.into_iter().filter(agrees).collect()
}
