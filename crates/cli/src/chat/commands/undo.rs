//! `/undo`: the last turns, as if they had not been.

use crate::lang::say;
use crate::show::{cut, number, one_line, room};
use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_log::To;
use waterline_provider::wire::parse_stored;

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["undo"],
    takes: "[N]",
    about: (
        "take the last turn back, or the last N; /redo brings it again",
        "撤销上一轮或最近 N 轮；/redo 可恢复",
    ),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Then> {
    back(chat, rest).await?;
    Ok(Then::Stay)
}

/// Goes back by as many turns as are named, by one where none are; says what was taken back, and
/// what was not.
pub(super) async fn back(chat: &mut Chat, turns: &str) -> Result<()> {
    let turns = turns.parse::<u64>().unwrap_or(1).max(1);
    let before = chat.session().tip;
    let gone = chat.on_log(move |log, id| {
        let after = log.rewind(id, To::Turns(turns))?.tip;
        let first = log.entries_in(before, after.position()..after.position() + 1)?.pop();
        Ok((after, first))
    });
    let (after, first) = gone.await?;
    chat.reopen().await?;
    chat.screen.say(&moved(before.position(), after.position()));
    if let Some(first) = first {
        let words = one_line(&first.message(parse_stored));
        let (en, zh) = match turns {
            1 => ("taken back", "已撤销"),
            _ => ("taken back, from here on", "已撤销，自此起"),
        };
        chat.screen.say(&cut(&format!("{}: {words}", say(en, zh)), room(1)));
    }
    chat.screen.note(say(
        "files in the workspace stay as they are; /redo brings it again",
        "工作区中的文件不受影响；/redo 可恢复",
    ));
    Ok(())
}

/// From so many messages to so many.
pub(super) fn moved(before: u64, after: u64) -> String {
    let [before, after] =
        [before, after].map(|count| number(usize::try_from(count).unwrap_or(usize::MAX)));
    format!("{before} → {after} {}", say("messages", "条消息"))
}
