//! The message tree. It is stored as branches, so that a conversation of any length is a few runs
//! of consecutive rows. Because ids are content hashes, all writers build the same tree.

use waterline::message::Role;

use crate::compress::compress;
use crate::encoding::{Encoding, role_code};
use crate::error::Result;
use crate::id::Id;
use crate::incoming::Incoming;
use crate::search_terms::index_terms;
use crate::store::index_checksum;
use crate::store::{Connection, Row, Value, values};
use waterline::phrase;

/// How many rows one statement inserts.
const ROWS_PER_STATEMENT: usize = 32;

/// A position in the message tree: a message, together with all messages before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tip {
    pub(crate) branch: i64,
    pub(crate) position: u64,
}

impl Tip {
    /// The position before the first message.
    pub const EMPTY: Self = Self { branch: 0, position: 0 };

    /// Returns whether this tip is `earlier`, or `earlier` with further messages on the same
    /// branch.
    #[must_use]
    pub const fn extends(&self, earlier: Self) -> bool {
        self.branch == earlier.branch && self.position >= earlier.position
    }

    /// Returns the number of messages up to and including this one.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }
}

/// The path from the first message to a tip: runs of positions, newest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Path {
    runs: Vec<Run>,
}

/// The positions of a branch after `after`, up to and including `upto`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) branch: i64,
    pub(crate) after: u64,
    pub(crate) upto: u64,
}

impl Path {
    /// Returns the path with these runs, newest first.
    pub(crate) const fn new(runs: Vec<Run>) -> Self {
        Self { runs }
    }

    pub(crate) fn of(connection: &mut dyn Connection, tip: Tip) -> Result<Self> {
        // UNION, not UNION ALL: it ends even if a damaged branch is its own ancestor.
        let sql = "WITH RECURSIVE path (branch, after, upto, parent) AS (\
                     SELECT key, fork, CAST($2 AS BIGINT), parent FROM branch WHERE key = $1 \
                     UNION \
                     SELECT b.key, b.fork, p.after, b.parent \
                     FROM path p JOIN branch b ON b.key = p.parent) \
                   SELECT branch, after, upto FROM path";
        let rows = connection.rows(sql, values![tip.branch, tip.position])?;
        let run = |row: &Row| Run { branch: row.int(0), after: row.count(1), upto: row.count(2) };
        let mut runs: Vec<Run> = rows.iter().map(run).collect();
        runs.sort_by_key(|run| std::cmp::Reverse(run.upto));
        Ok(Self { runs })
    }

    /// Returns the runs after position `after`, oldest first.
    pub(crate) fn runs(&self, after: u64) -> impl Iterator<Item = Run> {
        self.runs
            .iter()
            .rev()
            .filter(move |run| run.upto > after)
            .map(move |run| Run { after: run.after.max(after), ..*run })
    }

    /// Returns whether a tip is on the path.
    pub(crate) fn contains(&self, tip: Tip) -> bool {
        tip.position == 0
            || self.runs.iter().any(|run| {
                run.branch == tip.branch && (run.after < tip.position && tip.position <= run.upto)
            })
    }

    /// Returns the tip at a position; `None` if the path is shorter.
    pub(crate) fn at(&self, position: u64) -> Option<Tip> {
        if position == 0 {
            return Some(Tip::EMPTY);
        }
        let run = self.runs.iter().find(|run| run.after < position && position <= run.upto)?;
        Some(Tip { branch: run.branch, position })
    }

    /// Returns how many leading messages two paths share.
    pub(crate) fn shared(&self, other: &Self) -> u64 {
        let of = |run: &Run| {
            other
                .runs
                .iter()
                .find(|there| there.branch == run.branch)
                .map(|there| there.upto.min(run.upto))
        };
        self.runs.iter().find_map(of).unwrap_or(0)
    }
}

/// Returns the tip of a message, if it exists.
pub(crate) fn tip_of(connection: &mut dyn Connection, id: Id) -> Result<Option<Tip>> {
    let row = connection.row("SELECT branch, position FROM message WHERE id = $1", values![id])?;
    Ok(row.map(|row| Tip { branch: row.int(0), position: row.count(1) }))
}

/// Returns the id of the message at a tip.
pub(crate) fn id_at(connection: &mut dyn Connection, tip: Tip) -> Result<Option<Id>> {
    let sql = "SELECT id FROM message WHERE branch = $1 AND position = $2";
    let row = connection.row(sql, values![tip.branch, tip.position])?;
    Ok(row.and_then(|mut row| Id::stored(&row.bytes(0))))
}

