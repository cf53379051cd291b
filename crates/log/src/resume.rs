//! Resumes sessions. The stored request context and the messages since are enough to plan the next
//! call, whatever the length of the session. The other messages are loaded only when a fold needs
//! them.

use std::collections::HashMap;

use waterline::history::{History, Past};
use waterline::message::Message;
use waterline::plan::{Generation, StoredSlot, StoredView};
use waterline::tokens::Counter;

use crate::bulk::{self, Stretch};
use crate::clear::cleared;
use crate::error::Result;
use crate::import::Parse;
use crate::log::Log;
use crate::numbering::set_numbering;
use crate::read::each;
use crate::recent;
use crate::request_context::{self, RequestContext};
use crate::session::{self, Session};
use crate::store::Connection;
use crate::tree::{Path, Tip};

/// A session that is ready for its next call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Resumed {
    /// The session as stored.
    pub session: Session,
    /// The stored request context; empty if there is none.
    pub generation: Generation,
    /// The messages since; the whole history without a stored request context.
    pub history: History,
    /// How many messages at the start are left out because the session was cleared.
    pub cleared: u64,
}

/// The number of messages from which loading uses all cores. For fewer, starting the threads costs
/// more than they save.
pub(crate) const BULK_THRESHOLD: u64 = 2_000;

impl Log {
    /// Resumes a session.
    ///
    /// # Errors
    /// If the session does not exist, or its request context or a message is damaged.
    pub fn resume(&self, session: &str, counter: &Counter, parse: Parse) -> Result<Resumed> {
        self.resume_with(session, counter, parse, BULK_THRESHOLD, usize::MAX)
    }

    /// Like [`Log::resume`], but leaves old messages unread, as [`Log::recent_history`] does, if
    /// the session has no request context and many more than the `newest` messages.
    ///
    /// # Errors
    /// As [`Log::resume`].
    pub fn resume_recent(
        &self,
        session: &str,
        counter: &Counter,
        parse: Parse,
        newest: usize,
    ) -> Result<Resumed> {
        self.resume_with(session, counter, parse, BULK_THRESHOLD, newest)
    }

    /// Like [`Log::resume_recent`], with a bulk threshold that tests can lower.
    fn resume_with(
        &self,
        session: &str,
        counter: &Counter,
        parse: Parse,
        bulk_threshold: u64,
        newest: usize,
    ) -> Result<Resumed> {
        let (mut resumed, rest) = self.read(|connection| {
            let session = session::load(connection, session)?;
            let cleared = cleared(connection, &session)?;
            let context = request_context::current(connection, &session, cleared)?;
            let reader = Reader { tip: session.tip, cleared, parse };
            let (generation, mut history) = match context {
                Some(context) => reader.resume_from(connection, context, counter)?,
                None => (Generation::new(), History::new(*counter)),
            };
            set_numbering(connection, &mut history, &session, cleared)?;
            let after = cleared + history.len() as u64;
            let rest = if history.is_empty() && is_much_longer(session.tip.position - after, newest)
            {
                recent::stretches(connection, session.tip, after, newest, &[])?
            } else {
                load_few(connection, &mut history, session.tip, after, parse, bulk_threshold)?
            };
            Ok((Resumed { session, generation, history, cleared }, rest))
        })?;
        bulk::load(self, &mut resumed.history, &rest, parse)?;
        Ok(resumed)
    }

    /// Returns the whole history of a session since it was cleared. A fold needs it.
    ///
    /// # Errors
    /// If the session does not exist or a message is damaged.
    pub fn history(&self, session: &str, counter: &Counter, parse: Parse) -> Result<History> {
        self.history_with(session, counter, parse, BULK_THRESHOLD)
    }

    /// Like [`Log::history`], with a bulk threshold that tests can lower.
    fn history_with(
        &self,
        session: &str,
        counter: &Counter,
        parse: Parse,
        bulk_threshold: u64,
    ) -> Result<History> {
        let (mut history, rest) = self.read(|connection| {
            let session = session::load(connection, session)?;
            let cleared = cleared(connection, &session)?;
            let mut history = History::new(*counter);
            set_numbering(connection, &mut history, &session, cleared)?;
            let rest =
                load_few(connection, &mut history, session.tip, cleared, parse, bulk_threshold)?;
            Ok((history, rest))
        })?;
        bulk::load(self, &mut history, &rest, parse)?;
        Ok(history)
    }
}

