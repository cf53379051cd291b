//! Unsaved messages and changes: they are already in memory and go to the log together, in one
//! transaction. A call writes twice: the new messages with the context about to be sent, then the
//! answer with its usage and the host's note.

use futures_util::future::BoxFuture;
use waterline::message::{Message, Role};
use waterline_log::{Change, Commit, Session};

use crate::error::SessionError;
use crate::live::LiveSession;

/// What a host stores with an answer, in the same transaction.
#[derive(Clone, Default)]
pub struct AnswerNote {
    /// Changes to the session.
    pub changes: Vec<Change>,
    /// A checkpoint to make, with its metadata.
    pub checkpoint: Option<serde_json::Value>,
}

impl std::fmt::Debug for AnswerNote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AnswerNote")
            .field("changes", &self.changes.len())
            .field("checkpoint", &self.checkpoint)
            .finish()
    }
}

/// A commit on its way to the disk.
pub(crate) struct Storing {
    was_busy: bool,
    stored: BoxFuture<'static, waterline_log::Result<Session>>,
}

impl LiveSession {
    /// Appends messages. They are stored with the next write.
    ///
    /// # Errors
    /// When an earlier call was interrupted and the log cannot be read.
    pub async fn add_messages(&mut self, messages: Vec<Message>) -> Result<(), SessionError> {
        self.resync().await?;
        self.append(messages);
        Ok(())
    }

    /// Changes the session. The change is stored with the next write.
    ///
    /// # Errors
    /// When the change cannot be made; and as for [`LiveSession::add_messages`].
    pub async fn add_change(&mut self, change: Change) -> Result<(), SessionError> {
        self.resync().await?;
        Ok(self.apply_change(change)?)
    }

    /// Makes a checkpoint with the next write.
    pub fn add_checkpoint(&mut self, metadata: serde_json::Value) {
        self.unsaved.checkpoint = Some(metadata);
    }

    /// Stores the session's tool definitions with the next write.
    pub fn add_tools(&mut self, definitions: Vec<u8>) {
        self.unsaved.tools = Some(definitions);
    }

    /// Returns whether something waits to be stored.
    #[must_use]
    pub fn has_unsaved(&self) -> bool {
        !self.unsaved.is_empty()
    }

    /// Stores what is unsaved, in one transaction.
    ///
    /// # Errors
    /// When the log cannot be written, or another process changed the session. Then nothing is
    /// stored, and the session is read again before its next use.
    pub async fn commit(&mut self) -> Result<(), SessionError> {
        let storing = self.start_commit();
        self.finish_commit(storing).await
    }

    /// Queues what is unsaved. The log works on it while the caller prepares the request.
    pub(crate) fn start_commit(&mut self) -> Option<Storing> {
        if self.unsaved.is_empty() {
            return None;
        }
        let was_busy = std::mem::replace(&mut self.busy, true);
        let commit: Commit = std::mem::take(&mut self.unsaved);
        let planned = self.session.clone();
        let stored = self.write(move |log| log.commit(&planned, commit.clone()));
        Some(Storing { was_busy, stored: Box::pin(stored) })
    }

    /// Waits until a queued commit is durable.
    pub(crate) async fn finish_commit(
        &mut self,
        storing: Option<Storing>,
    ) -> Result<(), SessionError> {
        let Some(Storing { was_busy, stored }) = storing else { return Ok(()) };
        self.session = stored.await?;
        self.busy = was_busy;
        Ok(())
    }

    /// Appends messages to the history in memory and to what is unsaved.
    pub(crate) fn append(&mut self, messages: Vec<Message>) {
        let incoming = self.incoming(&messages);
        self.next_call_starts_turn |= messages.iter().any(|message| message.role == Role::User);
        // Tokens are counted once, for the log and for the history.
        for (message, incoming) in messages.into_iter().zip(&incoming) {
            self.history.append_counted(message, incoming.tokens);
        }
        self.unsaved.messages.extend(incoming);
    }

    /// Changes the session in memory and adds the change to what is unsaved.
    pub(crate) fn apply_change(&mut self, change: Change) -> waterline_log::Result<()> {
        change(&mut self.session)?;
        self.unsaved.changes.push(change);
        Ok(())
    }
}
