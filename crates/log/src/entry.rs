//! A message as the log gives it back.

use std::sync::Arc;

use waterline::message::{Message, Part, Raw, Role, Wire};

use crate::compress::unpack;
use crate::encoding::{Encoding, role_of_code};
use crate::error::Result;
use crate::id::Id;
use crate::store::{Connection, Row, values};
use crate::tree::{Run, hash};

/// A stored message.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its id.
    pub id: Id,
    /// Its place, from 1.
    pub position: u64,
    /// Who speaks.
    pub role: Role,
    /// How the bytes are to be read.
    pub encoding: Encoding,
    /// The bytes as they came.
    pub bytes: Vec<u8>,
    /// Its tokens.
    pub tokens: usize,
    /// By which method they were counted.
    pub counter: String,
    /// When it was said, in milliseconds since 1970.
    pub time: i64,
}

/// What an [`Entry`] is read from: `message m JOIN content c`.
pub(crate) const COLUMNS: &str = "m.id, m.position, m.created, c.role, c.wire, c.tokens, c.counter, c.size, c.packed, c.bytes, c.hash";

impl Entry {
    pub(crate) fn of(name: &str, mut row: Row) -> Result<Self> {
        let damaged =
            |text: String| crate::error::LogError::Damaged { name: name.to_owned(), text };
        let position = row.count(1);
        let id = Id::stored(&row.bytes(0))
            .ok_or_else(|| damaged(format!("the id of message {position}")))?;
        let (role, encoding) = (role_of_code(row.int(3)), Encoding::of_code(row.int(4)));
        let bytes = unpack(row.int(8), row.bytes(9), row.size(7))
            .filter(|bytes| hash(role, encoding, bytes) == row.bytes(10));
        let bytes = bytes.ok_or_else(|| damaged(format!("message {position}, {}", id.short())))?;
        let (tokens, counter) = (row.size(5), row.text(6));
        Ok(Self { id, position, role, encoding, bytes, tokens, counter, time: row.int(2) })
    }

    /// The message. `parse` reads the JSON of a wire; bytes that nobody can read become a message
    /// of their text.
    pub fn message(
        &self,
        parse: impl FnOnce(Arc<String>, Wire, Role) -> Option<Message>,
    ) -> Message {
        let text = || String::from_utf8_lossy(&self.bytes).into_owned();
        let read = match self.encoding {
            Encoding::Neutral => serde_json::from_slice(&self.bytes).ok(),
            Encoding::Wire(wire) => parse(Arc::new(text()), wire, self.role),
            Encoding::Bytes => None,
        };
        read.unwrap_or_else(|| Message::new(self.role, vec![Part::text(text())]))
    }

    /// The wire it came on.
    #[must_use]
    pub fn wire(&self) -> Option<Wire> {
        match self.encoding {
            Encoding::Wire(wire) => Some(wire),
            Encoding::Neutral => {
                let message: Option<Message> = serde_json::from_slice(&self.bytes).ok();
                message.and_then(|message| message.raw.as_ref().map(Raw::wire))
            }
            Encoding::Bytes => None,
        }
    }
}

/// Reads the entries of a run, in order, up to one that cannot be read.
pub(crate) fn each_of_run(
    connection: &mut dyn Connection,
    run: Run,
    visit: &mut dyn FnMut(Entry) -> Result<()>,
) -> Result<()> {
    attempt_each(connection, run, &mut |_, entry| visit(entry?))
}

/// Reads the entries of a run, in order; of one that cannot be read, what it is called and why.
pub(crate) fn attempt_each(
    connection: &mut dyn Connection,
    run: Run,
    visit: &mut dyn FnMut(Named, Result<Entry>) -> Result<()>,
) -> Result<()> {
    let name = connection.name().to_owned();
    rows_of_run(connection, run, &mut |row| {
        let named = Named { id: row.peek(0).and_then(Id::stored), position: row.count(1) };
        visit(named, Entry::of(&name, row))
    })
}

/// Reads the rows of a run, in order, each of which is an [`Entry`] yet to be unpacked.
pub(crate) fn rows_of_run(
    connection: &mut dyn Connection,
    run: Run,
    visit: &mut dyn FnMut(Row) -> Result<()>,
) -> Result<()> {
    let sql = format!(
        "SELECT {COLUMNS} FROM message m JOIN content c ON c.key = m.content \
         WHERE m.branch = $1 AND m.position > $2 AND m.position <= $3 ORDER BY m.position"
    );
    connection.each(&sql, values![run.branch, run.after, run.upto], visit)
}

/// What is known of a message whose bytes may be damaged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named {
    pub(crate) id: Option<Id>,
    pub(crate) position: u64,
}
