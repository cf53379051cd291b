//! Unsaved messages and changes: they are already in memory and go to the log together, in one
//! transaction. A call writes twice: the new messages with the context about to be sent, then the
//! answer with its usage and the host's update.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use waterline::message::{Body, Image, Message, Part, Role};
use waterline_log::{Change, Commit, FileRecord, Incoming, NewArtifact, Session};

use crate::error::SessionError;
use crate::live::LiveSession;

/// The bytes of text from which counting them takes longer than handing them to another thread.
const LONG_TEXTS: usize = 32 * 1024;

/// Returns about how many bytes of a message must be counted and written.
pub(crate) fn size(message: &Message) -> usize {
    message.raw.as_ref().map_or_else(|| part_bytes(&message.parts), |raw| raw.as_str().len())
}

fn part_bytes(parts: &[Part]) -> usize {
    let of = |part: &Part| match &part.body {
        Body::Text(text) => text.len(),
        Body::Thinking(thinking) => thinking.text.len(),
        Body::Call(call) => call.arguments.len(),
        Body::Result(result) => part_bytes(&result.parts),
        Body::Image(Image::Inline { data, .. }) => data.len(),
        Body::Opaque(opaque) => opaque.json.len(),
        Body::Image(_) => 0,
    };
    parts.iter().map(of).sum()
}

/// What the host, the program that uses this crate, stores with an answer in the same transaction.
#[derive(Clone, Default)]
pub struct HostUpdate {
    /// Changes to the session.
    pub changes: Vec<Change>,
    /// A checkpoint to make, with its metadata.
    pub checkpoint: Option<serde_json::Value>,
}

impl std::fmt::Debug for HostUpdate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostUpdate")
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
    /// Appends messages. They are stored with the next write: if the session is dropped before it,
    /// they are lost. [`LiveSession::commit`] stores them now.
    ///
    /// # Errors
    /// When an earlier call was interrupted and the log cannot be read.
    pub async fn add_messages(&mut self, messages: Vec<Message>) -> Result<(), SessionError> {
        self.reload_if_interrupted().await?;
        self.append(messages).await
    }

    /// Changes the session. The change is stored with the next write: if the session is dropped
    /// before it, it is lost. [`LiveSession::commit`] stores it now.
    ///
    /// # Errors
    /// When the change cannot be made; and as for [`LiveSession::add_messages`].
    pub async fn add_change(&mut self, change: Change) -> Result<(), SessionError> {
        self.reload_if_interrupted().await?;
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

    /// Stores an artifact with the next write, and returns the hash that finds it there.
    pub fn add_artifact(&mut self, artifact: NewArtifact) -> String {
        let hash = artifact.hash();
        self.unsaved.artifacts.push(artifact);
        hash
    }

    /// Stores records of changed files with the next write.
    pub fn add_file_records(&mut self, records: impl IntoIterator<Item = FileRecord>) {
        self.unsaved.file_records.extend(records);
    }

    /// Returns whether something waits to be stored.
    #[must_use]
    pub fn has_unsaved(&self) -> bool {
        !self.unsaved.is_empty()
    }

    /// Returns whether messages wait to be stored.
    #[must_use]
    pub fn has_unsaved_messages(&self) -> bool {
        !self.unsaved.messages.is_empty()
    }

    /// Stores what is unsaved, in one transaction.
    ///
    /// # Errors
    /// When the log cannot be written, or another process changed the session. Then nothing is
    /// stored, and the session is read again before its next use.
    pub async fn commit(&mut self) -> Result<(), SessionError> {
        let storing = self.start_commit().await?;
        self.finish_commit(storing).await
    }

    /// Queues what is unsaved. The log works on it while the caller prepares the request.
    pub(crate) async fn start_commit(&mut self) -> Result<Option<Storing>, SessionError> {
        if self.unsaved.is_empty() {
            return Ok(None);
        }
        // First, so that nothing is taken from memory before the log is certain to store it.
        let permit = self.log.permit().await?;
        let was_busy = std::mem::replace(&mut self.busy, true);
        let commit: Commit = std::mem::take(&mut self.unsaved);
        let planned = self.session.clone();
        let stored = self.write_with(permit, move |log| log.commit(&planned, commit.clone()));
        Ok(Some(Storing { was_busy, stored: Box::pin(stored) }))
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
    pub(crate) async fn append(&mut self, messages: Vec<Message>) -> Result<(), SessionError> {
        let (messages, incoming) = self.incoming(messages).await?;
        self.next_call_starts_turn |= messages.iter().any(|message| message.role == Role::User);
        // Tokens are counted once, for the log and for the history.
        let history = Arc::make_mut(&mut self.history);
        for (message, incoming) in messages.into_iter().zip(&incoming) {
            history.append_counted(message, incoming.tokens);
        }
        self.unsaved.messages.extend(incoming);
        Ok(())
    }

    /// Prepares messages for the log: their tokens are counted and their bytes written. Long ones
    /// take long, so another thread does it.
    pub(crate) async fn incoming(
        &self,
        messages: Vec<Message>,
    ) -> Result<(Vec<Message>, Vec<Incoming>), SessionError> {
        let counter = *self.history.counter();
        let prepare = move |messages: Vec<Message>| {
            let incoming = messages.iter().map(|message| Incoming::of(message, &counter)).collect();
            (messages, incoming)
        };
        let bytes: usize = messages.iter().map(size).sum();
        match bytes >= LONG_TEXTS {
            true => self.on_log(move |_| Ok(prepare(messages))).await,
            false => Ok(prepare(messages)),
        }
    }

    /// Changes the session in memory and adds the change to what is unsaved.
    pub(crate) fn apply_change(&mut self, change: Change) -> waterline_log::Result<()> {
        change(&mut self.session)?;
        self.unsaved.changes.push(change);
        Ok(())
    }
}