/// Returns whether enough messages are older than the newest ones to leave them unread.
const fn is_much_longer(messages: u64, newest: usize) -> bool {
    messages / 3 * 2 > newest as u64
}

/// Appends the messages after position `after` up to `tip` to a history. Does not count the tokens
/// of a message again if the same counter counted them before. If there are many messages, returns
/// where they are instead: they are loaded with several connections, when this one is free.
fn load_few(
    connection: &mut dyn Connection,
    history: &mut History,
    tip: Tip,
    after: u64,
    parse: Parse,
    bulk_threshold: u64,
) -> Result<Vec<Stretch>> {
    if tip.position.saturating_sub(after) >= bulk_threshold {
        return Ok(Path::of(connection, tip)?.runs(after).map(Stretch::with_texts).collect());
    }
    let name = history.counter().name();
    each(connection, tip, after..tip.position, &mut |entry| {
        let tokens = (entry.counter == name).then_some(entry.tokens);
        let message = entry.into_message(parse);
        match tokens {
            Some(tokens) => history.append_counted(message, tokens),
            None => history.append(message),
        };
        Ok(())
    })?;
    Ok(Vec::new())
}

/// Loads the messages that a request context refers to.
struct Reader {
    tip: Tip,
    cleared: u64,
    parse: Parse,
}

impl Reader {
    /// Returns the request context with its messages, and an empty history that continues after it.
    fn resume_from(
        &self,
        connection: &mut dyn Connection,
        context: RequestContext,
        counter: &Counter,
    ) -> Result<(Generation, History)> {
        let RequestContext { head, past, slots } = context;
        let mut messages = self.sent_messages(connection, &slots, past)?;
        let generation = Generation::restore(head, slots, |index| messages.remove(&index));
        let history = History::after(*counter, past, generation.views(past.messages));
        Ok((generation, history))
    }

