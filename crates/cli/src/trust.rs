//! Asks, once, whether the conversation may be sent to the addresses that the `waterline.toml` of a
//! directory names.

use std::io::{IsTerminal, Write};

use anyhow::{Context, Result, bail};
use waterline_agent::ApprovalReply;
use waterline_config::{Config, Notice, trust};

use crate::lang::say;
use crate::show::{notice, plain};
use crate::terminal::forget_typed;

fn sends(addresses: &str) -> String {
    notice(&Notice::ProjectAddress(addresses.to_owned()))
}

/// Addresses for a person, separated by commas.
pub fn listed(addresses: &[&str]) -> String {
    addresses.iter().map(|address| plain(address)).collect::<Vec<_>>().join(", ")
}

/// Makes sure that each address that comes with the directory is approved before anything is sent.
/// `is_trusted` approves them for this run; where nobody can be asked, they are refused.
pub fn check(config: &Config, is_trusted: bool, may_ask: bool) -> Result<()> {
    if is_trusted {
        return Ok(());
    }
    let new = trust::unapproved(config)?;
    if new.is_empty() {
        return Ok(());
    }
    let shown = listed(&new);
    if !(may_ask && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        let how = say(
            "nobody agreed to that; start it in a terminal to be asked, or agree for this run with --trust-project",
            "尚未有人同意；请在终端中启动以确认，或用 --trust-project 仅为本次同意",
        );
        bail!("{}: {how}", sends(&shown));
    }
    if !agrees(&shown)? {
        bail!(say(
            "not agreed to; take the address out of waterline.toml, or start in another folder",
            "未同意；请从 waterline.toml 中删除该地址，或在其他目录启动",
        ));
    }
    // It holds for this run in any case.
    if let Err(error) = trust::approve(config, &new) {
        let error = anyhow::Error::from(error);
        anstream::eprintln!(
            "waterline: {}",
            crate::show::lines(&format!("{error:#}; you will be asked again"))
        );
    }
    Ok(())
}

/// Asks on the terminal.
fn agrees(addresses: &str) -> Result<bool> {
    let question = say(
        "All that you say and all that it reads goes there. Agree, for this folder from now on? [y/n]",
        "您所说的和它所读取的内容都会发送到那里。同意吗（此后对此目录有效）？[y/n]",
    );
    forget_typed();
    anstream::eprint!("{}\n{question} ", sends(addresses));
    std::io::stderr().flush()?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).context("the answer cannot be read")?;
    Ok(ApprovalReply::read(&line) == Some(ApprovalReply::Allow))
}
