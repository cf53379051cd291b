//! `/memory`: the day's files, searched.

use crate::lang::say;
use anyhow::Result;
use futures_util::future::LocalBoxFuture;

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["memory"],
    takes: "[words]",
    about: (
        "where the memory is, and the newest of it; with words, what is about them",
        "记忆的位置和最新内容；给出词语则搜索",
    ),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Then> {
    let Some(memory) = chat.relay.agent.live().config().memory.clone() else {
        chat.screen.say(say(
            "there is no memory; --memory FOLDER, or memory in the config, names its folder",
            "未启用记忆；用 --memory 目录 或配置中的 memory 指定",
        ));
        return Ok(Then::Stay);
    };
    let words: Vec<String> = rest.split_whitespace().map(str::to_lowercase).collect();
    let is_about = !words.is_empty();
    if !is_about {
        chat.screen.note(&memory.place());
    }
    let look = move || if is_about { memory.find(&words, FOUND) } else { memory.newest(FOUND) };
    let found = tokio::task::spawn_blocking(look).await??;
    if found.is_empty() {
        chat.screen.say(match is_about {
            true => say("nothing about that", "没有相关内容"),
            false => say("nothing is remembered yet", "还没有记忆"),
        });
    }
    found.iter().for_each(|line| chat.screen.say(line));
    Ok(Then::Stay)
}

/// How many lines are shown.
const FOUND: usize = 10;