    /// Returns the messages that the request context contains unchanged, by index. Those after
    /// `past` are left out, because they are loaded as part of the history.
    fn sent_messages(
        &self,
        connection: &mut dyn Connection,
        slots: &[StoredSlot],
        past: Past,
    ) -> Result<HashMap<usize, Message>> {
        let views = slots.iter().flat_map(|slot| &slot.views);
        let mut wanted: Vec<usize> = views
            .filter_map(|view| match view {
                StoredView::Source(index) => Some(*index).filter(|&index| index < past.messages),
                StoredView::Made(_) => None,
            })
            .collect();
        wanted.sort_unstable();
        let mut messages = HashMap::with_capacity(wanted.len());
        // Read neighbors together: most of the messages are consecutive.
        for run in wanted.chunk_by(|a, b| a + 1 == *b) {
            let (Some(&first), Some(&last)) = (run.first(), run.last()) else { continue };
            let range = self.cleared + first as u64..self.cleared + last as u64 + 1;
            each(connection, self.tip, range, &mut |entry| {
                let index = usize::try_from(entry.position - 1 - self.cleared).unwrap_or_default();
                messages.insert(index, entry.into_message(self.parse));
                Ok(())
            })?;
        }
        Ok(messages)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use waterline::ledger::Seen;
    use waterline::message::{Message, Part, Role, Wire};
    use waterline::tokens::Method;

    use super::*;
    use crate::incoming::Incoming;

    /// Several parts of `bulk.rs` on each branch.
    const MESSAGES: usize = 601;

    fn counter() -> Counter {
        Counter::new(Method::Chars4, 1_000)
    }

    fn parse(json: Arc<String>, _: Wire, role: Role) -> Option<Message> {
        let value: serde_json::Value = serde_json::from_str(&json).ok()?;
        Some(Message::new(role, vec![Part::text(value.get("content")?.as_str()?)]))
    }

    /// Returns messages of every kind that loading treats differently: stored by the engine, stored
    /// as JSON of a wire, not parseable, counted by another counter, and repaired.
    fn incoming(number: usize) -> Incoming {
        let text = format!("open src/file_{number}.rs, commit {number:08x}f, 数据 {}", number % 7);
        let role = if number.is_multiple_of(2) { Role::User } else { Role::Assistant };
        let message = Message::new(role, vec![Part::text(&text)]);
        match number % 5 {
            0 => Incoming::unread(role, [b"\xff", text.as_bytes()].concat(), &counter()),
            1 => Incoming {
                encoding: crate::Encoding::Wire(Wire::OPENAI_CHAT),
                bytes: json!({"role": role, "content": text}).to_string().into_bytes(),
                ..Incoming::of(&message, &counter())
            },
            2 => Incoming::of(&message, &Counter::new(Method::AgentGraph, 1_000)),
            3 => {
                let parts = vec![Part::text(&text), Part::text(" ")];
                Incoming::of(&Message::new(role, parts), &counter())
            }
            _ => Incoming::of(&message, &counter()),
        }
    }

    /// A log with a session `s` whose messages are on two branches.
    fn filled(directory: &std::path::Path) -> Log {
        let log = Log::open(&directory.join("log.db").display().to_string()).unwrap();
        let parent = log.create(Session::new("parent")).unwrap();
        let system = Incoming::of(&Message::system("be brief"), &counter());
        let shared = std::iter::once(system).chain((1..100).map(incoming)).collect();
        let tip = log.append("parent", parent.tip, shared).unwrap().tip;
        log.fork("parent", None, Some("s".to_owned())).unwrap();
        log.append("parent", tip, vec![incoming(10_000)]).unwrap();
        log.append("s", tip, (100..MESSAGES).map(incoming).collect()).unwrap();
        log
    }

    /// Returns each message as stored and as sent, with its tokens and its atom.
    fn messages(history: &History) -> Vec<(String, String, usize, Option<usize>)> {
        let json = |message: Option<&Message>| serde_json::to_string(&message).unwrap();
        let of = |index| {
            (
                json(history.source(index)),
                json(history.message(index)),
                history.message_tokens(index),
                history.atom_of(index),
            )
        };
        (0..history.len()).map(of).collect()
    }

    fn values(history: &History) -> Vec<(&str, &Seen)> {
        let mut values: Vec<_> = history.values().iter().collect();
        values.sort_by_key(|(value, _)| *value);
        values
    }

    fn assert_same(bulk: &History, plain: &History) {
        assert_eq!(messages(bulk), messages(plain));
        assert_eq!(bulk.tokens(), plain.tokens());
        assert_eq!(bulk.system_tokens(), plain.system_tokens());
        assert_eq!(format!("{:?}", bulk.atoms()), format!("{:?}", plain.atoms()));
        assert_eq!(bulk.turns(), plain.turns());
        assert_eq!(bulk.warnings(), plain.warnings());
        assert_eq!(values(bulk), values(plain));
    }

    #[test]
    fn bulk_and_plain_loading_give_the_same_history() {
        let directory = tempfile::tempdir().unwrap();
        let log = filled(directory.path());
        let bulk = log.history_with("s", &counter(), parse, 1).unwrap();
        let plain = log.history_with("s", &counter(), parse, u64::MAX).unwrap();
        assert_eq!(plain.len(), MESSAGES);
        assert!(!plain.values().is_empty());
        assert!((0..plain.len()).any(|index| plain.is_repaired(index)));
        assert_same(&bulk, &plain);
    }

    #[test]
    fn bulk_and_plain_loading_resume_a_cleared_session_alike() {
        let directory = tempfile::tempdir().unwrap();
        let log = filled(directory.path());
        log.clear("s").unwrap();
        let tip = log.session("s").unwrap().tip;
        log.append("s", tip, (1_000..1_020).map(incoming).collect()).unwrap();
        let bulk = log.resume_with("s", &counter(), parse, 20, usize::MAX).unwrap();
        let plain = log.resume_with("s", &counter(), parse, 21, usize::MAX).unwrap();
        assert_eq!((plain.cleared, plain.history.len()), (MESSAGES as u64, 20));
        assert_same(&bulk.history, &plain.history);
    }
}
