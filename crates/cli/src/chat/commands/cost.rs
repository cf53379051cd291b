//! `/cost`.

use crate::chat::gauge::price;
use crate::lang::say;
use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_log::Usage;

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["cost"],
    takes: "",
    about: ("what this session took", "本会话的用量"),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, _: &str) -> Result<Then> {
    let calls = chat.on_log(|log, id| log.usage(id)).await?;
    let sum = |of: fn(&Usage) -> u64| calls.iter().map(of).sum::<u64>();
    let (fresh, cached, written, output) =
        (sum(|call| call.input), sum(|call| call.cache_read), sum(|call| call.cache_write), sum(|call| call.output));
    let share = (cached * 100).checked_div(fresh + cached + written).unwrap_or(0);
    chat.screen.say(&format!("{}: {}", say("calls", "调用"), calls.len()));
    chat.screen.say(&format!(
        "{}: {} ({share}% {})",
        say("prompt tokens", "提示 token"),
        fresh + cached + written,
        say("from the cache", "来自缓存")
    ));
    chat.screen.say(&format!("{}: {output}", say("answer tokens", "回答 token")));
    let price = price(&calls).unwrap_or_else(|| {
        say("not known; models.NAME.price in the config says it", "未知；可在配置 models.名称.price 中设置").to_owned()
    });
    chat.screen.say(&format!("{}: {price}", say("price", "费用")));
    Ok(Then::Stay)
}
