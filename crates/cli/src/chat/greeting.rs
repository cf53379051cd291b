//! The messages at the start and at the end of a conversation.

use anyhow::Result;
use waterline::message::Role;
use waterline_agent::OFFLINE;
use waterline_memory::{Note, Topic};
use waterline_provider::wire::parse_stored;
use waterline_sandbox::workspace::{Grant, Workspace};

use super::Chat;
use crate::arguments::{quoted, repeated};
use crate::chat::commands::note_line;
use crate::error::describe;
use crate::ids;
use crate::show::{one_line, room, truncate, window_guess};
use crate::text;

/// The number of messages shown when a session is resumed.
const NEWEST: u64 = 3;

impl Chat {
    pub(super) async fn welcome(&self) {
        let live = self.runner.agent.live();
        let id = ids::short(&live.session().id);
        self.screen.print_note(&text!("greeting", id = id, model = &live.model().name));
        if live.model().name == OFFLINE {
            self.screen.print_note(&text!("greeting-offline"));
        }
        self.screen.print_note(&access(self.runner.agent.workspace()));
        if let Some(note) = window_guess(live) {
            self.screen.print_note(&note);
        }
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

    /// Shows the newest messages of the session, each on one line.
    pub(crate) async fn show_newest(&self) -> Result<()> {
        let tip = self.session().tip;
        let end = tip.position();
        let entries =
            self.on_log(move |log, _| log.entries_in(tip, end.saturating_sub(NEWEST)..end)).await?;
        for entry in entries.iter().filter(|entry| entry.role != Role::System) {
            let message = entry.message(parse_stored);
            let line = format!("{}: {}", message.role.name(), one_line(&message));
            self.screen.print_note(&truncate(&line, room(1)));
        }
        Ok(())
    }

    /// Shows the command that resumes the session, if it has messages.
    pub(super) fn farewell(&self) {
        if !self.input.is_terminal() || !self.session().has_messages() {
            return;
        }
        if let Some(price) = &self.gauge.price {
            self.screen.print_note(&text!("greeting-cost", price = price.as_str()));
        }
        let log = if self.is_log_named {
            format!(" --db {}", quoted(self.log.url()))
        } else {
            String::new()
        };
        let flags = repeated(&self.assembly.overrides);
        let trust = if self.trusts_project { " --trust-project" } else { "" };
        let id = quoted(&ids::short(&self.session().id));
        let command = format!("waterline chat --resume {id}{log}{flags}{trust}");
        self.screen.print_note(&text!("greeting-resume", command = command));
    }
}

/// Describes where the agent works, and which other directories it may access.
fn access(workspace: &Workspace) -> String {
    let directory = workspace.working_directory();
    let is_private = directory == workspace.path();
    let granted = |writable: bool| {
        let is_other = |grant: &Grant| is_private || !directory.starts_with(&grant.path);
        let grants = workspace.grants().filter(|grant| grant.writable == writable);
        let grants = grants.filter(is_other);
        grants.map(|grant| grant.path.display().to_string()).collect::<Vec<_>>().join(", ")
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
    fn granted_directories_are_listed() {
        let directory = tempfile::tempdir().unwrap();
        let own = directory.path().join("own");
        let writable = directory.path().join("a");
        let read_only = directory.path().join("b");
        [&writable, &read_only].iter().for_each(|path| std::fs::create_dir(path).unwrap());
        let grants =
            [Grant { path: writable, writable: true }, Grant { path: read_only, writable: false }];
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
