//! The messages at the start and at the end of a conversation.

use anyhow::Result;
use waterline::message::Role;
use waterline_provider::wire::parse_stored;
use waterline_sandbox::workspace::Workspace;

use super::Chat;
use crate::error::describe;
use crate::ids;
use crate::show::{cut, one_line, room};
use crate::text;

/// The number of messages shown when a session is resumed.
const NEWEST: u64 = 3;

impl Chat {
    pub(super) async fn welcome(&self) {
        let live = self.runner.agent.live();
        let id = ids::short(&live.session().id);
        self.screen.print_note(&text!("greeting", id = id, model = &live.model().name));
        self.screen.print_note(&access(self.runner.agent.workspace()));
        if let Some(memory) = &live.config().memory {
            self.screen.print_note(&text!("greeting-memory", path = memory.place()));
        }
        if self.input.is_terminal()
            && self.session().has_begun()
            && let Err(error) = self.show_newest().await
        {
            self.screen.print_error(&describe(&error));
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
            self.screen.print_note(&cut(&line, room(1)));
        }
        Ok(())
    }

    /// Shows the command that resumes the session, if it has messages.
    pub(super) fn farewell(&self) {
        if !self.input.is_terminal() || !self.session().has_begun() {
            return;
        }
        let log = if self.is_log_named {
            format!(" --db {}", quoted(self.log.url()))
        } else {
            String::new()
        };
        // The address of the model is not stored with the session.
        let flag = |name: &str, value: Option<&String>| {
            value.map(|value| format!(" --{name} {}", quoted(value))).unwrap_or_default()
        };
        let url = flag("base-url", self.first_model.base_url.as_ref());
        let model = flag("model", self.first_model.model.as_ref());
        let id = quoted(&ids::short(&self.session().id));
        let command = format!("waterline chat --resume {id}{log}{url}{model}");
        self.screen.print_note(&text!("greeting-resume", command = command));
    }
}

/// Quotes an argument for a shell if it contains whitespace or a quote.
fn quoted(argument: &str) -> String {
    if argument.contains(|c: char| c.is_whitespace() || c == '\'') {
        format!("'{}'", argument.replace('\'', r"'\''"))
    } else {
        argument.to_owned()
    }
}

/// Describes where the agent works, and which other directories it may access.
fn access(workspace: &Workspace) -> String {
    let granted = |writable: bool| {
        let grants = workspace.grants().filter(|grant| grant.writable == writable);
        grants.map(|grant| grant.path.display().to_string()).collect::<Vec<_>>().join(", ")
    };
    let path = workspace.path().display().to_string();
    let write = granted(true);
    let read = granted(false);
    match (write.is_empty(), read.is_empty()) {
        (true, true) => text!("greeting-private"),
        (false, true) => text!("greeting-write", path = path, write = write),
        (true, false) => text!("greeting-read", path = path, read = read),
        (false, false) => text!("greeting-write-read", path = path, write = write, read = read),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use waterline_sandbox::workspace::Grant;

    #[test]
    fn an_argument_with_spaces_is_quoted() {
        assert_eq!(quoted("sessions.db"), "sessions.db");
        assert_eq!(quoted("my files/it's.db"), r"'my files/it'\''s.db'");
    }

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
        let alone = Workspace::open(&own, "s", &[]).unwrap();
        assert!(access(&alone).contains("a private directory"), "{}", access(&alone));
    }
}
