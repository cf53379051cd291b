//! Full-text search in messages and artifacts. The index selects what contains the terms; the score
//! is computed from the text, so that both databases return the same results.

use std::collections::HashMap;

use crate::artifact;
use crate::canonical::canonical;
use crate::encoding::hash_name;
use crate::entry::{Entry, columns};
use crate::error::Result;
use crate::id::Id;
use crate::import::Parse;
use crate::log::Log;
use crate::passage::passage;
use crate::search_terms::{artifact_text, query_terms, searchable};
use crate::session::{self};
use crate::store::{Connection, Value, values};
use crate::tree::{Path, Tip};

/// How many matching messages are scored, newest first.
const MAX_SCORED: usize = 400;

/// How many matching artifacts are scored, newest first.
const MAX_ARTIFACTS: usize = 50;

/// How many digits of an artifact's hash the messages that refer to it contain.
const ARTIFACT_DIGITS: usize = 16;

/// A search result.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Hit {
    /// The message. For an artifact, the message that refers to it.
    pub entry: Entry,
    /// The artifact that matches, if it is not the message itself.
    pub artifact: Option<FoundArtifact>,
    /// A session that contains it; `None` if it is only on a branch that its session has left.
    pub session: Option<String>,
    /// The score; higher is better. A text with more of the terms always scores higher.
    pub score: u32,
}

/// An artifact that a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FoundArtifact {
    /// The hash of its bytes, as 64 hexadecimal digits. [`Log::artifact`] takes it.
    pub hash: String,
    /// Its text, up to the limit of the index.
    pub text: String,
}

impl Hit {
    /// Returns the part of the matching text that contains the most terms of the query, at most
    /// `max_chars` characters.
    #[must_use]
    pub fn passage(&self, query: &str, max_chars: usize, parse: Parse) -> String {
        match &self.artifact {
            Some(artifact) => passage(&artifact.text, query, max_chars),
            None => passage(&searchable(&self.entry.message(parse)), query, max_chars),
        }
    }
}

impl Log {
    /// Searches the messages and artifacts of one session, or of all, and returns at most `limit`
    /// results, best first.
    ///
    /// Results that contain all terms of the query come first, then those that contain some of
    /// them. A term that ends in `*` matches by prefix. The terms of Chinese, Japanese and Korean
    /// text are its pairs of characters, so a question finds a statement that shares words with it.
    /// Artifacts are found through the messages that name them.
    ///
    /// # Errors
    /// If the session does not exist.
    pub fn search(&self, query: &str, session: Option<&str>, limit: usize) -> Result<Vec<Hit>> {
        self.search_in(query, limit, |connection| match session {
            Some(id) => {
                let tip = session::load(connection, id)?.tip;
                Ok(Scope::Session(id.to_owned(), Path::of(connection, tip)?))
            }
            None => Ok(Scope::All),
        })
    }

    /// Searches the sessions of a user as [`Log::search`] does, or the sessions without a user.
    /// Matches in messages of other users never displace results.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn search_of_user(
        &self,
        query: &str,
        user: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Hit>> {
        self.search_in(query, limit, |connection| Scope::of_user(connection, user))
    }

    fn search_in(
        &self,
        query: &str,
        limit: usize,
        scope: impl Fn(&mut dyn Connection) -> Result<Scope>,
    ) -> Result<Vec<Hit>> {
        let terms = query_terms(query);
        if terms.is_empty() {
            return Ok(Vec::new());
        }
        self.read(|connection| {
            let scope = scope(connection)?;
            let search = Search { query, terms: &terms, scope: &scope };
            let mut hits = search.run(connection)?;
            // Best first; with equal scores, newest first.
            hits.sort_by_key(|hit| {
                std::cmp::Reverse((hit.score, hit.entry.time, hit.entry.position, hit.entry.id))
            });
            hits.truncate(limit);
            for hit in &mut hits {
                hit.session = scope.session_of(connection, hit)?;
            }
            Ok(hits)
        })
    }
}

/// The messages that are searched.
enum Scope {
    /// All messages.
    All,
    /// Those of a session.
    Session(String, Path),
    /// Those of a user's sessions: for each branch, the last position that one of them has.
    User(Option<String>, HashMap<i64, u64>),
}

