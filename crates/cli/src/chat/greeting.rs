//! The messages at the start and at the end of a conversation.

use std::path::Path;

use anyhow::Result;
use waterline::message::{Message, Role};
use waterline_agent::OFFLINE;
use waterline_agent::environment::without_notes;
use waterline_memory::{Note, Topic};
use waterline_provider::wire::parse_stored;
use waterline_sandbox::workspace::{Grant, Workspace};

use super::Chat;
use crate::arguments::{quoted, repeated, whole_path};
use crate::chat::commands::note_line;
use crate::error::describe;
use crate::ids;
use crate::lang::{self, list};
use crate::show::{self, model_notes, plain, width};
use crate::text;

/// The number of messages among which the last exchange is looked for.
const NEWEST: u64 = 200;

/// The share of the screen, as a divisor, that the last message of the user may take.
const QUESTION_SHARE: usize = 4;

/// The fewest lines shown of a message, and those for the rest of the screen.
const FEWEST_LINES: usize = 5;
const OTHER_LINES: usize = 8;

/// Returns the variables of the providers' keys as an enumeration.
fn any_key() -> String {
    let keys = waterline_config::provider_keys();
    let (last, first) = keys.split_last().unwrap_or((&"", &[]));
    let first = first.join(&text!("list-comma"));
    text!("list-or", first = first, last = *last)
}

impl Chat {
    pub(super) async fn welcome(&self) {
        let live = self.runner.agent.live();
        let id = ids::short(&live.session().id);
        self.screen.print_note(&text!("greeting", id = id, model = &live.model().name));
        if live.model().name == OFFLINE {
            self.screen.print_note(&text!("greeting-offline", keys = any_key()));
        }
        self.screen.print_note(&access(self.runner.agent.workspace()));
        self.show_instructions().await;
        model_notes(live).iter().for_each(|note| self.screen.print_note(note));
        let count = self.memories().await.len();
        if count > 0 {
            self.screen.print_note(&text!("greeting-memory", count = count));
        }
        if self.input.is_terminal()
            && self.session().has_messages()
            && let Err(error) = self.show_newest().await
        {
            self.screen.print_error(&describe(&error));
        }
    }

    /// Names the instruction files. One that cannot be read is reported when it is sent.
    async fn show_instructions(&self) {
        let Ok((files, _)) = self.runner.agent.read_instructions().await else { return };
        let names: Vec<String> = files.iter().map(|file| plain(&file.name)).collect();
        if !names.is_empty() {
            self.screen.print_note(&text!("greeting-instructions", files = list(&names)));
        }
    }

    /// Returns the facts of the memory. One that cannot be read is reported when it is used.
    async fn memories(&self) -> Vec<Note> {
        let Some(memory) = self.runner.agent.live().config().memory.clone() else {
            return Vec::new();
        };
        let read = tokio::task::spawn_blocking(move || memory.notes().list()).await;
        read.ok().and_then(Result::ok).unwrap_or_default()
    }

    /// Shows what this session added to the memory, so that the user can correct it.
    pub(super) async fn review_memory(&self) {
        let id = &self.session().id;
        let is_own = |note: &Note| {
            let is_from_here = note.line.source.as_ref().is_some_and(|from| from.session == *id);
            is_from_here && note.topic != Topic::Superseded
        };
        let notes = self.memories().await;
        let learned: Vec<(usize, &Note)> =
            notes.iter().enumerate().filter(|(_, note)| is_own(note)).collect();
        if learned.is_empty() {
            return;
        }
        self.screen.print_note(&text!("memory-review", count = learned.len()));
        for (number, note) in learned {
            self.screen.print_note(&note_line(number + 1, note));
        }
    }

    /// Shows the last exchange of the session: the last message of the user, how many calls
    /// followed it, and the last answer, up to a screen.
    pub(crate) async fn show_newest(&self) -> Result<()> {
        let tip = self.session().tip;
        let end = tip.position();
        let entries =
            self.on_log(move |log, _| log.entries_in(tip, end.saturating_sub(NEWEST)..end)).await?;
        let messages: Vec<Message> =
            entries.iter().map(|entry| entry.message(parse_stored)).collect();
        let (question, after) = last_exchange(&messages);
        let rows = self.screen.rows().saturating_sub(OTHER_LINES);
        if let Some(question) = question {
            let text = show::role_line(Role::User, &own_text(question));
            let (text, hidden) = first_lines(&text, rows / QUESTION_SHARE);
            self.screen.print_note(&show::lines(text));
            self.note_hidden(hidden);
        }
        let calls = after.iter().flat_map(Message::calls).count();
        if calls > 0 {
            self.screen.print_note(&text!("replay-calls", count = calls));
        }
        let answers = after.iter().filter(|message| message.role == Role::Assistant);
        let answer = answers.map(Message::text).rfind(|text| !text.trim().is_empty());
        if let Some(answer) = answer {
            let (text, hidden) = first_lines(&answer, rows);
            self.screen.print_answer(text);
            self.note_hidden(hidden);
        }
        Ok(())
    }

    /// Says how many lines of a message are not shown.
    fn note_hidden(&self, lines: usize) {
        if lines > 0 {
            self.screen.print_note(&text!("replay-more-lines", count = lines));
        }
    }

    /// Returns whether the file of the log was deleted meanwhile: then nothing can be resumed.
    fn is_log_gone(&self) -> bool {
        let url = self.log.url();
        !url.contains("://") && !Path::new(url).exists()
    }

    /// Returns the URL of the log, or the whole path of its file.
    fn log_name(&self) -> String {
        let url = self.log.url();
        if url.contains("://") { url.to_owned() } else { whole_path(Path::new(url)) }
    }

