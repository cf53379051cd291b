//! `waterline chat`: chat with the agent in the terminal.

use std::process::ExitCode;

use anyhow::Result;

use crate::chat::{Chat, RepeatedFlags};
use crate::open_session::Flags;

/// Chat with the agent in the terminal
///
/// Works without any setup: if no model is configured, a built-in one answers, which can only
/// quote. /help lists the commands; Tab completes commands, @names and #files; Ctrl-C stops a turn;
/// Ctrl-D exits.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Session to continue, created if it does not exist (default: a new one)
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Resume a session where it was interrupted, in the directory where it worked (default: the
    /// latest of this directory)
    #[arg(
        long,
        value_name = "ID",
        num_args = 0..=1,
        default_missing_value = "",
        conflicts_with = "session"
    )]
    resume: Option<String>,
    /// System prompt of a new session
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
    #[command(flatten)]
    flags: Flags,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let flags = &arguments.flags;
    let named = (arguments.session.as_ref(), arguments.resume.as_ref());
    let opening = flags.settle(true)?.open(&flags.database, named)?;
    let repeats = RepeatedFlags {
        is_log_named: flags.database.is_named(),
        trusts_project: flags.trusts_project(),
    };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let _entered = runtime.enter();
    let mut chat = runtime.block_on(Chat::begin(opening, arguments.system.clone(), repeats))?;
    chat.talk(&runtime, arguments.resume.is_some())?;
    runtime.shutdown_timeout(std::time::Duration::from_secs(2));
    Ok(ExitCode::SUCCESS)
}
