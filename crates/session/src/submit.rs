//! A client's whole message list finds its session: it goes on where the session ends, forks it
//! where it went another way, and begins a session where it is new.

use std::sync::Arc;

use waterline::message::Message;
use waterline_log::{End, Found, Incoming, Session};
use waterline_provider::wire::parse_stored;

use crate::config::SessionConfig;
use crate::error::SessionError;
use crate::registry::{Entered, Sessions};

/// How often the session is looked up again, because another caller moved it on meanwhile. After
/// the first time the list is a fork, so more than two are rare.
const TRIES: usize = 8;

/// A conversation in its session.
#[derive(Debug)]
pub struct Submitted {
    /// The session, for this caller alone.
    pub live: Entered,
    /// The messages that the session does not have yet:
    /// [`LiveSession::call`](crate::LiveSession::call) stores them.
    pub new: Vec<Message>,
    /// How the session was found.
    pub how: How,
}

/// How a conversation found its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// No session of the user has it: a new one does.
    Created,
    /// It goes on from the end of a session, or repeats it.
    Continued,
    /// It leaves the way of a session, and goes on in a fork of it.
    Forked,
    /// It goes on from the end of a session under another system prompt. The session follows; what
    /// it had is kept.
    Moved,
}

impl Sessions {
    /// Finds the session of a conversation, given from its first message on as clients send it with
    /// each call, among those of a user.
    ///
    /// # Errors
    /// When the conversation is empty, or the log cannot be read or written.
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
        for _ in 0..TRIES {
            let (asked, whose) = (Arc::clone(&conversation), user.map(str::to_owned));
            let found = self
                .log
                .run(move |log| log.find_conversation(whose.as_deref(), &asked, parse_stored))
                .await?;
            if let Some(submitted) = self.settle_in(user, &conversation, found, &config).await? {
                let session = submitted.live.session().clone();
                // Not waited for: without the note the session is found by the ids of its messages.
                self.log.detach(move |log| {
                    if let Err(error) = log.note_conversation(&session, &conversation) {
                        tracing::warn!(target: "waterline::session", %error, "a conversation was not noted");
                    }
                });
                return Ok(submitted);
            }
        }
        Err(SessionError::Crowded)
    }

    /// Enters the session that was found; nothing where that moved on meanwhile.
    async fn settle_in(
        &self,
        user: Option<&str>,
        conversation: &Arc<[Message]>,
        found: Option<Found>,
        config: &SessionConfig,
    ) -> Result<Option<Submitted>, SessionError> {
        let behind = |known: usize| conversation.get(known..).unwrap_or_default().to_vec();
        let Some(found) = found else {
            let session = Session { user: user.map(str::to_owned), ..Session::with_new_id() };
            let made = self.log.write(move |log| log.create(session.clone())).await?;
            let live = self.enter(&made.id, config.clone()).await?;
            return Ok(Some(Submitted { live, new: behind(0), how: How::Created }));
        };
        if found.end == End::Elsewhere {
            let fork = self.log.write({
                let found = found.clone();
                move |log| log.fork(&found.session, Some(found.tip.position()), None)
            });
            let live = self.enter(&fork.await?.id, config.clone()).await?;
            return Ok(Some(Submitted { live, new: behind(found.known), how: How::Forked }));
        }
        let mut live = self.enter(&found.session, config.clone()).await?;
        if live.session().tip != found.tip {
            return Ok(None);
        }
        if found.end == End::Here {
            return Ok(Some(Submitted { live, new: behind(found.known), how: How::Continued }));
        }
        let counter = *live.history().counter();
        let all: Vec<Incoming> =
            conversation.iter().map(|message| Incoming::of(message, &counter)).collect();
        self.log.write(move |log| log.resend(&found.session, all.clone())).await?;
        live.catch_up().await?;
        Ok(Some(Submitted { live, new: Vec::new(), how: How::Moved }))
    }
}
