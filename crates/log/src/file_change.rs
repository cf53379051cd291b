//! Records of changed files, with which a session undoes its changes. The contents and the records
//! are stored as artifacts of their own types: each content once, compressed, and erased with the
//! session. They are neither listed nor exported, and an import cannot add them, so that an import
//! never leads to a changed file on this machine.

use crate::artifact::{self, Artifact, FILE_CHANGES as RECORD, FILE_CONTENT as CONTENT};
use crate::compress::decompress;
use crate::error::{LogError, Result};
use crate::id::Id;
use crate::log::Log;
use crate::session;
use crate::store::{Connection, values};
use crate::tree::{Path, Tip, id_at, tip_of};
use waterline::phrase;

/// Precedes every stored content, so that it never has the hash of an ordinary artifact.
const PREFIX: &[u8] = b"waterline file\n";

/// A record of changed files, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRecord {
    /// The session that undoes the changes.
    pub session: String,
    /// The message that the changes follow.
    pub at: Tip,
    /// The record, which the log does not read.
    pub record: Vec<u8>,
    /// The contents that the record names by their [`content_hash`].
    pub contents: Vec<Vec<u8>>,
}

/// The records between two tips.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangesBetween {
    /// The records to undo, newest first.
    pub undone: Vec<Vec<u8>>,
    /// The records to redo after that, oldest first.
    pub redone: Vec<Vec<u8>>,
}

/// Returns the hash under which [`Log::put_file_changes`] stores a content, as 64 hexadecimal
/// digits.
#[must_use]
pub fn content_hash(content: &[u8]) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(PREFIX).update(content);
    hasher.finalize().to_hex().to_string()
}

impl Log {
    /// Stores a record of files that were changed after the message at `at`, together with the
    /// contents that it names. The log does not read the record. A
    /// [`Commit`](crate::Commit) stores records together with other changes.
    ///
    /// # Errors
    /// If the session or the message does not exist.
    pub fn put_file_changes(
        &self,
        session: &str,
        at: Tip,
        record: Vec<u8>,
        contents: Vec<Vec<u8>>,
    ) -> Result<()> {
        let changes = FileRecord { session: session.to_owned(), at, record, contents };
        let time = self.now();
        self.write(move |connection| add(connection, &changes, time))
    }

    /// Returns the bytes of all file contents that are stored for a session, before compression.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn file_version_bytes(&self, session: &str) -> Result<u64> {
        self.read(|connection| {
            let sql = "SELECT CAST(COALESCE(SUM(a.size), 0) AS BIGINT) FROM artifact_use u \
                       JOIN artifact a ON a.hash = u.hash WHERE u.session = $1 AND a.media = $2";
            let bytes = connection.number(sql, values![session, CONTENT])?;
            Ok(u64::try_from(bytes).unwrap_or_default())
        })
    }

    /// Returns the content of a file with this [`content_hash`].
    ///
    /// # Errors
    /// If the content is not stored or is damaged.
    pub fn file_content(&self, hash: &str) -> Result<Vec<u8>> {
        let mut bytes = self.artifact(hash)?;
        if !bytes.starts_with(PREFIX) {
            return Err(LogError::Missing { what: "file content", id: hash.to_owned() });
        }
        bytes.drain(..PREFIX.len());
        Ok(bytes)
    }

    /// Returns the id of the newest message of a session; `None` if it is empty.
    ///
    /// # Errors
    /// If the session does not exist.
    pub fn newest_id(&self, session: &str) -> Result<Option<Id>> {
        self.read(|connection| {
            let tip = session::load(connection, session)?.tip;
            id_at(connection, tip)
        })
    }

    /// Returns the records to undo and to redo, so that files that match message `from` match the
    /// tip of the session. Records of imported messages are left out.
    ///
    /// # Errors
    /// If the session or the message does not exist, or a record is damaged.
    pub fn file_changes_since(&self, session: &str, from: Id) -> Result<ChangesBetween> {
        self.read(|connection| {
            let session = session::load(connection, session)?;
            let to = session.tip;
            let from = tip_of(connection, from)?
                .ok_or_else(|| LogError::Missing { what: "message", id: from.short() })?;
            // A call may be running at the tip; its changes stay.
            if from == to {
                return Ok(ChangesBetween::default());
            }
            let old = Path::of(connection, from)?;
            let new = Path::of(connection, to)?;
            // A change follows its message, so it is not in effect at the message itself, unless
            // the process was killed between the two.
            let in_effect =
                |path: &Path, end: Tip, at: Tip| path.contains(at) && at.position < end.position;
            let mut undone = Vec::new();
            let mut redone = Vec::new();
            for (at, number, bytes) in records(connection, &session.id)? {
                if at.position <= session.imported {
                    continue;
                }
                let key = (at.position, number);
                if in_effect(&new, to, at) {
                    if !in_effect(&old, from, at) {
                        redone.push((key, bytes));
                    }
                } else if old.contains(at) {
                    undone.push((key, bytes));
                }
            }
            undone.sort_by_key(|(key, _)| std::cmp::Reverse(*key));
            redone.sort_by_key(|(key, _)| *key);
            Ok(ChangesBetween {
                undone: undone.into_iter().map(|(_, bytes)| bytes).collect(),
                redone: redone.into_iter().map(|(_, bytes)| bytes).collect(),
            })
        })
    }
}

