//! Whole conversations, as clients send them with each call: which session has them, and from where
//! on they are new.
//!
//! A conversation is looked up by what was said up to its newest messages, then by the ids of its
//! messages. System prompts at its beginning do not count: a client may change them from call to
//! call.

use waterline::message::{Message, Role};

use crate::error::Result;
use crate::id::Id;
use crate::import::Parse;
use crate::incoming::form_of;
use crate::log::Log;
use crate::meaning::{Meaning, is_same};
use crate::read::each;
use crate::session::{self, Session};
use crate::store::{Connection, Value, values};
use crate::tree::{Path, Tip, known};

/// How many ids are looked for with one statement.
const IDS: usize = 256;

/// How many messages are compared at a time: where they differ, the others need not be read.
const MESSAGES: u64 = 64;

/// A session that has the beginning of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// The session.
    pub session: String,
    /// How many messages of the conversation it has, from the first one on.
    pub known: usize,
    /// The place of the last of them.
    pub tip: Tip,
    /// How it goes on from there.
    pub end: End,
}

/// How a session stands to a conversation whose beginning it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It ends there: what is new goes behind it.
    Here,
    /// It went on with something else: the conversation is a fork of it.
    Elsewhere,
    /// It ends there, and begins with another system prompt.
    OtherPrompt,
}

impl Log {
    /// The session of a user that has a conversation, as far as possible; the newest of several.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn find_conversation(
        &self,
        user: Option<&str>,
        messages: &[Message],
        parse: Parse,
    ) -> Result<Option<Found>> {
        let asked = Asked::new(user, messages, parse);
        self.read(|connection| asked.find(connection))
    }

    /// Remembers that a session has a conversation, from its first message on, once its newest
    /// messages are appended.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn note_conversation(&self, session: &Session, messages: &[Message]) -> Result<()> {
        let said = said(messages);
        let Some(id) = chain(said).last().copied() else { return Ok(()) };
        let (session, user) = (session.id.clone(), session.user.clone().unwrap_or_default());
        let (count, position) = (said.len(), messages.len());
        self.write(move |connection| {
            let sql = "INSERT INTO conversation (id, user_id, session, said, position) VALUES ($1, $2, $3, $4, $5) \
                       ON CONFLICT (id, user_id) DO UPDATE SET session = excluded.session, position = excluded.position";
            connection.run(sql, values![id.bytes().as_slice(), &user, &session, count, position]).map(drop)
        })
    }
}

/// What was said, without the system prompts at the beginning.
fn said(messages: &[Message]) -> &[Message] {
    let first =
        messages.iter().position(|message| message.role != Role::System).unwrap_or(messages.len());
    messages.get(first..).unwrap_or_default()
}

/// What was said up to each message.
fn chain(said: &[Message]) -> Vec<Meaning> {
    let mut before = Meaning::NOTHING;
    said.iter()
        .map(|message| {
            before = before.then(message);
            before
        })
        .collect()
}

struct Asked<'a> {
    user: Option<&'a str>,
    messages: &'a [Message],
    said: &'a [Message],
    parse: Parse,
}

/// A session that may have the conversation: its first `said` messages after `prompts` system
/// prompts are the same.
struct Candidate {
    session: Session,
    prompts: u64,
    said: usize,
}

impl<'a> Asked<'a> {
    fn new(user: Option<&'a str>, messages: &'a [Message], parse: Parse) -> Self {
        Self { user, messages, said: said(messages), parse }
    }

    fn find(&self, connection: &mut dyn Connection) -> Result<Option<Found>> {
        if self.said.is_empty() {
            return Ok(None);
        }
        let candidate = match self.noted(connection)? {
            Some(noted) => Some(noted),
            None => self.by_ids(connection)?,
        };
        candidate.map_or(Ok(None), |candidate| self.follow(connection, candidate))
    }

    /// The session for which the most of the conversation was noted.
    fn noted(&self, connection: &mut dyn Connection) -> Result<Option<Candidate>> {
        let chain = chain(self.said);
        for ids in chain.rchunks(IDS) {
            let marks: Vec<String> = (2..=ids.len() + 1).map(|at| format!("${at}")).collect();
            let sql = format!(
                "SELECT session, said, position FROM conversation WHERE user_id = $1 AND id IN ({}) ORDER BY said DESC",
                marks.join(", ")
            );
            let mut values: Vec<Value> = vec![self.user.unwrap_or_default().into()];
            values.extend(ids.iter().map(|id| Value::from(id.bytes().as_slice())));
            for mut row in connection.rows(&sql, &values)? {
                let (said, position) = (row.size(1), row.count(2));
                let Ok(session) = session::load(connection, &row.text(0)) else { continue };
                let candidate =
                    Candidate { session, prompts: position.saturating_sub(said as u64), said };
                if self.is_there(connection, &candidate)? {
                    return Ok(Some(candidate));
                }
            }
        }
        Ok(None)
    }

