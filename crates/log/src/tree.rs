//! The tree of messages. It is cut into branches, so that a conversation of any length reads as a
//! few runs of rows; ids make it one tree, whoever appends.

use waterline::message::Role;

use crate::compress::pack;
use crate::encoding::{Encoding, role_code};
use crate::error::Result;
use crate::id::Id;
use crate::incoming::Incoming;
use crate::search_terms::indexed;
use crate::store::{Connection, Row, Value, values};

/// How many rows go into one statement.
const ROWS: usize = 32;

/// A place in the tree: a message, with everything before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tip {
    pub(crate) branch: i64,
    pub(crate) position: u64,
}

impl Tip {
    /// The place before the first message.
    pub const EMPTY: Self = Self { branch: 0, position: 0 };

    /// How many messages lead to it, itself included.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }
}

/// The way from the first message to a tip: runs of positions, newest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Path {
    runs: Vec<Run>,
}

/// The positions of a branch behind `after`, up to `upto`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) branch: i64,
    pub(crate) after: u64,
    pub(crate) upto: u64,
}

impl Path {
    pub(crate) fn of(connection: &mut dyn Connection, tip: Tip) -> Result<Self> {
        let sql = "WITH RECURSIVE way (branch, after, upto, parent) AS (\
                     SELECT key, fork, CAST($2 AS BIGINT), parent FROM branch WHERE key = $1 \
                     UNION ALL \
                     SELECT b.key, b.fork, w.after, b.parent FROM way w JOIN branch b ON b.key = w.parent) \
                   SELECT branch, after, upto FROM way";
        let rows = connection.rows(sql, values![tip.branch, tip.position])?;
        let runs = rows.iter().map(|row| Run {
            branch: row.int(0),
            after: row.count(1),
            upto: row.count(2),
        });
        let mut runs: Vec<Run> = runs.collect();
        runs.sort_by_key(|run| std::cmp::Reverse(run.upto));
        Ok(Self { runs })
    }

    /// The runs that lie behind `after`, oldest first.
    pub(crate) fn runs(&self, after: u64) -> impl Iterator<Item = Run> {
        self.runs
            .iter()
            .rev()
            .filter(move |run| run.upto > after)
            .map(move |run| Run { after: run.after.max(after), ..*run })
    }

    /// Whether a place is on it.
    pub(crate) fn contains(&self, tip: Tip) -> bool {
        tip.position == 0
            || self.runs.iter().any(|run| {
                run.branch == tip.branch && (run.after < tip.position && tip.position <= run.upto)
            })
    }

    /// The place after so many messages.
    pub(crate) fn at(&self, position: u64) -> Option<Tip> {
        if position == 0 {
            return Some(Tip::EMPTY);
        }
        let run = self.runs.iter().find(|run| run.after < position && position <= run.upto)?;
        Some(Tip { branch: run.branch, position })
    }

