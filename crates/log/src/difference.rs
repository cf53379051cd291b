//! Compares two sessions message by message.

use crate::entry::Entry;
use crate::error::Result;
use crate::log::Log;
use crate::session::Session;

/// What two sessions share, and what each has of its own.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Difference {
    /// How many leading messages both share.
    pub shared: u64,
    /// The first session.
    pub left: Side,
    /// The second session.
    pub right: Side,
}

/// One session of a comparison.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Side {
    /// The session.
    pub session: Session,
    /// The messages after those that both sessions share.
    pub entries: Vec<Entry>,
}

impl Log {
    /// Compares two sessions, and reads the messages that only one of them has.
    ///
    /// # Errors
    /// If one of them does not exist, or a message is damaged.
    pub fn difference(&self, left: Session, right: Session) -> Result<Difference> {
        let shared = self.compare(&left.id, &right.id)?.shared;
        let side = |session: Session| -> Result<Side> {
            let entries = self.entries_in(session.tip, shared..session.tip.position())?;
            Ok(Side { session, entries })
        };
        Ok(Difference { shared, left: side(left)?, right: side(right)? })
    }
}