/// The result of [`grow`].
#[derive(Clone, Debug)]
pub(crate) struct Grown {
    pub(crate) tip: Tip,
    /// How many messages were new to the log.
    pub(crate) new: usize,
    pub(crate) ids: Vec<Id>,
}

/// Adds messages after a tip. Messages that exist already are not added again.
pub(crate) fn grow(
    connection: &mut dyn Connection,
    tip: Tip,
    incoming: &[Incoming],
    now: i64,
) -> Result<Grown> {
    let ids = ids_after(connection, tip, incoming)?;
    let (known, last_known) = known_prefix(connection, &ids)?;
    let mut end = if known == 0 { tip } else { last_known };
    let new = incoming.get(known..).unwrap_or_default();
    if !new.is_empty() {
        end = insert(connection, end, new, ids.get(known..).unwrap_or_default(), now)?;
    }
    Ok(Grown { tip: end, new: new.len(), ids })
}

/// Returns the ids that messages get after a tip.
pub(crate) fn ids_after(
    connection: &mut dyn Connection,
    tip: Tip,
    incoming: &[Incoming],
) -> Result<Vec<Id>> {
    let mut parent = match tip {
        Tip::EMPTY => None,
        tip => Some(id_at(connection, tip)?.ok_or_else(|| {
            connection.damaged(phrase!("damage-tip", "the tip of a session is missing"))
        })?),
    };
    let mut ids = Vec::with_capacity(incoming.len());
    for message in incoming {
        let id = Id::of(parent, message.role, message.encoding, &message.bytes);
        ids.push(id);
        parent = Some(id);
    }
    Ok(ids)
}

/// Returns how many ids at the start of a chain exist, and the tip of the last of them. A binary
/// search works because a message exists only with its parents.
pub(crate) fn known_prefix(connection: &mut dyn Connection, ids: &[Id]) -> Result<(usize, Tip)> {
    let mut low = 0;
    let mut high = ids.len();
    let mut last = Tip::EMPTY;
    // Usually all or none exist, so try the last one first.
    let mut next = ids.len();
    while low < high {
        let id = ids.get(next - 1).copied().ok_or_else(|| connection.race())?;
        match tip_of(connection, id)? {
            Some(tip) => {
                low = next;
                last = tip;
            }
            None => high = next - 1,
        }
        next = if low == 0 && high == ids.len() - 1 { 1 } else { (low + high).div_ceil(2) };
    }
    Ok((low, last))
}

fn insert(
    connection: &mut dyn Connection,
    tip: Tip,
    incoming: &[Incoming],
    ids: &[Id],
    now: i64,
) -> Result<Tip> {
    let contents = store_contents(connection, incoming)?;
    let branch = claim(connection, tip, incoming.len() as u64)?;
    let mut position = tip.position;
    let mut rows = Vec::with_capacity(incoming.len());
    for ((message, id), content) in incoming.iter().zip(ids).zip(contents) {
        position += 1;
        rows.push(values![branch, position, *id, content, message.time.unwrap_or(now)].to_vec());
    }
    let head = "INSERT INTO message (branch, position, id, content, created)";
    insert_rows(connection, head, "(@, @, @, @, @)", &rows, "")?;
    Ok(Tip { branch, position })
}

/// Reserves positions for `count` messages after a tip and returns their branch: the branch of the
/// tip if the tip is its end, else a new one. If two writers extend the same branch, the
/// conditional update succeeds for only one of them.
fn claim(connection: &mut dyn Connection, tip: Tip, count: u64) -> Result<i64> {
    let last = tip.position + count;
    let sql = "UPDATE branch SET last = $1 WHERE key = $2 AND last = $3";
    if tip.position > 0 && connection.run(sql, values![last, tip.branch, tip.position])? == 1 {
        return Ok(tip.branch);
    }
    let parent = (tip.position > 0).then_some(tip.branch);
    let sql = "INSERT INTO branch (parent, fork, last) VALUES ($1, $2, $3) RETURNING key";
    connection.number(sql, values![parent, tip.position, last])
}

/// Stores each distinct content once and returns the keys.
fn store_contents(connection: &mut dyn Connection, incoming: &[Incoming]) -> Result<Vec<i64>> {
    let mut keys = Vec::with_capacity(incoming.len());
    for batch in incoming.chunks(ROWS_PER_STATEMENT) {
        let hashes: Vec<Vec<u8>> = batch
            .iter()
            .map(|message| hash(message.role, message.encoding, &message.bytes))
            .collect();
        let mut distinct: Vec<(&Vec<u8>, &Incoming)> = hashes.iter().zip(batch).collect();
        distinct.sort_by_key(|(hash, _)| *hash);
        distinct.dedup_by_key(|(hash, _)| *hash);
        // Most are new, so insert first and look up only those that existed.
        let mut known = insert_contents(connection, &distinct)?;
        index(connection, &distinct, &known)?;
        let missing: Vec<&Vec<u8>> = distinct
            .iter()
            .map(|(hash, _)| *hash)
            .filter(|hash| !known.contains_key(*hash))
            .collect();
        if !missing.is_empty() {
            known.extend(keys_of(connection, &missing)?);
        }
        for hash in &hashes {
            keys.push(*known.get(hash).ok_or_else(|| connection.race())?);
        }
    }
    Ok(keys)
}

