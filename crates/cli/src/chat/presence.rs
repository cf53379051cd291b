//! Notices another chat that has the same session open. Only one process works in a session at a
//! time, but two people, or one in two windows, may be talking in it.

use std::fs::{File, TryLockError};
use std::path::Path;

use waterline_sandbox::workspace::FILE;

use super::Chat;
use crate::text;

/// Shows other chats that this one has a session open, as long as it lives. The system releases the
/// lock however the program ends.
#[derive(Default)]
pub(super) struct Presence(Option<File>);

impl Presence {
    /// Moves to the session of a workspace, by a shared lock on the file that every workspace has.
    /// Returns whether another chat has it open.
    fn move_to(&mut self, workspace: &Path) -> bool {
        self.0 = None;
        // Without locks, or without the file, other chats are not noticed.
        let Ok(file) = File::open(workspace.join(FILE)) else { return false };
        let is_taken = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        self.0 = Some(file).filter(|file| file.try_lock_shared().is_ok());
        is_taken
    }
}

impl Chat {
    /// Tells other chats that this one has the session open, and the user if another has it.
    pub(super) fn announce(&mut self) {
        let is_taken = self.presence.move_to(self.runner.agent.workspace().path());
        // A session that this chat created is locked by it already.
        if is_taken && self.empty_session.id().as_ref() != Some(&self.session().id) {
            self.screen.print_note(&text!("chat-also-open"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_chat_is_noticed_until_the_first_ends() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(FILE), "{}").unwrap();
        let mut first = Presence::default();
        assert!(!first.move_to(directory.path()) && !first.move_to(directory.path()));
        let mut second = Presence::default();
        assert!(second.move_to(directory.path()));
        drop(first);
        assert!(!second.move_to(directory.path()));
        let mut third = Presence::default();
        assert!(third.move_to(directory.path()), "the second is still there");
    }
}
