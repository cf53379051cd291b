//! The commands of a conversation, one per file. A line that is not a command is sent to the agent.

mod allow_dir;
mod allow_host;
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
pub(in crate::chat) use sessions::{time as session_time, title as session_title};

use super::Chat;
use crate::{lang, text};

/// The longest word that is taken for a misspelled command.
const MAX_NAME: usize = 16;

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

    /// Returns the names with the arguments: `/skill, /skills [NAME | off]`.
    fn synopsis(&self) -> String {
        let names: Vec<String> = self.names.iter().map(|name| format!("/{name}")).collect();
        let takes = if self.takes.is_empty() { String::new() } else { format!(" {}", self.takes) };
        names.join(", ") + &takes
    }

    /// Returns the words that the first argument may be: `summary`, `why` and `clear` of
    /// `[summary | why N | clear [all]]`. Upper case stands for a value.
    fn words(&self) -> Vec<String> {
        let mut depth = 0;
        let mut outer = String::new();
        for c in self.takes.chars() {
            depth += i32::from(c == '[') - i32::from(c == ']');
            if depth < 2 && !matches!(c, '[' | ']') {
                outer.push(c);
            }
        }
        let words = outer.split('|').filter_map(|part| part.split_whitespace().next());
        let is_literal = |word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase());
        words.filter(is_literal).map(str::to_owned).collect()
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
    undo::SPEC,
    redo::SPEC,
    branches::SPEC,
    checkpoints::SPEC,
    restore::SPEC,
    memory::SPEC,
    recall::SPEC,
    skill::SPEC,
    tools::SPEC,
    allow_dir::SPEC,
    allow_host::SPEC,
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
    let is_word =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphabetic());
    name.len() <= MAX_NAME && name.split('-').all(is_word)
}

/// Returns the words that the first argument of each command may be, by name and alias.
pub(super) fn words() -> Vec<(String, Vec<String>)> {
    let of_name = |spec: &Spec, name: &&str| ((*name).to_owned(), spec.words());
    ALL.iter().flat_map(|spec| spec.names.iter().map(move |name| of_name(spec, name))).collect()
}

/// Returns each command with its description, for completion.
pub fn list() -> Vec<(String, String)> {
    ALL.iter().map(|spec| (spec.name().to_owned(), spec.about())).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn misspelled_commands_are_told_from_paths() {
        for name in ["foo", "allow-hosts", "add-dir"] {
            assert!(super::looks_like_command(name), "{name}");
        }
        for name in ["usr/bin/x", "etc/hosts", "", "-", "a--b", "x86-64", "a.txt"] {
            assert!(!super::looks_like_command(name), "{name}");
        }
        assert!(super::unknown("allow-hosts").contains("/allow-host"));
    }

    #[test]
    fn words_follow_from_the_synopsis() {
        let words = super::words();
        let of = |name: &str| words.iter().find(|(own, _)| own == name).unwrap().1.join(" ");
        assert_eq!(of("context"), "summary why pin clear undo");
        assert_eq!(of("model"), "prefer");
        assert_eq!(of("memory"), "list search add edit forget");
        assert_eq!((of("skills"), of("undo"), of("config")), ("off".into(), "".into(), "".into()));
    }
}