/// Returns the hash that identifies a content. Half the usual length is enough to distinguish
/// contents; message ids use the full length.
pub(crate) fn hash(role: Role, encoding: Encoding, bytes: &[u8]) -> Vec<u8> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[encoding.code(), role_code(role)]);
    hasher.update(bytes);
    hasher.finalize().as_bytes().iter().copied().take(16).collect()
}

type Keys = std::collections::HashMap<Vec<u8>, i64>;

fn keys_of(connection: &mut dyn Connection, hashes: &[&Vec<u8>]) -> Result<Keys> {
    let placeholders: Vec<String> = (1..=hashes.len()).map(|at| format!("${at}")).collect();
    let sql = format!("SELECT hash, key FROM content WHERE hash IN ({})", placeholders.join(", "));
    let values: Vec<Value> = hashes.iter().map(|hash| Value::Bytes((*hash).clone())).collect();
    let rows = connection.rows(&sql, &values)?;
    Ok(rows.into_iter().map(|mut row| (row.bytes(0), row.int(1))).collect())
}

/// Inserts the contents that do not exist yet and returns their keys.
fn insert_contents(
    connection: &mut dyn Connection,
    contents: &[(&Vec<u8>, &Incoming)],
) -> Result<Keys> {
    let rows: Vec<Vec<Value>> = contents
        .iter()
        .map(|(hash, message)| {
            let (packed, bytes) = compress(&message.bytes);
            values![
                hash.as_slice(),
                i64::from(message.encoding.code()),
                i64::from(role_code(message.role)),
                message.tokens,
                &message.counter,
                message.bytes.len(),
                packed,
                bytes.into_owned()
            ]
            .to_vec()
        })
        .collect();
    let head = "INSERT INTO content (hash, wire, role, tokens, counter, size, packed, bytes)";
    let tail = "ON CONFLICT (hash) DO NOTHING RETURNING hash, key";
    let inserted = insert_rows(connection, head, "(@, @, @, @, @, @, @, @)", &rows, tail)?;
    Ok(inserted.into_iter().map(|mut row| (row.bytes(0), row.int(1))).collect())
}

fn index(
    connection: &mut dyn Connection,
    contents: &[(&Vec<u8>, &Incoming)],
    keys: &Keys,
) -> Result<()> {
    let dialect = connection.dialect();
    let mut rows = Vec::new();
    let mut checksums = Vec::new();
    for (hash, message) in contents {
        let terms = index_terms(&message.text);
        if let Some(key) = keys.get(*hash).filter(|_| !terms.is_empty()) {
            checksums.push(values![*key, index_checksum::of_terms(&terms)].to_vec());
            rows.push(values![*key, terms].to_vec());
        }
    }
    let (head, row) = dialect.index_terms();
    insert_rows(connection, head, row, &rows, dialect.on_index_conflict())?;
    let (head, row) = index_checksum::INSERT_CONTENTS;
    insert_rows(connection, head, row, &checksums, "ON CONFLICT (source, key) DO NOTHING").map(drop)
}

/// Inserts many rows with few statements. Each `@` in `row` is a placeholder for a value. Returns
/// the rows of the `RETURNING` clause in `tail`, if it has one.
pub(crate) fn insert_rows(
    connection: &mut dyn Connection,
    head: &str,
    row: &str,
    rows: &[Vec<Value>],
    tail: &str,
) -> Result<Vec<Row>> {
    let mut returned = Vec::new();
    for rows in rows.chunks(ROWS_PER_STATEMENT) {
        let mut sql = format!("{head} VALUES ");
        let mut number = 0;
        for at in 0..rows.len() {
            sql.push_str(if at > 0 { ", " } else { "" });
            for character in row.chars() {
                if character == '@' {
                    number += 1;
                    sql.push_str(&format!("${number}"));
                } else {
                    sql.push(character);
                }
            }
        }
        sql.push(' ');
        sql.push_str(tail);
        returned.extend(connection.rows(&sql, &rows.concat())?);
    }
    Ok(returned)
}