impl Scope {
    fn of_user(connection: &mut dyn Connection, user: Option<&str>) -> Result<Self> {
        let is_own = is_of_user("$1");
        let sql = format!(
            "WITH RECURSIVE own (branch, upto) AS (\
               SELECT branch, position FROM session s WHERE {is_own} \
               UNION SELECT b.parent, b.fork FROM own JOIN branch b ON b.key = own.branch \
               WHERE b.parent IS NOT NULL) \
             SELECT branch, MAX(upto) FROM own GROUP BY branch"
        );
        let rows = connection.rows(&sql, values![user])?;
        let runs = rows.iter().map(|row| (row.int(0), row.count(1))).collect();
        Ok(Self::User(user.map(str::to_owned), runs))
    }

    fn contains(&self, tip: Tip) -> bool {
        match self {
            Self::All => true,
            Self::Session(_, path) => path.contains(tip),
            Self::User(_, runs) => runs.get(&tip.branch).is_some_and(|upto| tip.position <= *upto),
        }
    }

    /// Returns a session of this scope that contains a message.
    fn session_of(&self, connection: &mut dyn Connection, hit: &Hit) -> Result<Option<String>> {
        match self {
            Self::All => owner(connection, "1 = 1", values![hit.entry.id]),
            Self::Session(id, _) => Ok(Some(id.clone())),
            Self::User(user, _) => {
                owner(connection, &is_of_user("$2"), values![hit.entry.id, user.as_deref()])
            }
        }
    }
}

/// Returns the condition that a session `s` belongs to the user in a parameter.
fn is_of_user(parameter: &str) -> String {
    let user = format!("CAST({parameter} AS TEXT)");
    format!("(s.user_id = {user} OR (s.user_id IS NULL AND {user} IS NULL))")
}

struct Search<'a> {
    query: &'a str,
    terms: &'a [(String, bool)],
    scope: &'a Scope,
}

