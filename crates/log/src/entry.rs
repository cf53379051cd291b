//! Messages as the log returns them.

use std::sync::Arc;

use waterline::message::{Message, Part, Raw, Role, Wire};

use crate::compress::decompress;
use crate::encoding::{Encoding, role_of_code};
use crate::error::Result;
use crate::id::Id;
use crate::store::{Connection, Dialect, Row, checksum, values};
use crate::tree::{Run, hash};
use waterline::phrase;
use waterline::phrase::Phrase;

/// A stored message.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// The id, a hash of this message and all messages before it.
    pub id: Id,
    /// The position in the session, from 1.
    pub position: u64,
    /// Who wrote it.
    pub role: Role,
    /// The encoding of the bytes.
    pub encoding: Encoding,
    /// The bytes as received.
    pub bytes: Vec<u8>,
    /// The number of tokens.
    pub tokens: usize,
    /// The name of the counter that counted them.
    pub counter: String,
    /// The time of the message, in milliseconds since 1970.
    pub time: i64,
}

/// Returns the columns of an [`Entry`], in `message m JOIN content c`.
pub(crate) fn columns(dialect: Dialect) -> String {
    format!(
        "m.id, m.position, m.created, c.role, c.wire, c.tokens, c.counter, c.size, c.packed, \
         c.bytes, c.hash, {}, {}",
        checksum::MESSAGE.intact(dialect, "m."),
        checksum::CONTENT.intact(dialect, "c.")
    )
}

impl Entry {
    pub(crate) fn of(name: &str, mut row: Row) -> Result<Self> {
        let damaged =
            |text: Phrase| crate::error::LogError::Damaged { name: name.to_owned(), text };
        let position = row.count(1);
        let id = Id::stored(&row.bytes(0)).ok_or_else(|| {
            damaged(phrase!(
                "damage-id",
                "the id of message {position}",
                position = position.to_string()
            ))
        })?;
        let role = role_of_code(row.int(3));
        let encoding = Encoding::of_code(row.int(4));
        let is_intact = row.int(11) == 1 && row.int(12) == 1;
        let bytes = decompress(row.int(8), row.bytes(9), row.size(7))
            .filter(|bytes| is_intact && hash(role, encoding, bytes) == row.bytes(10));
        let bytes = bytes.ok_or_else(|| {
            damaged(phrase!(
                "damage-message",
                "message {position}, id {id}",
                position = position.to_string(),
                id = id.short()
            ))
        })?;
        Ok(Self {
            id,
            position,
            role,
            encoding,
            bytes,
            tokens: row.size(5),
            counter: row.text(6),
            time: row.int(2),
        })
    }

    /// Returns the message. `parse` parses the JSON of a wire. Bytes that cannot be parsed become a
    /// text message.
    pub fn message(
        &self,
        parse: impl FnOnce(Arc<String>, Wire, Role) -> Option<Message>,
    ) -> Message {
        self.clone().into_message(parse)
    }

    /// Like [`Entry::message`], without copying the bytes.
    pub fn into_message(
        self,
        parse: impl FnOnce(Arc<String>, Wire, Role) -> Option<Message>,
    ) -> Message {
        if self.encoding == Encoding::Neutral
            && let Ok(message) = serde_json::from_slice(&self.bytes)
        {
            return message;
        }
        let text = Arc::new(lossy_text(self.bytes));
        let parsed = match self.encoding {
            Encoding::Wire(wire) => parse(Arc::clone(&text), wire, self.role),
            Encoding::Neutral | Encoding::Bytes => None,
        };
        let as_text = || Message::new(self.role, vec![Part::text(Arc::unwrap_or_clone(text))]);
        parsed.unwrap_or_else(as_text)
    }

    /// Returns the wire that the message was received on, if known.
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

/// Returns bytes as text. Bytes that are not UTF-8 are replaced.
fn lossy_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Visits the entries of a run in order, and stops at the first damaged one.
pub(crate) fn each_of_run(
    connection: &mut dyn Connection,
    run: Run,
    visit: &mut dyn FnMut(Entry) -> Result<()>,
) -> Result<()> {
    each_result_of_run(connection, run, &mut |_, entry| visit(entry?))
}

/// Visits the entries of a run in order. For a damaged entry, `visit` receives the error.
pub(crate) fn each_result_of_run(
    connection: &mut dyn Connection,
    run: Run,
    visit: &mut dyn FnMut(EntryKey, Result<Entry>) -> Result<()>,
) -> Result<()> {
    let name = connection.name().to_owned();
    rows_of_run(connection, run, &mut |row| {
        let key = EntryKey { id: row.peek(0).and_then(Id::stored), position: row.count(1) };
        visit(key, Entry::of(&name, row))
    })
}

/// Visits the rows of a run in order; [`Entry::of`] makes an entry of each.
pub(crate) fn rows_of_run(
    connection: &mut dyn Connection,
    run: Run,
    visit: &mut dyn FnMut(Row) -> Result<()>,
) -> Result<()> {
    let sql = format!(
        "SELECT {} FROM message m JOIN content c ON c.key = m.content \
         WHERE m.branch = $1 AND m.position > $2 AND m.position <= $3 ORDER BY m.position",
        columns(connection.dialect())
    );
    connection.each(&sql, values![run.branch, run.after, run.upto], visit)
}

/// Returns the roles and token counts of the messages of a run, without verifying them.
pub(crate) fn outlines_of_run(
    connection: &mut dyn Connection,
    run: Run,
) -> Result<Vec<(Role, usize)>> {
    let sql = "SELECT c.role, c.tokens FROM message m JOIN content c ON c.key = m.content \
               WHERE m.branch = $1 AND m.position > $2 AND m.position <= $3 ORDER BY m.position";
    let mut outlines = Vec::new();
    connection.each(sql, values![run.branch, run.after, run.upto], &mut |row| {
        outlines.push((role_of_code(row.int(0)), row.size(1)));
        Ok(())
    })?;
    Ok(outlines)
}

/// The id and position of a message whose bytes may be damaged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryKey {
    pub(crate) id: Option<Id>,
    pub(crate) position: u64,
}
