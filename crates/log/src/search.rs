//! Full-text search. The index says which messages have the words; the messages themselves say how
//! well they fit, so that both databases answer alike.

use crate::entry::{COLUMNS, Entry};
use crate::error::Result;
use crate::log::Log;
use crate::search_terms::asked;
use crate::session::{self};
use crate::store::{Connection, values};
use crate::tree::{Path, Tip};

/// How many messages with the words are looked at, newest first.
const LOOK: usize = 400;

/// A message that fits a question.
#[derive(Clone, Debug)]
pub struct Hit {
    /// The message.
    pub entry: Entry,
    /// A session it belongs to; none where only a way that was left has it.
    pub session: Option<String>,
    /// How well it fits.
    pub score: u32,
}

impl Log {
    /// The messages that fit a question best, of one session or of all. A message must have all
    /// words; where none has, some of them are enough.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn search(&self, question: &str, session: Option<&str>, limit: usize) -> Result<Vec<Hit>> {
        let words = asked(question);
        if words.is_empty() {
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
            let mut hits = find(connection, question, &words, true, path.as_ref())?;
            if hits.is_empty() && words.len() > 1 {
                hits = find(connection, question, &words, false, path.as_ref())?;
            }
            // The best first; of equals the newest.
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
    question: &str,
    words: &[(String, bool)],
    all: bool,
    path: Option<&(String, Path)>,
) -> Result<Vec<Hit>> {
    let dialect = connection.dialect();
    let sql = dialect.find_words();
    // Of one session, what fits may be old: the index is asked for more before the session's own
    // are picked out.
    let limit = if path.is_some() { LOOK * 100 } else { LOOK };
    let keys = connection.rows(sql, values![dialect.question(words, all), limit])?;
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
            "SELECT {COLUMNS} FROM message m JOIN content c ON c.key = m.content WHERE m.branch = $1 AND m.position = $2"
        );
        let Some(row) = connection.row(&sql, values![tip.branch, tip.position])? else { continue };
        // A damaged message is found by `verify`; it must not keep the others from being found.
        let Ok(entry) = Entry::of(&name, row) else { continue };
        let score = score(&entry.bytes, question, words);
        hits.push(Hit { entry, session: path.map(|(id, _)| id.clone()), score });
        if hits.len() >= LOOK {
            break;
        }
    }
    Ok(hits)
}

/// How often the words stand in it, each counted a few times at most; the question as a whole
/// counts most.
fn score(bytes: &[u8], question: &str, words: &[(String, bool)]) -> u32 {
    let text = String::from_utf8_lossy(bytes).to_lowercase();
    let whole = question.trim().to_lowercase();
    let phrase = if !whole.is_empty() && text.contains(&whole) { 20 } else { 0 };
    let each = words.iter().map(|(word, _)| text.matches(word.as_str()).take(3).count());
    let each: usize = each.map(|count| if count > 0 { 4 + count } else { 0 }).sum();
    phrase + u32::try_from(each).unwrap_or(u32::MAX / 2)
}

/// A session whose way leads through a message: the first one, before its forks.
fn owner(connection: &mut dyn Connection, hit: &Hit) -> Result<Option<String>> {
    let sql = "WITH RECURSIVE below (key, at) AS (\
                 SELECT branch, position FROM message WHERE id = $1 \
                 UNION ALL SELECT b.key, b.fork FROM below JOIN branch b ON b.parent = below.key AND b.fork >= below.at) \
               SELECT s.id FROM below JOIN session s ON s.branch = below.key AND s.position >= below.at \
               ORDER BY CASE s.relation WHEN 'main' THEN 0 ELSE 1 END, s.created, s.id LIMIT 1";
    Ok(connection.row(sql, values![hit.entry.id])?.map(|mut row| row.text(0)))
}
