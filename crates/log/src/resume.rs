//! Taking a session up again. What was sent last, and the messages since, are enough to plan the
//! next call; the rest of a session of any length stays where it is until a fold needs it.

use std::collections::HashMap;

use waterline::history::{History, Past};
use waterline::message::Message;
use waterline::plan::{FrozenItem, FrozenSlot, Generation};
use waterline::tokens::Counter;

use crate::clear::cleared;
use crate::error::Result;
use crate::frozen::{self, Frozen};
use crate::import::Parse;
use crate::log::Log;
use crate::read::each;
use crate::session::{self, Session};
use crate::store::Connection;
use crate::tree::Tip;

/// A session, ready for its next call.
#[derive(Clone, Debug)]
pub struct Resumed {
    /// The session.
    pub session: Session,
    /// What was sent last.
    pub generation: Generation,
    /// The messages since, behind what was sent; the whole history where nothing was sent.
    pub history: History,
    /// How many messages at the beginning are left out, because the session was cleared.
    pub cleared: u64,
}

/// From how many messages on it pays to prepare them on all cores.
const MANY: u64 = 2_000;

impl Log {
    /// Takes a session up again.
    ///
    /// # Errors
    /// When there is no such session, or something is damaged.
    pub fn resume(&self, session: &str, counter: &Counter, parse: Parse) -> Result<Resumed> {
        self.read(|connection| {
            let session = session::load(connection, session)?;
            let cleared = cleared(connection, &session)?;
            let frozen = frozen::current(connection, &session, cleared)?;
            let reader = Reader { tip: session.tip, cleared, parse };
            let (generation, mut history) = match frozen {
                Some(frozen) => reader.behind(connection, frozen, counter)?,
                None => (Generation::new(), History::new(*counter)),
            };
            let after = cleared + history.len() as u64;
            load(connection, &mut history, session.tip, after, parse)?;
            Ok(Resumed { session, generation, history, cleared })
        })
    }

    /// The whole history of a session since it was cleared: what a fold needs.
    ///
    /// # Errors
    /// When there is no such session, or a message is damaged.
    pub fn history(&self, session: &str, counter: &Counter, parse: Parse) -> Result<History> {
        self.read(|connection| {
            let session = session::load(connection, session)?;
            let cleared = cleared(connection, &session)?;
            let mut history = History::new(*counter);
            load(connection, &mut history, session.tip, cleared, parse)?;
            Ok(history)
        })
    }
}

/// Appends the messages behind a place. Tokens that were counted when a message came need not be
/// counted again.
fn load(
    connection: &mut dyn Connection,
    history: &mut History,
    tip: Tip,
    after: u64,
    parse: Parse,
) -> Result<()> {
    if tip.position.saturating_sub(after) >= MANY {
        return crate::bulk::load(connection, history, tip, after, parse);
    }
    let name = history.counter().name();
    each(connection, tip, after..tip.position, &mut |entry| {
        let message = entry.message(parse);
        if entry.counter == name {
            history.append_counted(message, entry.tokens);
        } else {
            history.append(message);
        }
        Ok(())
    })
}

struct Reader {
    tip: Tip,
    cleared: u64,
    parse: Parse,
}

impl Reader {
    /// What was sent, with the messages it shows, and an empty history behind it.
    fn behind(
        &self,
        connection: &mut dyn Connection,
        frozen: Frozen,
        counter: &Counter,
    ) -> Result<(Generation, History)> {
        let Frozen { head, past, slots } = frozen;
        let mut shown = self.shown(connection, &slots, past)?;
        let generation = Generation::thaw(head, slots, |index| shown.remove(&index));
        let history = History::behind(*counter, past, generation.views(past.messages));
        Ok((generation, history))
    }

    /// The messages that what was sent shows as they came, as far as they are not loaded anyway.
    fn shown(
        &self,
        connection: &mut dyn Connection,
        slots: &[FrozenSlot],
        past: Past,
    ) -> Result<HashMap<usize, Message>> {
        let items = slots.iter().flat_map(|slot| &slot.items);
        let mut wanted: Vec<usize> = items
            .filter_map(|item| match item {
                FrozenItem::Source(index) => Some(*index).filter(|&index| index < past.messages),
                FrozenItem::Made(_) => None,
            })
            .collect();
        wanted.sort_unstable();
        let mut shown = HashMap::with_capacity(wanted.len());
        // Neighbours are read together: most of what is shown stood in one stretch.
        for run in wanted.chunk_by(|a, b| a + 1 == *b) {
            let (Some(&first), Some(&last)) = (run.first(), run.last()) else { continue };
            let range = self.cleared + first as u64..self.cleared + last as u64 + 1;
            each(connection, self.tip, range, &mut |entry| {
                let index = usize::try_from(entry.position - 1 - self.cleared).unwrap_or_default();
                shown.insert(index, entry.message(self.parse));
                Ok(())
            })?;
        }
        Ok(shown)
    }
}
