//! The commands of a conversation, one a file. Only known words are commands; anything else is said
//! to the agent.

mod branches;
mod cancel;
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
mod keys;
mod load;
mod memory;
mod model;
mod note;
mod quit;
mod recall;
mod redo;
mod reset;
mod resume;
mod rewind;
mod sessions;
mod skill;
mod status;
mod steer;
mod suggest;
mod todos;
mod tools;
mod undo;
mod unfold;
mod window;

pub(super) use config::OWN;
pub use cost::all_calls;

use anyhow::Result;
use futures_util::future::LocalBoxFuture;

use super::Chat;
use crate::lang::say;

/// What comes after a command.
pub enum Then {
    /// The next line.
    Stay,
    /// This is said to the agent.
    Say(String),
    /// The turn that was broken off is gone on with.
    GoOn,
    /// The end.
    Quit,
}

/// A command.
pub(super) struct Spec {
    /// Its word, without the slash, and others for the same.
    names: &'static [&'static str],
    /// What it takes.
    takes: &'static str,
    /// What it does, in English and in Chinese.
    about: (&'static str, &'static str),
    run: for<'a> fn(&'a mut Chat, &'a str) -> LocalBoxFuture<'a, Result<Then>>,
}

impl Spec {
    /// The command without anything behind it.
    async fn start(&self, chat: &mut Chat) -> Result<Then> {
        (self.run)(chat, "").await
    }

    /// The command with something behind it.
    async fn start_with(&self, chat: &mut Chat, rest: &str) -> Result<Then> {
        (self.run)(chat, rest).await
    }

    /// How it is written.
    fn usage(&self) -> String {
        let words: Vec<String> = self.names.iter().map(|name| format!("/{name}")).collect();
        let takes = if self.takes.is_empty() { String::new() } else { format!(" {}", self.takes) };
        words.join(" ") + &takes
    }

    /// Whether it can do something with what stands behind it: what it would not look at was meant
    /// otherwise.
    fn fits(&self, rest: &str) -> bool {
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
    memory::SPEC,
    recall::SPEC,
    skill::SPEC,
    tools::SPEC,
    todos::SPEC,
    unfold::SPEC,
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

/// The command of a word.
fn find(word: &str) -> Option<&'static Spec> {
    let lower = word.to_lowercase();
    ALL.iter().find(|spec| spec.names.contains(&lower.as_str()))
}

/// Carries out a line: a command, or words for the agent.
pub async fn run(chat: &mut Chat, line: &str) -> Result<Then> {
    let Some(rest) = line.strip_prefix('/') else { return Ok(Then::Say(line.to_owned())) };
    let (word, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let rest = rest.trim();
    match find(word) {
        Some(spec) if spec.fits(rest) => return (spec.run)(chat, rest).await,
        Some(spec) => chat.screen.say(&format!("{}: {}", say("usage", "用法"), spec.usage())),
        // A path or a word that only begins with a slash is for the agent; what looks like a
        // command is a slip.
        None if is_word(word) => chat.screen.say(&unknown(word)),
        None => return Ok(Then::Say(line.to_owned())),
    }
    Ok(Then::Stay)
}

/// That there is no such command, and which was meant.
fn unknown(word: &str) -> String {
    let names = ALL.iter().flat_map(|spec| spec.names).copied();
    match suggest::suggest(&word.to_lowercase(), names).first() {
        Some(meant) => say(
            format!("there is no command /{word}; did you mean /{meant}?"),
            format!("没有命令 /{word}；是否指 /{meant}？"),
        ),
        None => say(
            format!("there is no command /{word}; /help lists them"),
            format!("没有命令 /{word}；/help 列出所有命令"),
        ),
    }
}

/// Whether a line is a command that is known.
pub fn is_command(line: &str) -> bool {
    let word = line.strip_prefix('/').and_then(|rest| rest.split_whitespace().next());
    word.is_some_and(|word| find(word).is_some())
}

/// Whether a word could have been meant as a command.
fn is_word(word: &str) -> bool {
    !word.is_empty() && word.len() <= 12 && word.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// The commands with what each does, to be completed.
pub fn list() -> Vec<(String, String)> {
    let line = |spec: &Spec| {
        (
            spec.names.first().copied().unwrap_or_default().to_owned(),
            say(spec.about.0, spec.about.1).to_owned(),
        )
    };
    ALL.iter().map(line).collect()
}