    /// Whether a session has the last message that was noted: it may have been taken back, or never
    /// have come.
    fn is_there(&self, connection: &mut dyn Connection, candidate: &Candidate) -> Result<bool> {
        let position = candidate.prompts + candidate.said as u64;
        let (mut found, tip) = (false, candidate.session.tip);
        let asked = candidate.said.checked_sub(1).and_then(|at| self.said.get(at));
        if let Some(asked) = asked.filter(|_| position > 0 && position <= tip.position) {
            each(connection, tip, position - 1..position, &mut |entry| {
                found = is_same(&entry.message(self.parse), asked);
                Ok(())
            })?;
        }
        Ok(found)
    }

    /// The session in which the messages have the same ids: one that was imported, or whose note
    /// was lost. System prompts alone are many conversations' beginning.
    fn by_ids(&self, connection: &mut dyn Connection) -> Result<Option<Candidate>> {
        let mut parent = None;
        let mut ids = Vec::with_capacity(self.messages.len());
        for message in self.messages {
            let (encoding, bytes) = form_of(message);
            let id = Id::of(parent, message.role, encoding, &bytes);
            ids.push(id);
            parent = Some(id);
        }
        let (count, place) = known(connection, &ids)?;
        let prompts = self.messages.len() - self.said.len();
        if count <= prompts {
            return Ok(None);
        }
        let session = through(connection, place, self.user)?;
        Ok(session.map(|session| Candidate {
            session,
            prompts: prompts as u64,
            said: count - prompts,
        }))
    }

    /// How far a session has the conversation behind what is known of it.
    fn follow(
        &self,
        connection: &mut dyn Connection,
        candidate: Candidate,
    ) -> Result<Option<Found>> {
        let Candidate { session, prompts, mut said } = candidate;
        let end = session.tip.position.min(prompts + self.said.len() as u64);
        loop {
            let start = prompts + said as u64;
            let until = end.min(start + MESSAGES);
            let mut differs = false;
            each(connection, session.tip, start..until, &mut |entry| {
                differs |= !self
                    .said
                    .get(said)
                    .is_some_and(|next| is_same(&entry.message(self.parse), next));
                said += usize::from(!differs);
                Ok(())
            })?;
            if differs || until == end {
                break;
            }
        }
        let position = prompts + said as u64;
        let Some(tip) = Path::of(connection, session.tip)?.at(position) else { return Ok(None) };
        let end = match (tip == session.tip, self.has_prompts(connection, session.tip, prompts)?) {
            (true, true) => End::Here,
            (true, false) => End::OtherPrompt,
            (false, true) => End::Elsewhere,
            // Neither its beginning nor its end is that of the conversation.
            (false, false) => return Ok(None),
        };
        let known = self.messages.len() - self.said.len() + said;
        Ok(Some(Found { session: session.id, known, tip, end }))
    }

    /// Whether the way to a place begins with the system prompts of the conversation.
    fn has_prompts(&self, connection: &mut dyn Connection, tip: Tip, prompts: u64) -> Result<bool> {
        let asked = self.messages.len() - self.said.len();
        if asked as u64 != prompts {
            return Ok(false);
        }
        let (mut at, mut same) = (0, true);
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

/// The session of a user that ends at a place; else the newest that leads through it.
fn through(
    connection: &mut dyn Connection,
    place: Tip,
    user: Option<&str>,
) -> Result<Option<Session>> {
    let below = "WITH RECURSIVE below (branch) AS (\
                   SELECT key FROM branch WHERE parent = $1 AND fork >= $2 \
                   UNION ALL SELECT b.key FROM branch b JOIN below ON b.parent = below.branch) \
                 SELECT id FROM session WHERE relation <> $4 AND COALESCE(user_id, '') = $3 \
                 AND ((branch = $1 AND position >= $2) OR branch IN (SELECT branch FROM below)) \
                 ORDER BY CASE WHEN branch = $1 AND position = $2 THEN 0 ELSE 1 END, active DESC LIMIT 1";
    let relation = session::Relation::SubAgent.name();
    let values = values![place.branch, place.position, user.unwrap_or_default(), relation];
    let found = connection.row(below, values)?;
    found.map(|mut row| session::load(connection, &row.text(0))).transpose()
}