impl Search<'_> {
    /// Returns the best hit of each message.
    fn run(&self, connection: &mut dyn Connection) -> Result<Vec<Hit>> {
        let mut hits: HashMap<Id, Hit> = HashMap::new();
        // The limit counts the newest matches. Old messages with all terms must not be lost among
        // new ones with some, so they are searched for first.
        let passes: &[bool] = if self.terms.len() > 1 { &[true, false] } else { &[true] };
        for &all in passes {
            let found = self.messages(connection, all)?.into_iter();
            for hit in found.chain(self.artifacts(connection, all)?) {
                match hits.get(&hit.entry.id) {
                    Some(known) if known.score >= hit.score => {}
                    _ => drop(hits.insert(hit.entry.id, hit)),
                }
            }
        }
        Ok(hits.into_values().collect())
    }

    fn messages(&self, connection: &mut dyn Connection, all: bool) -> Result<Vec<Hit>> {
        let dialect = connection.dialect();
        let expression = dialect.match_expression(self.terms, all);
        let keys = connection
            .rows(dialect.find_terms(), values![expression, self.rows_for(MAX_SCORED)])?;
        let mut hits = Vec::new();
        for key in keys {
            let Some(entry) = self.entry(connection, key.int(0))? else { continue };
            let score = self.score(&text_of(&entry));
            hits.push(Hit { entry, artifact: None, session: None, score });
            if hits.len() >= MAX_SCORED {
                break;
            }
        }
        Ok(hits)
    }

    fn artifacts(&self, connection: &mut dyn Connection, all: bool) -> Result<Vec<Hit>> {
        let dialect = connection.dialect();
        let expression = dialect.match_expression(self.terms, all);
        let sql = dialect.find_artifact_terms();
        let keys = connection.rows(sql, values![expression, self.rows_for(MAX_ARTIFACTS)])?;
        let mut hits = Vec::new();
        for key in keys {
            let sql = "SELECT hash FROM artifact_text WHERE key = $1";
            let hash = connection.row(sql, values![key.int(0)])?.map(|mut row| row.bytes(0));
            let Some(hash) = hash else { continue };
            let name = hash_name(&hash);
            let Some(entry) = self.message_with_artifact(connection, &name)? else { continue };
            // `verify` reports damaged artifacts.
            let Some(Some(bytes)) = artifact::read(connection, &hash)? else { continue };
            let Some(text) = artifact_text(&bytes) else { continue };
            let score = self.score(&text.to_lowercase());
            let found = FoundArtifact { hash: name, text: text.to_owned() };
            hits.push(Hit { entry, artifact: Some(found), session: None, score });
            if hits.len() >= MAX_ARTIFACTS {
                break;
            }
        }
        Ok(hits)
    }

    /// Returns how many rows of the index to ask for. It covers all sessions, and the matches of
    /// one session or user may be old.
    const fn rows_for(&self, hits: usize) -> usize {
        if matches!(self.scope, Scope::All) { hits } else { hits * 100 }
    }

    /// Returns the newest message that names an artifact.
    fn message_with_artifact(
        &self,
        connection: &mut dyn Connection,
        hash: &str,
    ) -> Result<Option<Entry>> {
        let dialect = connection.dialect();
        let digits: String = hash.chars().take(ARTIFACT_DIGITS).collect();
        let expression = dialect.match_expression(&[(digits, false)], true);
        for key in connection.rows(dialect.find_terms(), values![expression, MAX_ARTIFACTS])? {
            if let Some(entry) = self.entry(connection, key.int(0))? {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    /// Returns the first message with a content that is in the scope.
    fn entry(&self, connection: &mut dyn Connection, content: i64) -> Result<Option<Entry>> {
        let sql = "SELECT branch, position FROM message WHERE content = $1 ORDER BY position";
        let places = connection.rows(sql, values![content])?;
        let mut places =
            places.iter().map(|row| Tip { branch: row.int(0), position: row.count(1) });
        let Some(tip) = places.find(|tip| self.scope.contains(*tip)) else { return Ok(None) };
        let sql = format!(
            "SELECT {} FROM message m JOIN content c ON c.key = m.content \
             WHERE m.branch = $1 AND m.position = $2",
            columns(connection.dialect())
        );
        let row = connection.row(&sql, values![tip.branch, tip.position])?;
        // `verify` reports damaged messages. They must not prevent other results.
        Ok(row.and_then(|row| Entry::of(connection.name(), row).ok()))
    }

    /// Scores a text in lower case: a hundred points for each term that it contains, and a few for
    /// repetitions and for the whole query.
    fn score(&self, text: &str) -> u32 {
        let phrase = self.query.trim().to_lowercase();
        let bonus = if !phrase.is_empty() && text.contains(&phrase) { 20 } else { 0 };
        let counts = self.terms.iter().map(|(term, _)| text.matches(term.as_str()).take(3).count());
        let (found, repeated) = counts
            .filter(|count| *count > 0)
            .fold((0_usize, 0_usize), |(found, repeated), count| (found + 1, repeated + count));
        let points = found * 100 + (repeated + bonus).min(99);
        u32::try_from(points).unwrap_or(u32::MAX)
    }
}

/// Returns the text of a message in lower case, for scoring.
fn text_of(entry: &Entry) -> String {
    // Some programs write JSON with every other letter than ASCII escaped.
    let bytes = if entry.bytes.windows(2).any(|pair| pair == b"\\u") {
        canonical(&entry.bytes)
    } else {
        entry.bytes.as_slice().into()
    };
    String::from_utf8_lossy(&bytes).to_lowercase()
}

/// Returns a session that contains the message of the first value and meets a condition, the
/// original one before its forks.
fn owner(
    connection: &mut dyn Connection,
    condition: &str,
    values: &[Value],
) -> Result<Option<String>> {
    let sql = format!(
        "WITH RECURSIVE below (key, at) AS (\
           SELECT branch, position FROM message WHERE id = $1 \
           UNION SELECT b.key, b.fork FROM below \
           JOIN branch b ON b.parent = below.key AND b.fork >= below.at) \
         SELECT s.id FROM below \
         JOIN session s ON s.branch = below.key AND s.position >= below.at \
         WHERE {condition} \
         ORDER BY CASE s.relation WHEN 'main' THEN 0 ELSE 1 END, s.created, s.id LIMIT 1"
    );
    Ok(connection.row(&sql, values)?.map(|mut row| row.text(0)))
}
