//! Asks, once, whether the conversation may be sent to the addresses that the `waterline.toml` of a
//! directory names.

use std::io::{IsTerminal, Write};

use anyhow::{Context, Result, bail};
use waterline_agent::ApprovalReply;
use waterline_config::{Config, ConfigError, Notice, trust};

use crate::lang::list;
use crate::show::rows::wrap_styled;
use crate::show::{notice, plain, room};
use crate::terminal::forget_typed;
use crate::text;

/// The columns that are left for the reply to a question.
const REPLY: usize = 10;

/// Returns the notice that the directory's config file names these addresses.
fn notice_of(addresses: &str) -> String {
    notice(&Notice::ProjectAddress(addresses.to_owned()))
}

/// Lists addresses for display, separated by commas.
pub fn listed(addresses: &[&str]) -> String {
    list(&addresses.iter().map(|address| plain(address)).collect::<Vec<_>>())
}

/// Makes sure that each address that comes with the directory is approved before anything is sent.
/// `is_trusted` approves them for this run. Without a terminal to ask on, they are refused.
pub fn check(config: &Config, is_trusted: bool, may_ask: bool) -> Result<()> {
    if is_trusted {
        return Ok(());
    }
    let new = trust::unapproved(config)?;
    if new.is_empty() {
        return Ok(());
    }
    let shown = listed(&new);
    if !(may_ask && has_terminal()) {
        let why = text!("trust-not-approved");
        bail!(text!("error-with-cause", error = notice_of(&shown), cause = why));
    }
    if !confirm(&shown)? {
        bail!(text!("trust-refused"));
    }
    // The approval is valid for this run even if it cannot be stored.
    if let Err(error) = trust::approve(config, &new) {
        warn_not_stored(error);
    }
    Ok(())
}

/// Returns whether a question can be asked on a terminal.
pub fn has_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Reports that a decision could not be stored.
pub fn warn_not_stored(error: ConfigError) {
    let error = format!("{:#}", anyhow::Error::from(error));
    let warning = text!("trust-not-stored", error = error);
    anstream::eprintln!("waterline: {}", crate::show::lines(&warning));
}

/// Asks on the terminal.
fn confirm(addresses: &str) -> Result<bool> {
    let question = format!("{}\n{}", notice_of(addresses), text!("trust-question"));
    Ok(ask(&question)? == Some(ApprovalReply::Allow))
}

/// Asks a question on the terminal, again if the line is not an answer. Returns the reply; none if
/// the line is empty.
pub fn ask(question: &str) -> Result<Option<ApprovalReply>> {
    forget_typed();
    loop {
        anstream::eprint!("{} ", wrap_styled(question, room(REPLY)));
        std::io::stderr().flush()?;
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).context(text!("trust-unreadable"))?;
        let reply = ApprovalReply::read(&line);
        if reply.is_some() || line.trim().is_empty() {
            return Ok(reply);
        }
        anstream::eprintln!("{}", text!("answer-yes-or-no"));
    }
}
