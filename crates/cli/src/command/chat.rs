//! `waterline chat`: chat with the agent in the terminal.

use std::process::ExitCode;

use anyhow::Result;

use crate::chat::{Chat, Opening};
use crate::open_session::{self, Flags};
use crate::place;
use crate::trust;

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
    /// Resume a session where it was interrupted (default: the latest)
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
    let mut config = arguments.flags.config()?;
    let mut overrides = arguments.flags.overrides();
    trust::check(&config, arguments.flags.trusts_project(), true)?;
    overrides.directory = place::choose(&config, &overrides, true)?;
    let log = arguments.flags.database.open()?;
    let start = open_session::start(arguments.session.as_ref(), arguments.resume.as_ref());
    // A missing session is reported before servers are started.
    let known = start.find(&log, overrides.user.as_deref())?;
    open_session::add_preferences(&mut config, &log, &overrides, known.as_ref())?;
    let opening = Opening {
        start,
        system: arguments.system.clone(),
        is_log_named: arguments.flags.database.is_named(),
        trusts_project: arguments.flags.trusts_project(),
    };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let _entered = runtime.enter();
    let mut chat = runtime.block_on(Chat::begin(log, overrides, config, opening))?;
    chat.talk(&runtime, arguments.resume.is_some())?;
    runtime.shutdown_timeout(std::time::Duration::from_secs(2));
    Ok(ExitCode::SUCCESS)
}
