//! The `waterline` command: arguments, environment, terminal. What it does is in `command/`, one
//! file a command.

mod arguments;
mod chat;
mod command;
mod db;
mod environment;
mod files;
mod hint;
mod ids;
mod input;
mod lang;
mod logging;
mod mentions;
mod open_session;
mod printer;
mod sessions;
mod settings;
mod show;
mod signals;
mod terminal;
mod trust;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// Keeps an LLM agent's conversation for ever, and sends the model only what it needs.
#[derive(Debug, Parser)]
#[command(name = "waterline", version, about, propagate_version = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Talk with the agent in the terminal
    Chat(Box<command::chat::Arguments>),
    /// Say something to the agent and print its answer
    Run(Box<command::run::Arguments>),
    /// Show what would be sent for a conversation's next call, and why
    Plan(command::plan::Arguments),
    /// List, show and check policies
    Policy(command::policy::Arguments),
    /// Write a session file of another program in another format
    Convert(command::convert::Arguments),
    /// See what policies cost and forget, on recorded conversations
    Replay(Box<command::replay::Arguments>),
    /// List, show, fork, rewind, import and export stored sessions
    Sessions(command::sessions::Arguments),
    /// Count the tokens of a conversation
    Tokens(command::tokens::Arguments),
    /// Check anyone's message list against the rules of a wire
    Check(command::check::Arguments),
    /// Show settings, and where each comes from
    Config(command::config::Arguments),
    /// Check config, keys, servers, database and sandbox
    Doctor(command::doctor::Arguments),
    /// Print the completion script of a shell
    Completions(command::completions::Arguments),
    /// Print the manual page, or write the pages of all commands into a directory
    Man(command::man::Arguments),
}

fn main() -> ExitCode {
    // Commands are confined by this program, started once more.
    if let Some(code) = waterline_sandbox::launcher() {
        return code;
    }
    let arguments = Arguments::parse();
    let outcome = match &arguments.command {
        Command::Chat(arguments) => command::chat::run(arguments),
        Command::Run(arguments) => command::run::run(arguments),
        Command::Plan(arguments) => command::plan::run(arguments),
        Command::Policy(arguments) => command::policy::run(arguments),
        Command::Convert(arguments) => command::convert::run(arguments),
        Command::Replay(arguments) => command::replay::run(arguments),
        Command::Sessions(arguments) => command::sessions::run(arguments),
        Command::Tokens(arguments) => command::tokens::run(arguments),
        Command::Check(arguments) => command::check::run(arguments),
        Command::Config(arguments) => command::config::run(arguments),
        Command::Doctor(arguments) => command::doctor::run(arguments),
        Command::Completions(arguments) => {
            command::completions::run(arguments, Arguments::command())
        }
        Command::Man(arguments) => command::man::run(arguments, Arguments::command()),
    };
    match outcome {
        Ok(code) => code,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            anstream::eprintln!("waterline: {}", show::lines(&hint::with_hint(&error)));
            ExitCode::from(2)
        }
    }
}

/// Whoever read our output has seen enough: that is no error.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