    /// How many messages it has in common with another.
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

/// Where a message is, if it is anywhere.
pub(crate) fn place(connection: &mut dyn Connection, id: Id) -> Result<Option<Tip>> {
    let row = connection.row("SELECT branch, position FROM message WHERE id = $1", values![id])?;
    Ok(row.map(|row| Tip { branch: row.int(0), position: row.count(1) }))
}

/// The id of the message at a tip.
pub(crate) fn id_at(connection: &mut dyn Connection, tip: Tip) -> Result<Option<Id>> {
    let sql = "SELECT id FROM message WHERE branch = $1 AND position = $2";
    let row = connection.row(sql, values![tip.branch, tip.position])?;
    Ok(row.and_then(|mut row| Id::stored(&row.bytes(0))))
}

/// What growing a conversation gave.
#[derive(Clone, Debug)]
pub(crate) struct Grown {
    pub(crate) tip: Tip,
    /// How many messages were new to the log.
    pub(crate) new: usize,
    pub(crate) ids: Vec<Id>,
}

/// Puts messages behind a tip. Those that are there already are only walked over.
pub(crate) fn grow(
    connection: &mut dyn Connection,
    tip: Tip,
    incoming: &[Incoming],
    now: i64,
) -> Result<Grown> {
    let ids = ids_behind(connection, tip, incoming)?;
    let (known, mut at) = known(connection, &ids)?;
    if known == 0 {
        at = tip;
    }
    let (fresh, ids_of_fresh) =
        (incoming.get(known..).unwrap_or_default(), ids.get(known..).unwrap_or_default());
    if !fresh.is_empty() {
        at = insert(connection, at, fresh, ids_of_fresh, now)?;
    }
    Ok(Grown { tip: at, new: fresh.len(), ids })
}

/// The ids that messages have behind a tip.
pub(crate) fn ids_behind(
    connection: &mut dyn Connection,
    tip: Tip,
    incoming: &[Incoming],
) -> Result<Vec<Id>> {
    let mut parent = match tip {
        Tip::EMPTY => None,
        tip => Some(
            id_at(connection, tip)?
                .ok_or_else(|| connection.damaged("the tip of a session is missing"))?,
        ),
    };
    let mut ids = Vec::with_capacity(incoming.len());
    for message in incoming {
        let id = Id::of(parent, message.role, message.encoding, &message.bytes);
        ids.push(id);
        parent = Some(id);
    }
    Ok(ids)
}

/// How many of a chain of ids are there, and where the last of those is. Whoever is there has its
/// parents there.
pub(crate) fn known(connection: &mut dyn Connection, ids: &[Id]) -> Result<(usize, Tip)> {
    let (mut low, mut high, mut at) = (0, ids.len(), Tip::EMPTY);
    // Most often everything is known or nothing is: ask for the last one first.
    let mut next = ids.len();
    while low < high {
        let id = ids.get(next - 1).copied().ok_or_else(|| connection.race())?;
        match place(connection, id)? {
            Some(tip) => (low, at) = (next, tip),
            None => high = next - 1,
        }
        next = if low == 0 && high == ids.len() - 1 { 1 } else { (low + high).div_ceil(2) };
    }
    Ok((low, at))
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

/// The branch on which the next messages may stand: that of the tip, if nothing stands behind it
/// yet. Two writers who both want it meet in the row of the branch, and only one of them finds it
/// as it was.
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

/// The keys of the contents, each of which is stored once.
fn store_contents(connection: &mut dyn Connection, incoming: &[Incoming]) -> Result<Vec<i64>> {
    let mut keys = Vec::with_capacity(incoming.len());
    for incoming in incoming.chunks(ROWS) {
        let hashes: Vec<Vec<u8>> = incoming
            .iter()
            .map(|message| hash(message.role, message.encoding, &message.bytes))
            .collect();
        let mut different: Vec<(&Vec<u8>, &Incoming)> = hashes.iter().zip(incoming).collect();
        different.sort_by_key(|(hash, _)| *hash);
        different.dedup_by_key(|(hash, _)| *hash);
        // Most are new: they are put in first, and only those that were not are looked for.
        let mut known = insert_contents(connection, &different)?;
        index(connection, &different, &known)?;
        let missing: Vec<&Vec<u8>> = different
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

/// The hash under which a content is stored once: half of the usual length is enough to tell
/// contents apart, and ids have the whole.
pub(crate) fn hash(role: Role, encoding: Encoding, bytes: &[u8]) -> Vec<u8> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[encoding.code(), role_code(role)]);
    hasher.update(bytes);
    hasher.finalize().as_bytes().iter().copied().take(16).collect()
}

type Keys = std::collections::HashMap<Vec<u8>, i64>;

fn keys_of(connection: &mut dyn Connection, hashes: &[&Vec<u8>]) -> Result<Keys> {
    let marks: Vec<String> = (1..=hashes.len()).map(|at| format!("${at}")).collect();
    let sql = format!("SELECT hash, key FROM content WHERE hash IN ({})", marks.join(", "));
    let values: Vec<Value> = hashes.iter().map(|hash| Value::Bytes((*hash).clone())).collect();
    let rows = connection.rows(&sql, &values)?;
    Ok(rows.into_iter().map(|mut row| (row.bytes(0), row.int(1))).collect())
}

/// Puts in those that are not there, and gives their keys.
fn insert_contents(
    connection: &mut dyn Connection,
    fresh: &[(&Vec<u8>, &Incoming)],
) -> Result<Keys> {
    let rows: Vec<Vec<Value>> = fresh
        .iter()
        .map(|(hash, message)| {
            let (packed, bytes) = pack(&message.bytes);
            let wire = i64::from(message.encoding.code());
            let (role, size) = (i64::from(role_code(message.role)), message.bytes.len());
            values![
                hash.as_slice(),
                wire,
                role,
                message.tokens,
                &message.counter,
                size,
                packed,
                bytes.into_owned()
            ]
            .to_vec()
        })
        .collect();
    let head = "INSERT INTO content (hash, wire, role, tokens, counter, size, packed, bytes)";
    let tail = "ON CONFLICT (hash) DO NOTHING RETURNING hash, key";
    let made = insert_rows(connection, head, "(@, @, @, @, @, @, @, @)", &rows, tail)?;
    Ok(made.into_iter().map(|mut row| (row.bytes(0), row.int(1))).collect())
}

fn index(
    connection: &mut dyn Connection,
    fresh: &[(&Vec<u8>, &Incoming)],
    keys: &Keys,
) -> Result<()> {
    let dialect = connection.dialect();
    let mut rows = Vec::new();
    for (hash, message) in fresh {
        let words = indexed(&message.text);
        if let Some(key) = keys.get(*hash).filter(|_| !words.is_empty()) {
            rows.push(values![*key, words].to_vec());
        }
    }
    let (head, row) = dialect.index_words();
    insert_rows(connection, head, row, &rows, dialect.index_again()).map(drop)
}

/// Inserts many rows with few statements; each `@` in `row` stands for a value. Gives the rows that
/// `tail` asks for.
pub(crate) fn insert_rows(
    connection: &mut dyn Connection,
    head: &str,
    row: &str,
    rows: &[Vec<Value>],
    tail: &str,
) -> Result<Vec<Row>> {
    let mut returned = Vec::new();
    for rows in rows.chunks(ROWS) {
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
