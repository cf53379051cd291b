//! The commands of a conversation, one per file. A line that is not a command is sent to the agent.

mod artifact;
mod branches;
mod cancel;
mod checkpoints;
mod clean;
mod clear;
mod compact;
mod config;
mod context;
mod cost;
mod current;
mod export;
mod fork;
mod help;
mod load;
mod memory;
mod model;
mod policy_keys;
mod quit;
mod recall;
mod redo;
mod reset;
mod restore;
mod resume;
mod rewind;
mod sessions;
mod skill;
mod status;
mod steer;
mod suggest;
mod summaries;
mod todos;
mod tools;
mod undo;
mod unfold;
mod window;

pub(super) use artifact::ID_DIGITS;
pub(super) use config::SETTINGS;
pub use cost::all_calls;

use anyhow::Result;
use fluent_bundle::FluentArgs;
use futures_util::future::LocalBoxFuture;
pub(in crate::chat) use memory::note_line;

use super::Chat;
use crate::{lang, text};

/// What the chat does after a command.
pub enum Next {
    /// Show the prompt again.
    Prompt,
    /// Send this message to the agent.
    Send(String),
    /// Resume the interrupted turn.
    Resume,
    /// End the conversation.
    Quit,
}

/// A command.
pub(super) struct Spec {
    /// The name without the slash, then its aliases.
    names: &'static [&'static str],
    /// The arguments as the usage line shows them.
    takes: &'static str,
    run: for<'a> fn(&'a mut Chat, &'a str) -> LocalBoxFuture<'a, Result<Next>>,
}

impl Spec {
    /// Runs the command without arguments.
    async fn start(&self, chat: &mut Chat) -> Result<Next> {
        (self.run)(chat, "").await
    }

    /// Runs the command with arguments.
    async fn start_with(&self, chat: &mut Chat, rest: &str) -> Result<Next> {
        (self.run)(chat, rest).await
    }

    fn name(&self) -> &'static str {
        self.names.first().copied().unwrap_or_default()
    }

    /// Returns what the command does, in the chosen language.
    fn about(&self) -> String {
        lang::find(&format!("command-{}", self.name()), &FluentArgs::new()).unwrap_or_default()
    }

    /// Returns the names with the arguments: `/skill /skills [NAME | off]`.
    fn synopsis(&self) -> String {
        let names: Vec<String> = self.names.iter().map(|name| format!("/{name}")).collect();
        let takes = if self.takes.is_empty() { String::new() } else { format!(" {}", self.takes) };
        names.join(" ") + &takes
    }

    fn usage(&self) -> String {
        text!("usage", synopsis = self.synopsis())
    }

    /// Returns whether the command accepts these arguments. Arguments that it would ignore are
    /// refused, because the user meant something else.
    fn accepts(&self, rest: &str) -> bool {
        match self.takes {
            "" => rest.is_empty(),
            "[N]" => rest.is_empty() || rest.parse::<u64>().is_ok_and(|number| number > 0),
            _ => true,
        }
    }
}

/// Every command, in the order of the help.
static ALL: &[Spec] = &[
    help::SPEC,
    status::SPEC,
    current::SPEC,
    context::SPEC,
    compact::SPEC,
    config::SPEC,
    sessions::SPEC,
    load::SPEC,
    resume::SPEC,
    fork::SPEC,
    rewind::SPEC,
    undo::SPEC,
    redo::SPEC,
    branches::SPEC,
    checkpoints::SPEC,
    restore::SPEC,
    memory::SPEC,
    recall::SPEC,
    skill::SPEC,
    tools::SPEC,
    todos::SPEC,
    unfold::SPEC,
    artifact::SPEC,
    clean::SPEC,
    clear::SPEC,
    reset::SPEC,
    cancel::SPEC,
    steer::SPEC,
    model::SPEC,
    cost::SPEC,
    export::SPEC,
    quit::SPEC,
];

fn find(name: &str) -> Option<&'static Spec> {
    let lower = name.to_lowercase();
    ALL.iter().find(|spec| spec.names.contains(&lower.as_str()))
}

/// Runs a line: a command, or a message for the agent.
pub async fn run(chat: &mut Chat, line: &str) -> Result<Next> {
    let Some(rest) = line.strip_prefix('/') else { return Ok(Next::Send(line.to_owned())) };
    let (name, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let rest = rest.trim();
    match find(name) {
        Some(spec) if spec.accepts(rest) => return (spec.run)(chat, rest).await,
        Some(spec) => chat.screen.print_line(&spec.usage()),
        // A path such as `/etc/hosts` is for the agent; what looks like a command is a typo.
        None if looks_like_command(name) => chat.screen.print_line(&unknown(name)),
        None => return Ok(Next::Send(line.to_owned())),
    }
    Ok(Next::Prompt)
}

/// Returns the message for an unknown command, with the command that was probably meant.
fn unknown(name: &str) -> String {
    let names = ALL.iter().flat_map(|spec| spec.names).copied();
    match suggest::suggest(&name.to_lowercase(), names).first() {
        Some(suggestion) => {
            text!("unknown-command-suggestion", name = name, suggestion = *suggestion)
        }
        None => text!("unknown-command", name = name),
    }
}

/// Returns whether a line is a known command.
pub fn is_command(line: &str) -> bool {
    let name = line.strip_prefix('/').and_then(|rest| rest.split_whitespace().next());
    name.is_some_and(|name| find(name).is_some())
}

fn looks_like_command(name: &str) -> bool {
    !name.is_empty() && name.len() <= 12 && name.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Returns each command with its description, for completion.
pub fn list() -> Vec<(String, String)> {
    ALL.iter().map(|spec| (spec.name().to_owned(), spec.about())).collect()
}
