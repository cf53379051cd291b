//! Notices about settings and sessions, in the chosen language.

use waterline_agent::Kept;
use waterline_config::Notice;

use super::plain;
use crate::lang::say;

/// A notice about settings, in the chosen language.
pub fn notice(notice: &Notice) -> String {
    let zh = match notice {
        Notice::Narrowed { key, file, wanted, allowed } => {
            format!("{file} 的 {key} 为 {wanted}；以 {allowed} 为准，只有您自己的配置可以放宽")
        }
        Notice::UntrustedModel { key, model } => {
            format!("已忽略 waterline.toml 中的 {key} {model:?}：只有该文件说明其地址")
        }
        Notice::ProjectAddress(address) => {
            let address = plain(address);
            let en = Notice::ProjectAddress(address.clone()).to_string();
            return say(en, format!("此目录的 waterline.toml 可能将对话发送到 {address}"));
        }
        Notice::KeyFromEnvFile(name) => format!("{name} 来自 .env"),
        Notice::UnusedVariable { variable, preset, policy } => {
            format!("{variable} 属于策略 {preset}；在 {policy} 下无效")
        }
        Notice::Fallback { model, why } => {
            format!("配置中的后备模型 {model:?} 不可用，已略过：{why}")
        }
        Notice::Unconfined(why) => format!("此处内核无法隔离命令（{why}）；每条命令执行前都会询问"),
        other => other.to_string(),
    };
    say(notice.to_string(), zh)
}

/// What flags ask for that a session keeps as it is, in the chosen language.
pub fn kept(kept: &Kept) -> String {
    match kept {
        Kept::Prompt => say(
            "--system is for new sessions; this one keeps the prompt it has",
            "--system 只用于新会话；此会话保留原有的提示",
        )
        .to_owned(),
        Kept::Role { own, asked } => say(
            kept.to_string(),
            format!("此会话仍为角色 {own}，保留原有的提示；{asked} 需要新会话"),
        ),
        Kept::PromptInRole(role) => {
            say(kept.to_string(), format!("此会话此后为角色 {role}；保留原有的提示"))
        }
        Kept::Model { before, now } => {
            say(kept.to_string(), format!("此会话之前使用 {before}；此后使用 {now}"))
        }
        other => other.to_string(),
    }
}
