//! What is said when a conversation begins, and when it ends.

use anyhow::Result;
use waterline::message::Role;
use waterline_provider::wire::parse_stored;
use waterline_sandbox::workspace::Workspace;

use super::Chat;
use crate::hint::with_hint;
use crate::ids;
use crate::lang::say;
use crate::show::{cut, one_line, room};

/// How many of the newest messages are shown to somebody who comes back.
const NEWEST: u64 = 3;

impl Chat {
    pub(super) async fn welcome(&self) {
        let live = self.relay.agent.live();
        let (model, id) = (&live.model().name, ids::short(&live.session().id));
        let en = format!(
            "session {id}, model {model}. /help lists the commands, Ctrl-C stops a turn, Ctrl-D ends."
        );
        let zh = format!("会话 {id}，模型 {model}。/help 列出命令，Ctrl-C 停止一轮，Ctrl-D 退出。");
        self.screen.note(&say(en, zh));
        self.screen.note(&reach(self.relay.agent.workspace()));
        if self.input.is_terminal()
            && self.session().has_begun()
            && let Err(error) = self.show_newest().await
        {
            self.screen.complain(&with_hint(&error));
        }
    }

    /// The newest messages of the session, each on a line, for somebody who comes back to it.
    pub(crate) async fn show_newest(&self) -> Result<()> {
        let (tip, until) = (self.session().tip, self.session().tip.position());
        let entries = self
            .on_log(move |log, _| log.entries_in(tip, until.saturating_sub(NEWEST)..until))
            .await?;
        for entry in entries.iter().filter(|entry| entry.role != Role::System) {
            let message = entry.message(parse_stored);
            self.screen
                .note(&cut(&format!("{}: {}", message.role.name(), one_line(&message)), room(1)));
        }
        Ok(())
    }

    /// How to come back, where there is something to come back to.
    pub(super) fn farewell(&self) {
        if !self.input.is_terminal() || !self.session().has_begun() {
            return;
        }
        let log = if self.is_log_named {
            format!(" --db {}", quoted(self.log.url()))
        } else {
            String::new()
        };
        // An address is not stored with the session.
        let model =
            self.first_model.base_url.as_ref().map(|url| format!(" --base-url {}", quoted(url)));
        let name = self.first_model.model.as_ref().map(|name| format!(" --model {}", quoted(name)));
        let model = format!("{}{}", model.unwrap_or_default(), name.unwrap_or_default());
        let command = format!(
            "waterline chat --resume {}{log}{model}",
            quoted(&ids::short(&self.session().id))
        );
        self.screen.note(&say(format!("resume with: {command}"), format!("继续此会话：{command}")));
    }
}

/// A word as a shell takes it: between quotes where it has a blank or a quote in it.
fn quoted(word: &str) -> String {
    if word.contains(|c: char| c.is_whitespace() || c == '\'') {
        format!("'{}'", word.replace('\'', r"'\''"))
    } else {
        word.to_owned()
    }
}

/// Where the agent works, and what else it may reach.
fn reach(workspace: &Workspace) -> String {
    let granted = |writable: bool| {
        let grants = workspace.grants().filter(|grant| grant.writable == writable);
        grants.map(|grant| grant.path.display().to_string()).collect::<Vec<_>>().join(", ")
    };
    let named =
        |word: &str, folders: String| (!folders.is_empty()).then(|| format!("{word} {folders}"));
    let also =
        [named(say("reach", "读写"), granted(true)), named(say("read", "读取"), granted(false))];
    let also: Vec<String> = also.into_iter().flatten().collect();
    if also.is_empty() {
        let en = "It works in a folder of its own: #file takes files along, --allow-dir . lets it reach this one.";
        return say(en, "它在自己的目录中工作：#文件 可附带文件，--allow-dir . 允许访问当前目录。")
            .to_owned();
    }
    let (own, also) = (workspace.path().display(), also.join(", "));
    say(
        format!("It works in {own}; it may also {also}."),
        format!("它在 {own} 中工作；还可{also}。"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use waterline_sandbox::workspace::Grant;

    #[test]
    fn a_word_with_blanks_is_quoted() {
        assert_eq!(quoted("sessions.db"), "sessions.db");
        assert_eq!(quoted("my files/it's.db"), r"'my files/it'\''s.db'");
    }

    #[test]
    fn granted_folders_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let (own, other, third) =
            (folder.path().join("own"), folder.path().join("a"), folder.path().join("b"));
        [&other, &third].iter().for_each(|path| std::fs::create_dir(path).unwrap());
        let grants =
            [Grant { path: other, writable: true }, Grant { path: third, writable: false }];
        let workspace = Workspace::open(&own, "s", &grants).unwrap();
        let granted: Vec<String> =
            workspace.grants().map(|grant| grant.path.display().to_string()).collect();
        let expected = format!("; it may also reach {}, read {}.", granted[0], granted[1]);
        assert!(reach(&workspace).ends_with(&expected), "{}", reach(&workspace));
        let alone = Workspace::open(&own, "s", &[]).unwrap();
        assert!(reach(&alone).contains("a folder of its own"));
    }
}