    /// Shows the command that resumes the session, if it has messages.
    pub(super) fn print_resume_command(&self) {
        if !self.input.is_terminal() || !self.session().has_messages() || self.is_log_gone() {
            return;
        }
        if let Some(price) = &self.gauge.price {
            self.screen.print_note(&text!("greeting-cost", price = price.as_str()));
        }
        let id = quoted(&ids::short(&self.session().id));
        let resume = text!("greeting-resume", command = format!("waterline chat --resume {id}"));
        let log = self.repeats.is_log_named.then(|| format!("--db {}", quoted(&self.log_name())));
        let trust = self.repeats.trusts_project.then(|| "--trust-project".to_owned());
        let lang = lang::flag(std::env::args_os()).map(|lang| format!("--lang {}", lang.name()));
        let flags = repeated(&self.assembly.overrides);
        let parts = [resume].into_iter().chain(log).chain(lang).chain(flags).chain(trust);
        self.screen.print_note(&command_lines(parts, self.screen.columns()));
    }
}

/// Returns the last message of the user, and the messages after it. Without one, all are after it.
fn last_exchange(messages: &[Message]) -> (Option<&Message>, &[Message]) {
    let last = messages.iter().rposition(|message| message.role == Role::User);
    let after = last.map_or(0, |at| at + 1);
    (last.and_then(|at| messages.get(at)), messages.get(after..).unwrap_or_default())
}

/// Returns what the user wrote in a message, without the notes that the program added.
fn own_text(message: &Message) -> String {
    let text: String = message.texts().next().unwrap_or_default().to_owned();
    without_notes(&text).trim_end().to_owned()
}

/// Returns the first lines of a text, and how many there are more.
fn first_lines(text: &str, most: usize) -> (&str, usize) {
    let most = most.max(FEWEST_LINES);
    let count = text.lines().count();
    if count <= most {
        return (text, 0);
    }
    let end = text.match_indices('\n').nth(most - 1).map_or(text.len(), |(at, _)| at);
    (text.get(..end).unwrap_or(text), count - most)
}

/// Joins the parts of a shell command. Lines that would be too long are continued, so that the
/// command can still be copied as a whole.
fn command_lines(parts: impl Iterator<Item = String>, columns: usize) -> String {
    const CONTINUED: &str = " \\";
    const INDENT: &str = "    ";
    let mut lines = String::new();
    let mut used = 0;
    for part in parts {
        let wide = width(&part);
        if used == 0 {
            used = wide;
        } else if used + 1 + wide + CONTINUED.len() < columns {
            lines.push(' ');
            used += 1 + wide;
        } else {
            lines.push_str(&format!("{CONTINUED}\n{INDENT}"));
            used = INDENT.len() + wide;
        }
        lines.push_str(&part);
    }
    lines
}

/// Describes where the agent works, and which other directories it may access.
fn access(workspace: &Workspace) -> String {
    let directory = workspace.working_directory();
    let is_private = directory == workspace.path();
    let granted = |writable: bool| {
        let is_other = |grant: &Grant| is_private || !directory.starts_with(&grant.path);
        let grants = workspace.grants().filter(|grant| grant.writable == writable).filter(is_other);
        list(&grants.map(|grant| grant.path.display().to_string()).collect::<Vec<_>>())
    };
    let path = directory.display().to_string();
    let write = granted(true);
    let read = granted(false);
    match (write.is_empty(), read.is_empty()) {
        (true, true) if is_private => text!("greeting-private"),
        (true, true) => text!("greeting-here", path = path),
        (false, true) => text!("greeting-write", path = path, write = write),
        (true, false) => text!("greeting-read", path = path, read = read),
        (false, false) => text!("greeting-write-read", path = path, write = write, read = read),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_command_is_continued_as_a_shell_reads_it() {
        let lines = |columns: usize| {
            let parts = ["Resume with: waterline chat --resume a1", "--model toy", "--set a='b c'"];
            command_lines(parts.map(str::to_owned).into_iter(), columns)
        };
        let whole = "Resume with: waterline chat --resume a1 --model toy --set a='b c'";
        assert_eq!(lines(80), whole);
        assert_eq!(
            lines(60),
            "Resume with: waterline chat --resume a1 --model toy \\\n    --set a='b c'"
        );
    }

    #[test]
    fn a_long_message_is_shown_in_part() {
        let text = (1..=20).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
        assert_eq!(first_lines(&text, 20), (text.as_str(), 0));
        assert_eq!(first_lines(&text, 7), ("1\n2\n3\n4\n5\n6\n7", 13));
        assert_eq!(first_lines(&text, 0).1, 20 - FEWEST_LINES);
    }

    #[test]
    fn granted_directories_are_listed() {
        let directory = tempfile::tempdir().unwrap();
        let own = directory.path().join("own");
        let writable = directory.path().join("a");
        let read_only = directory.path().join("b");
        [&writable, &read_only].iter().for_each(|path| std::fs::create_dir(path).unwrap());
        let grants = [Grant::new(writable, true), Grant::new(read_only, false)];
        let workspace = Workspace::open(&own, "s", &grants).unwrap();
        let granted: Vec<String> =
            workspace.grants().map(|grant| grant.path.display().to_string()).collect();
        let expected = format!("change files in {}, and read {}.", granted[0], granted[1]);
        assert!(access(&workspace).ends_with(&expected), "{}", access(&workspace));
        let project = workspace.work_in(&grants[0].path).unwrap();
        let expected = format!("works in {}. It may also read {}.", granted[0], granted[1]);
        assert!(access(&project).ends_with(&expected), "{}", access(&project));
        let alone = Workspace::open(&own, "s", &[]).unwrap();
        assert!(access(&alone).contains("a private directory"), "{}", access(&alone));
    }
}
