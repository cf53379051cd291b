//! Finds the session of a client's whole message list. The list continues the session, forks it if
//! it diverges, or starts a new one.

use std::sync::Arc;

use waterline::history::History;
use waterline::message::Message;
use waterline_log::{End, Found, Incoming, Session};
use waterline_provider::wire::parse_stored;

use crate::config::SessionConfig;
use crate::error::SessionError;
use crate::registry::{SessionGuard, Sessions};

/// How often the session is looked up, if other callers append to it meanwhile. After the first
/// time the list is a fork, so more than two attempts are rare.
const MAX_ATTEMPTS: usize = 8;

/// A conversation with its session.
#[derive(Debug)]
#[non_exhaustive]
pub struct Submitted {
    /// The session, for exclusive use by this caller.
    pub live: SessionGuard,
    /// The messages that the session does not have yet:
    /// [`LiveSession::call`](crate::LiveSession::call) stores them.
    pub new: Vec<Message>,
    /// How the session was found.
    pub how: SubmitOutcome,
}

/// How the session of a conversation was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SubmitOutcome {
    /// No session of the user matched, so a new one was created.
    Created,
    /// The conversation continues or repeats a session.
    Continued,
    /// The conversation diverges from a session and continues in a fork of it.
    Forked,
    /// The conversation continues a session under another system prompt. The session takes the new
    /// prompt and keeps its previous state in the log.
    Moved,
}

impl Sessions {
    /// Finds the session of a conversation among those of a user. The conversation is complete from
    /// its first message, as clients send it with each call.
    ///
    /// # Errors
    /// If the conversation is empty, or the log cannot be read or written.
    pub async fn submit(
        &self,
        user: Option<&str>,
        conversation: Vec<Message>,
        config: SessionConfig,
    ) -> Result<Submitted, SessionError> {
        if conversation.is_empty() {
            return Err(SessionError::Empty);
        }
        let conversation: Arc<[Message]> = conversation.into();
        for _ in 0..MAX_ATTEMPTS {
            let messages = Arc::clone(&conversation);
            let owner = user.map(str::to_owned);
            let found = self
                .log
                .run(move |log| log.find_conversation(owner.as_deref(), &messages, parse_stored))
                .await?;
            if let Some(submitted) = self.enter_found(user, &conversation, found, &config).await? {
                let session = submitted.live.session().clone();
                // Done in the background: without the record, the session is still found by the ids
                // of its messages. The caller waits only if the log's queue is full.
                self.log.detach(self.log.permit().await?, move |log| {
                    if let Err(error) = log.note_conversation(&session, &conversation) {
                        tracing::warn!(
                            target: "waterline::session",
                            %error,
                            "could not record a conversation"
                        );
                    }
                });
                return Ok(submitted);
            }
        }
        Err(SessionError::Crowded)
    }

    /// Enters the session that was found; `None` if another caller appended to it meanwhile.
    async fn enter_found(
        &self,
        user: Option<&str>,
        conversation: &Arc<[Message]>,
        found: Option<Found>,
        config: &SessionConfig,
    ) -> Result<Option<Submitted>, SessionError> {
        let after = |known: usize| conversation.get(known..).unwrap_or_default().to_vec();
        let Some(found) = found else {
            let session = Session { user: user.map(str::to_owned), ..Session::with_new_id() };
            let created = self.log.write(move |log| log.create(session.clone())).await?;
            let live = self.enter(&created.id, config.clone()).await?;
            return Ok(Some(Submitted { live, new: after(0), how: SubmitOutcome::Created }));
        };
        if found.end == End::Elsewhere {
            let fork = self.log.write({
                let found = found.clone();
                move |log| log.fork(&found.session, Some(found.tip.position()), None)
            });
            let live = self.enter(&fork.await?.id, config.clone()).await?;
            return Ok(Some(Submitted {
                live,
                new: after(found.known),
                how: SubmitOutcome::Forked,
            }));
        }
        let mut live = self.enter(&found.session, config.clone()).await?;
        if live.session().tip != found.tip {
            return Ok(None);
        }
        if found.end == End::Here {
            return Ok(Some(Submitted {
                live,
                new: after(found.known),
                how: SubmitOutcome::Continued,
            }));
        }
        let all = {
            let history = live.shared_history();
            let conversation = Arc::clone(conversation);
            let found = found.clone();
            live.on_log(move |_| Ok(counted(&history, &conversation, &found))).await?
        };
        live.write(move |log| log.resend(&found.session, all.clone())).await?;
        live.load_foreign_changes().await?;
        Ok(Some(Submitted { live, new: Vec::new(), how: SubmitOutcome::Moved }))
    }
}

/// Returns the messages of a conversation to store, with the tokens that the session has already
/// counted for the same content.
fn counted(history: &History, conversation: &[Message], found: &Found) -> Vec<Incoming> {
    let counter = history.counter();
    // The last known message of the conversation is the last one of the session.
    let index = |at: usize| (history.len() + at).checked_sub(found.known);
    let tokens = |at: usize, message: &Message| {
        let index = index(at).filter(|&index| at < found.known && !history.is_repaired(index))?;
        let stored = history.source(index)?;
        let is_same = stored.role == message.role && stored.parts == message.parts;
        is_same.then(|| history.message_tokens(index))
    };
    let incoming = |(at, message)| match tokens(at, message) {
        Some(tokens) => Incoming::counted(message, tokens, counter),
        None => Incoming::of(message, counter),
    };
    conversation.iter().enumerate().map(incoming).collect()
}
