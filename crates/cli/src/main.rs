//! The `waterline` command: arguments, environment, terminal. The work is done in `command/`, one
//! file per command.

mod arguments;
mod chat;
mod checkpoints;
mod command;
mod db;
mod environment;
mod error;
mod files;
mod foreign;
mod help;
mod ids;
mod input;
mod lang;
mod logging;
mod mentions;
mod moved_files;
mod number;
mod open_session;
mod phrase;
mod place;
mod printable;
mod printer;
mod sessions;
mod settings;
mod show;
mod signals;
mod terminal;
mod trust;

use std::process::ExitCode;
use std::sync::Arc;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use waterline_config::{Config, Lang};

/// A terminal agent that never loses its history and shows what the model sees
#[derive(Debug, Parser)]
#[command(name = "waterline", version, propagate_version = true)]
struct Arguments {
    /// Language of messages and help: en, zh (default: from the config, else the locale)
    #[arg(long, global = true)]
    // Read by `lang::flag` before the arguments are parsed.
    lang: Option<Lang>,
    #[command(subcommand)]
    command: Command,
}

/// The help texts are those of each command's arguments.
#[derive(Debug, Subcommand)]
enum Command {
    Chat(Box<command::chat::Arguments>),
    Run(Box<command::run::Arguments>),
    Plan(command::plan::Arguments),
    Policy(command::policy::Arguments),
    Convert(command::convert::Arguments),
    Replay(Box<command::replay::Arguments>),
    Sessions(command::sessions::Arguments),
    Tokens(command::tokens::Arguments),
    Bench(command::bench::Arguments),
    Recall(command::recall::Arguments),
    Models(command::models::Arguments),
    Check(command::check::Arguments),
    Config(command::config::Arguments),
    Doctor(command::doctor::Arguments),
    Completions(command::completions::Arguments),
    Man(command::man::Arguments),
}

fn main() -> ExitCode {
    // Commands are confined by starting this program once more.
    if let Some(code) = waterline_sandbox::launcher() {
        return code;
    }
    lang::choose(lang::flag(std::env::args_os()), configured_lang());
    let matches = help::translated(Arguments::command())
        .try_get_matches()
        .unwrap_or_else(|error| error::usage::exit(&error));
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    match run(&arguments.command) {
        Ok(code) => code,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            anstream::eprintln!("waterline: {}", show::lines(&error::describe(&error)));
            ExitCode::from(2)
        }
    }
}

fn run(command: &Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Chat(arguments) => command::chat::run(arguments),
        Command::Run(arguments) => command::run::run(arguments),
        Command::Plan(arguments) => command::plan::run(arguments),
        Command::Policy(arguments) => command::policy::run(arguments),
        Command::Convert(arguments) => command::convert::run(arguments),
        Command::Replay(arguments) => command::replay::run(arguments),
        Command::Sessions(arguments) => command::sessions::run(arguments),
        Command::Tokens(arguments) => command::tokens::run(arguments),
        Command::Bench(arguments) => command::bench::run(arguments),
        Command::Recall(arguments) => command::recall::run(arguments),
        Command::Models(arguments) => command::models::run(arguments),
        Command::Check(arguments) => command::check::run(arguments),
        Command::Config(arguments) => command::config::run(arguments),
        Command::Doctor(arguments) => command::doctor::run(arguments),
        Command::Completions(arguments) => {
            command::completions::run(arguments, help::translated(Arguments::command()))
        }
        Command::Man(arguments) => {
            command::man::run(arguments, help::for_manual(Arguments::command()))
        }
    }
}

/// Returns the language of the config. An invalid config is reported by the command that needs it.
fn configured_lang() -> Option<Lang> {
    let environment = environment::environment();
    let config = Config::load(Arc::clone(environment)).ok();
    // An error in the config is reported in the language of the variable.
    config.and_then(|config| config.settings.lang).or_else(|| environment.lang())
}

/// Whether the reader of our output closed the pipe, which is not an error.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
