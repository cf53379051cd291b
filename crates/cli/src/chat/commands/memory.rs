//! `/memory`: the day's files, searched.

use crate::lang::say;
use anyhow::Result;
use futures_util::future::LocalBoxFuture;

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["memory"],
    takes: "[words]",
    about: ("what the memory holds; with words, what is about them", "记忆内容；给出词语则搜索"),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Then> {
    let Some(memory) = chat.relay.agent.live().setup().memory.clone() else {
        chat.screen.say(say(
            "there is no memory; --memory FOLDER, or memory in the config, names its folder",
            "未启用记忆；用 --memory 目录 或配置中的 memory 指定",
        ));
        return Ok(Then::Stay);
    };
    let words: Vec<String> = rest.split_whitespace().map(str::to_lowercase).collect();
    if words.is_empty() {
        chat.screen.say(&format!("{memory:?}"));
        return Ok(Then::Stay);
    }
    let found = tokio::task::spawn_blocking(move || memory.find(&words, FOUND)).await??;
    if found.is_empty() {
        chat.screen.say(say("nothing about that", "没有相关内容"));
    }
    found.iter().for_each(|line| chat.screen.say(line));
    Ok(Then::Stay)
}

/// How many passages are shown.
const FOUND: usize = 10;