/// Stores a record with its contents.
pub(crate) fn add(connection: &mut dyn Connection, changes: &FileRecord, time: i64) -> Result<()> {
    let FileRecord { session, at, record, contents } = changes;
    session::lock(connection, session)?;
    let id = id_at(connection, *at)?
        .ok_or_else(|| LogError::Missing { what: "message", id: at.position.to_string() })?;
    let sql = "SELECT COUNT(*) FROM artifact_use u JOIN artifact a ON a.hash = u.hash \
               WHERE u.session = $1 AND a.media = $2";
    let number = connection.number(sql, values![session, RECORD])?;
    let put = |connection: &mut dyn Connection, media: &str, preview, bytes: &[u8]| {
        let size = bytes.len() as u64;
        let media = media.to_owned();
        let artifact = Artifact { hash: String::new(), media, preview, size, time };
        artifact::put(connection, session, &artifact, bytes)
    };
    for content in contents {
        put(connection, CONTENT, String::new(), &[PREFIX, content].concat())?;
    }
    // With the number in its bytes, a record never has the hash of an earlier one.
    let key = format!("{id} {number}");
    let bytes = [key.as_bytes(), b"\n", record].concat();
    put(connection, RECORD, key, &bytes)
}

/// Returns the records of a session with their messages and numbers.
fn records(connection: &mut dyn Connection, session: &str) -> Result<Vec<(Tip, u64, Vec<u8>)>> {
    let sql = "SELECT a.preview, a.packed, a.bytes, a.size, a.hash FROM artifact_use u \
               JOIN artifact a ON a.hash = u.hash WHERE u.session = $1 AND a.media = $2";
    let mut records = Vec::new();
    for mut row in connection.rows(sql, values![session, RECORD])? {
        let key = row.text(0);
        let bytes = decompress(row.int(1), row.bytes(2), row.size(3));
        // A changed record could name another file, or belong to another message.
        let hash = row.bytes(4);
        let bytes = bytes.filter(|bytes| {
            let own =
                bytes.strip_prefix(key.as_bytes()).is_some_and(|rest| rest.starts_with(b"\n"));
            own && blake3::hash(bytes).as_bytes().as_slice() == hash.as_slice()
        });
        let parsed = key
            .split_once(' ')
            .and_then(|(id, number)| Some((id.parse::<Id>().ok()?, number.parse::<u64>().ok()?)));
        let (Some((id, number)), Some(mut bytes)) = (parsed, bytes) else {
            return Err(
                connection.damaged(phrase!("damage-file-changes", "a record of changed files"))
            );
        };
        bytes.drain(..(key.len() + 1).min(bytes.len()));
        // The message is gone if it was erased with another session.
        if let Some(at) = tip_of(connection, id)? {
            records.push((at, number, bytes));
        }
    }
    Ok(records)
}
