//! Finds the session of a conversation that a client sends in full with each call, and which of its
//! messages are new.
//!
//! The lookup tries the hashes of the conversation's prefixes, longest first, then the ids of its
//! messages. Leading system prompts are ignored, because a client may change them between calls.

use waterline::message::{Message, Role};

use crate::conversation_hash::{ConversationHash, is_same};
use crate::error::{LogError, Result};
use crate::id::Id;
use crate::import::Parse;
use crate::incoming::stored_form;
use crate::log::Log;
use crate::read::each;
use crate::session::{self, Session};
use crate::store::{Connection, Value, values};
use crate::tree::{Path, Tip, known_prefix};

/// How many hashes one statement looks for.
const HASHES_PER_QUERY: usize = 256;

/// How many messages are read at a time to compare them. A small batch saves reads when an early
/// message differs.
const MESSAGES_PER_BATCH: u64 = 64;

/// A session that contains the beginning of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// The id of the session.
    pub session: String,
    /// How many of the conversation's first messages the session contains.
    pub known: usize,
    /// The last of those messages in the session.
    pub tip: Tip,
    /// How the session continues after that message.
    pub end: End,
}

/// How a session continues after the messages that it shares with a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// The session ends there: append the new messages to it.
    Here,
    /// The session continues with other messages: fork it.
    Elsewhere,
    /// The session ends there, but its system prompts differ.
    OtherPrompt,
}

impl Log {
    /// Returns the session of a user that contains the longest known beginning of a conversation.
    /// If several do, returns the newest.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn find_conversation(
        &self,
        user: Option<&str>,
        messages: &[Message],
        parse: Parse,
    ) -> Result<Option<Found>> {
        let lookup = Lookup::new(user, messages, parse);
        self.read(|connection| lookup.find(connection))
    }

    /// Records that a session contains this conversation, so that [`Log::find_conversation`] finds
    /// it. Call it after its messages are appended.
    ///
    /// # Errors
    /// If the log cannot be written.
    pub fn note_conversation(&self, session: &Session, messages: &[Message]) -> Result<()> {
        let dialog = without_prompts(messages);
        let Some(hash) = prefix_hashes(dialog).last().copied() else { return Ok(()) };
        let session_id = session.id.clone();
        let user = session.user.clone().unwrap_or_default();
        let count = dialog.len();
        let position = messages.len();
        self.write(move |connection| {
            let sql = "INSERT INTO conversation (id, user_id, session, said, position) \
                       VALUES ($1, $2, $3, $4, $5) ON CONFLICT (id, user_id) \
                       DO UPDATE SET session = excluded.session, position = excluded.position";
            let values = values![hash.bytes().as_slice(), &user, &session_id, count, position];
            connection.run(sql, values).map(drop)
        })
    }
}

/// Returns the messages without the leading system prompts.
fn without_prompts(messages: &[Message]) -> &[Message] {
    let first =
        messages.iter().position(|message| message.role != Role::System).unwrap_or(messages.len());
    messages.get(first..).unwrap_or_default()
}

/// Returns the hash of each prefix, shortest first.
fn prefix_hashes(dialog: &[Message]) -> Vec<ConversationHash> {
    let mut hash = ConversationHash::EMPTY;
    dialog
        .iter()
        .map(|message| {
            hash = hash.then(message);
            hash
        })
        .collect()
}

struct Lookup<'a> {
    user: Option<&'a str>,
    messages: &'a [Message],
    /// `messages` without the leading system prompts.
    dialog: &'a [Message],
    parse: Parse,
}

/// A session that may contain the conversation: after `prompts` system prompts, its next `matched`
/// messages are the same.
struct MatchingSession {
    session: Session,
    prompts: u64,
    matched: usize,
}

impl<'a> Lookup<'a> {
    fn new(user: Option<&'a str>, messages: &'a [Message], parse: Parse) -> Self {
        Self { user, messages, dialog: without_prompts(messages), parse }
    }

    fn find(&self, connection: &mut dyn Connection) -> Result<Option<Found>> {
        if self.dialog.is_empty() {
            return Ok(None);
        }
        let candidate = match self.by_hash(connection)? {
            Some(candidate) => Some(candidate),
            None => self.by_ids(connection)?,
        };
        candidate.map_or(Ok(None), |candidate| self.follow(connection, candidate))
    }

    /// Returns the session for which the longest prefix was recorded.
    fn by_hash(&self, connection: &mut dyn Connection) -> Result<Option<MatchingSession>> {
        let hashes = prefix_hashes(self.dialog);
        for batch in hashes.rchunks(HASHES_PER_QUERY) {
            let marks: Vec<String> = (2..=batch.len() + 1).map(|at| format!("${at}")).collect();
            let sql = format!(
                "SELECT session, said, position FROM conversation \
                 WHERE user_id = $1 AND id IN ({}) ORDER BY said DESC",
                marks.join(", ")
            );
            let mut values: Vec<Value> = vec![self.user.unwrap_or_default().into()];
            values.extend(batch.iter().map(|hash| Value::from(hash.bytes().as_slice())));
            for mut row in connection.rows(&sql, &values)? {
                let matched = row.size(1);
                let prompts = row.count(2).saturating_sub(matched as u64);
                let session = match session::load(connection, &row.text(0)) {
                    Ok(session) => session,
                    Err(LogError::NoSession { .. }) => continue,
                    Err(error) => return Err(error),
                };
                let candidate = MatchingSession { session, prompts, matched };
                if self.has_last(connection, &candidate)? {
                    return Ok(Some(candidate));
                }
            }
        }
        Ok(None)
    }

