//! Full-text search. The index selects the messages that contain the terms; the score is computed
//! from the messages, so that both databases return the same results.

use crate::entry::{COLUMNS, Entry};
use crate::error::Result;
use crate::log::Log;
use crate::search_terms::query_terms;
use crate::session::{self};
use crate::store::{Connection, values};
use crate::tree::{Path, Tip};

/// How many matching messages are scored, newest first.
const MAX_SCORED: usize = 400;

/// A search result.
#[derive(Clone, Debug)]
pub struct Hit {
    /// The message.
    pub entry: Entry,
    /// A session that contains it; `None` if it is only on a branch that its session has left.
    pub session: Option<String>,
    /// The score; higher is better.
    pub score: u32,
}

impl Log {
    /// Searches the messages of one session, or of all, and returns at most `limit` results, best
    /// first.
    ///
    /// A message matches if it contains all terms of the query. If none does, messages with some of
    /// the terms match. A term that ends in `*` matches by prefix.
    ///
    /// # Errors
    /// If the session does not exist.
    pub fn search(&self, query: &str, session: Option<&str>, limit: usize) -> Result<Vec<Hit>> {
        let terms = query_terms(query);
        if terms.is_empty() {
            return Ok(Vec::new());
        }
        self.read(|connection| {
            let path = match session {
                Some(id) => {
                    let tip = session::load(connection, id)?.tip;
                    Some((id.to_owned(), Path::of(connection, tip)?))
                }
                None => None,
            };
            let mut hits = find(connection, query, &terms, true, path.as_ref())?;
            if hits.is_empty() && terms.len() > 1 {
                hits = find(connection, query, &terms, false, path.as_ref())?;
            }
            // Best first; with equal scores, newest first.
            hits.sort_by_key(|hit| {
                std::cmp::Reverse((hit.score, hit.entry.time, hit.entry.position, hit.entry.id))
            });
            hits.truncate(limit);
            if path.is_none() {
                for hit in &mut hits {
                    hit.session = owner(connection, hit)?;
                }
            }
            Ok(hits)
        })
    }
}

fn find(
    connection: &mut dyn Connection,
    query: &str,
    terms: &[(String, bool)],
    all: bool,
    path: Option<&(String, Path)>,
) -> Result<Vec<Hit>> {
    let dialect = connection.dialect();
    let sql = dialect.find_terms();
    // The index covers all sessions. The matches of one session may be old, so ask for more before
    // filtering by session.
    let limit = if path.is_some() { MAX_SCORED * 100 } else { MAX_SCORED };
    let keys = connection.rows(sql, values![dialect.match_expression(terms, all), limit])?;
    let name = connection.name().to_owned();
    let mut hits = Vec::new();
    for key in keys {
        let sql = "SELECT branch, position FROM message WHERE content = $1 ORDER BY position";
        let places = connection.rows(sql, values![key.int(0)])?;
        let places = places.iter().map(|row| Tip { branch: row.int(0), position: row.count(1) });
        let Some(tip) =
            places.into_iter().find(|&tip| path.is_none_or(|(_, path)| path.contains(tip)))
        else {
            continue;
        };
        let sql = format!(
            "SELECT {COLUMNS} FROM message m JOIN content c ON c.key = m.content \
             WHERE m.branch = $1 AND m.position = $2"
        );
        let Some(row) = connection.row(&sql, values![tip.branch, tip.position])? else { continue };
        // `verify` reports damaged messages. They must not prevent other results.
        let Ok(entry) = Entry::of(&name, row) else { continue };
        let score = score(&entry.bytes, query, terms);
        hits.push(Hit { entry, session: path.map(|(id, _)| id.clone()), score });
        if hits.len() >= MAX_SCORED {
            break;
        }
    }
    Ok(hits)
}

/// Scores a message by how often it contains each term, up to three times, with a bonus for the
/// whole query.
fn score(bytes: &[u8], query: &str, terms: &[(String, bool)]) -> u32 {
    let text = String::from_utf8_lossy(bytes).to_lowercase();
    let phrase = query.trim().to_lowercase();
    let bonus = if !phrase.is_empty() && text.contains(&phrase) { 20 } else { 0 };
    let counts = terms.iter().map(|(term, _)| text.matches(term.as_str()).take(3).count());
    let sum: usize = counts.map(|count| if count > 0 { 4 + count } else { 0 }).sum();
    bonus + u32::try_from(sum).unwrap_or(u32::MAX / 2)
}

/// Returns a session that contains a message, the original one before its forks.
fn owner(connection: &mut dyn Connection, hit: &Hit) -> Result<Option<String>> {
    let sql = "WITH RECURSIVE below (key, at) AS (\
                 SELECT branch, position FROM message WHERE id = $1 \
                 UNION ALL SELECT b.key, b.fork FROM below \
                 JOIN branch b ON b.parent = below.key AND b.fork >= below.at) \
               SELECT s.id FROM below \
               JOIN session s ON s.branch = below.key AND s.position >= below.at \
               ORDER BY CASE s.relation WHEN 'main' THEN 0 ELSE 1 END, s.created, s.id LIMIT 1";
    Ok(connection.row(sql, values![hit.entry.id])?.map(|mut row| row.text(0)))
}