    /// Returns whether a session contains the last message of the recorded prefix. A rewind may
    /// have removed it, or it was never appended.
    fn has_last(
        &self,
        connection: &mut dyn Connection,
        candidate: &MatchingSession,
    ) -> Result<bool> {
        let position = candidate.prompts + candidate.matched as u64;
        let tip = candidate.session.tip;
        let last = candidate.matched.checked_sub(1).and_then(|at| self.dialog.get(at));
        let mut found = false;
        if let Some(last) = last.filter(|_| position > 0 && position <= tip.position) {
            each(connection, tip, position - 1..position, &mut |entry| {
                found = is_same(&entry.message(self.parse), last);
                Ok(())
            })?;
        }
        Ok(found)
    }

    /// Returns the session that contains messages with the same ids: one that was imported, or
    /// whose record was lost. System prompts alone do not count, since many conversations share
    /// them.
    fn by_ids(&self, connection: &mut dyn Connection) -> Result<Option<MatchingSession>> {
        let mut parent = None;
        let mut ids = Vec::with_capacity(self.messages.len());
        for message in self.messages {
            let (encoding, bytes) = stored_form(message);
            let id = Id::of(parent, message.role, encoding, &bytes);
            ids.push(id);
            parent = Some(id);
        }
        let (count, last) = known_prefix(connection, &ids)?;
        let prompts = self.messages.len() - self.dialog.len();
        if count <= prompts {
            return Ok(None);
        }
        let session = session_containing(connection, last, self.user)?;
        Ok(session.map(|session| MatchingSession {
            session,
            prompts: prompts as u64,
            matched: count - prompts,
        }))
    }

    /// Extends the match of a candidate as far as its messages equal the conversation's.
    fn follow(
        &self,
        connection: &mut dyn Connection,
        candidate: MatchingSession,
    ) -> Result<Option<Found>> {
        let MatchingSession { session, prompts, mut matched } = candidate;
        let last = session.tip.position.min(prompts + self.dialog.len() as u64);
        loop {
            let start = prompts + matched as u64;
            let until = last.min(start + MESSAGES_PER_BATCH);
            let mut differs = false;
            each(connection, session.tip, start..until, &mut |entry| {
                differs |= !self
                    .dialog
                    .get(matched)
                    .is_some_and(|next| is_same(&entry.message(self.parse), next));
                matched += usize::from(!differs);
                Ok(())
            })?;
            if differs || until == last {
                break;
            }
        }
        let position = prompts + matched as u64;
        let Some(tip) = Path::of(connection, session.tip)?.at(position) else { return Ok(None) };
        let end = match (tip == session.tip, self.has_prompts(connection, session.tip, prompts)?) {
            (true, true) => End::Here,
            (true, false) => End::OtherPrompt,
            (false, true) => End::Elsewhere,
            // Both the prompts and the end differ: this is another conversation.
            (false, false) => return Ok(None),
        };
        let known = self.messages.len() - self.dialog.len() + matched;
        Ok(Some(Found { session: session.id, known, tip, end }))
    }

    /// Returns whether the messages up to `tip` start with the system prompts of the conversation.
    fn has_prompts(&self, connection: &mut dyn Connection, tip: Tip, prompts: u64) -> Result<bool> {
        let expected = self.messages.len() - self.dialog.len();
        if expected as u64 != prompts {
            return Ok(false);
        }
        let mut at = 0;
        let mut same = true;
        each(connection, tip, 0..prompts, &mut |entry| {
            same &= self
                .messages
                .get(at)
                .is_some_and(|prompt| is_same(&entry.message(self.parse), prompt));
            at += 1;
            Ok(())
        })?;
        Ok(same)
    }
}

/// Returns the session of a user that ends at a message, else the newest one that contains it.
fn session_containing(
    connection: &mut dyn Connection,
    message: Tip,
    user: Option<&str>,
) -> Result<Option<Session>> {
    let sql = "WITH RECURSIVE below (branch) AS (\
                   SELECT key FROM branch WHERE parent = $1 AND fork >= $2 \
                   UNION SELECT b.key FROM branch b JOIN below ON b.parent = below.branch) \
                 SELECT id FROM session WHERE relation <> $4 AND COALESCE(user_id, '') = $3 \
                 AND ((branch = $1 AND position >= $2) OR branch IN (SELECT branch FROM below)) \
                 ORDER BY CASE WHEN branch = $1 AND position = $2 THEN 0 ELSE 1 END, active DESC \
                 LIMIT 1";
    let sub_agent = session::Relation::SubAgent.name();
    let values = values![message.branch, message.position, user.unwrap_or_default(), sub_agent];
    let found = connection.row(sql, values)?;
    found.map(|mut row| session::load(connection, &row.text(0))).transpose()
}
