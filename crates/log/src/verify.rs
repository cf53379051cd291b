//! Verifies a log: hashes every message, artifact and list of tools again, compares every row and
//! the terms of the search index with their checksums, and follows every session to its first
//! message.

use std::collections::HashSet;

use waterline::phrase;
use waterline::phrase::Phrase;

use crate::compress::decompress;
use crate::encoding::hash_name;
use crate::entry::each_result_of_run;
use crate::error::{LogError, Result};
use crate::id::Id;
use crate::log::Log;
use crate::session::{self, Filter};
use crate::store::checksum::{CONTENT, MESSAGE, TABLES, Table};
use crate::store::index_checksum::{self, Source};
use crate::store::{Connection, values};
use crate::toolset;
use crate::tree::{Path, Run, Tip, id_at};

/// How many damaged entries of the search index are named.
const MAX_INDEX_PROBLEMS: usize = 20;

/// The result of [`Log::verify`]. The log is intact if `problems` is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// Messages that match their ids.
    pub messages: u64,
    /// Sessions with all their messages.
    pub sessions: u64,
    /// Artifacts that match their hashes.
    pub artifacts: u64,
    /// The damage, one line of text per problem. Each names the message, branch, session or
    /// artifact, and damaged branches are followed by the sessions that use them.
    pub problems: Vec<Phrase>,
}

impl Log {
    /// Checks the whole log: runs the database's own integrity check (SQLite only), hashes every
    /// message, artifact and list of tools again, compares every row and the search index with
    /// their checksums, and checks that every session has all its messages.
    ///
    /// After each message, calls `progress` with the number of messages checked and their total.
    /// The log stays usable meanwhile; the check sees one consistent snapshot.
    ///
    /// # Errors
    /// If the log cannot be read at all. Damage is not an error: it is listed in
    /// [`Verified::problems`].
    pub fn verify(&self, mut progress: impl FnMut(u64, u64)) -> Result<Verified> {
        let mut report = Verified::default();
        match self.store().check() {
            Ok(problems) => report.problems = problems,
            Err(error) => report.problems.push(error.damage()),
        }
        self.read(|connection| {
            let counted = connection.number("SELECT COUNT(*) FROM message", &[]);
            let total = counted.map_or(0, |total| u64::try_from(total).unwrap_or_default());
            let mut done = 0;
            let mut checked = || {
                done += 1;
                progress(done, total);
            };
            let outcome = check_messages(connection, &mut report, &mut checked);
            report.add(phrase!("damage-messages", "messages"), outcome);
            let outcome = check_sessions(connection, &mut report);
            report.add(phrase!("damage-sessions", "sessions"), outcome);
            let outcome = check_artifacts(connection, &mut report);
            report.add(phrase!("damage-artifacts", "artifacts"), outcome);
            let outcome = check_tools(connection, &mut report);
            report.add(phrase!("damage-tool-definitions", "tool definitions"), outcome);
            check_rows(connection, &mut report);
            let outcome = check_index(connection, &mut report);
            report.add(phrase!("damage-index", "search index"), outcome);
            Ok(())
        })?;
        Ok(report)
    }
}

impl Verified {
    /// Records an error as a problem, so that the check continues.
    fn add(&mut self, what: Phrase, outcome: Result<()>) {
        if let Err(error) = outcome {
            let problem =
                phrase!("damage-of", "{what}: {cause}", what = what, cause = error.damage());
            self.problems.push(problem);
        }
    }
}

/// Names a branch by its key, since branches have no other name.
pub(crate) fn branch_name(branch: i64) -> Phrase {
    phrase!("damage-branch", "branch {key}", key = branch.to_string())
}

fn check_messages(
    connection: &mut dyn Connection,
    report: &mut Verified,
    checked: &mut dyn FnMut(),
) -> Result<()> {
    let branches =
        connection.rows("SELECT key, parent, fork, last FROM branch ORDER BY key", &[])?;
    for row in branches {
        let run = Run { branch: row.int(0), after: row.count(2), upto: row.count(3) };
        let parent = match row.maybe_int(1) {
            Some(parent) => id_at(connection, Tip { branch: parent, position: run.after }),
            None => Ok(None),
        };
        let before = report.problems.len();
        let outcome =
            parent.and_then(|parent| check_branch(connection, report, run, parent, checked));
        report.add(branch_name(run.branch), outcome);
        if report.problems.len() > before {
            let sessions = sessions_on(connection, run.branch).unwrap_or_default();
            let branch = branch_name(run.branch);
            report.problems.push(match sessions.as_slice() {
                [] => phrase!(
                    "damage-branch-unused",
                    "{branch} is not used by any session",
                    branch = branch
                ),
                [id] => phrase!(
                    "damage-branch-session",
                    "{branch} is used by session {id}",
                    branch = branch,
                    id = id
                ),
                ids => phrase!(
                    "damage-branch-sessions",
                    "{branch} is used by sessions {ids}",
                    branch = branch,
                    ids = ids.join(", ")
                ),
            });
        }
    }
    Ok(())
}

/// Returns the sessions on a branch or on branches below it, at most ten.
fn sessions_on(connection: &mut dyn Connection, branch: i64) -> Result<Vec<String>> {
    let sql = "WITH RECURSIVE below (key) AS (\
                 SELECT key FROM branch WHERE key = $1 \
                 UNION SELECT b.key FROM below JOIN branch b ON b.parent = below.key) \
               SELECT s.id FROM below JOIN session s ON s.branch = below.key \
               ORDER BY s.id LIMIT 10";
    Ok(connection.rows(sql, values![branch])?.into_iter().map(|mut row| row.text(0)).collect())
}

fn check_branch(
    connection: &mut dyn Connection,
    report: &mut Verified,
    run: Run,
    mut parent: Option<Id>,
    checked: &mut dyn FnMut(),
) -> Result<()> {
    let mut position = run.after;
    let whole = Run { upto: u64::try_from(i64::MAX).unwrap_or_default(), ..run };
    each_result_of_run(connection, whole, &mut |key, entry| {
        checked();
        position += 1;
        if key.position != position {
            report.problems.push(phrase!(
                "damage-message-missing",
                "{branch}: message {position} is missing",
                branch = branch_name(run.branch),
                position = position.to_string()
            ));
            position = key.position;
        }
        match entry {
            Ok(entry) if Id::of(parent, entry.role, entry.encoding, &entry.bytes) == entry.id => {
                report.messages += 1
            }
            Ok(entry) => report.problems.push(phrase!(
                "damage-message-id",
                "message {position} ({id}): content does not match its id",
                position = position.to_string(),
                id = entry.id.to_string()
            )),
            Err(error @ LogError::Damaged { .. }) => {
                report.add(branch_name(run.branch), Err(error));
            }
            Err(error) => return Err(error),
        }
        parent = key.id;
        Ok(())
    })?;
    if position != run.upto {
        report.problems.push(phrase!(
            "damage-branch-end",
            "{branch}: ends at message {position}, expected message {last}",
            branch = branch_name(run.branch),
            position = position.to_string(),
            last = run.upto.to_string()
        ));
    }
    Ok(())
}

fn check_sessions(connection: &mut dyn Connection, report: &mut Verified) -> Result<()> {
    for session in session::list(connection, &Filter::default())? {
        let has_tip = session.tip == Tip::EMPTY || id_at(connection, session.tip)?.is_some();
        let path = Path::of(connection, session.tip)?;
        let length: u64 = path.runs(0).map(|run| run.upto.saturating_sub(run.after)).sum();
        let has_path = length == session.tip.position;
        let has_sent = match session.request_context {
            Some(key) => {
                connection.row("SELECT key FROM frozen WHERE key = $1", values![key])?.is_some()
            }
            None => true,
        };
        if has_tip && has_path && has_sent {
            report.sessions += 1;
        } else {
            report.problems.push(phrase!(
                "damage-session-incomplete",
                "session {id}: a message or its stored request context is missing",
                id = session.id
            ));
        }
    }
    Ok(())
}

fn check_artifacts(connection: &mut dyn Connection, report: &mut Verified) -> Result<()> {
    let mut damaged: HashSet<String> = HashSet::new();
    connection.each("SELECT hash, packed, bytes, size FROM artifact", &[], &mut |mut row| {
        let hash = row.bytes(0);
        let bytes = decompress(row.int(1), row.bytes(2), row.size(3));
        if bytes.is_some_and(|bytes| blake3::hash(&bytes).as_bytes().as_slice() == hash.as_slice())
        {
            report.artifacts += 1;
        } else {
            damaged.insert(hash.iter().map(|byte| format!("{byte:02x}")).collect());
        }
        Ok(())
    })?;
    report.problems.extend(damaged.into_iter().map(|hash| {
        phrase!(
            "damage-artifact-hash",
            "artifact {hash}: content does not match its hash",
            hash = hash
        )
    }));
    Ok(())
}

fn check_tools(connection: &mut dyn Connection, report: &mut Verified) -> Result<()> {
    for mut row in connection.rows("SELECT hash FROM toolset", &[])? {
        let name = hash_name(&row.bytes(0));
        let outcome = toolset::read(connection, &name).map(drop);
        report.add(phrase!("damage-tools", "tools"), outcome);
    }
    Ok(())
}

/// Compares the rows of each table with their checksums.
fn check_rows(connection: &mut dyn Connection, report: &mut Verified) {
    // Messages and their contents are compared when they are hashed.
    let is_checked = |table: &&Table| [MESSAGE.name, CONTENT.name].contains(&table.name);
    for table in TABLES.iter().filter(|table| !is_checked(table)) {
        match table.damaged(connection, None) {
            Ok(damaged) => report.problems.extend(damaged),
            Err(error) => report.add(table.kind(), Err(error)),
        }
    }
}

/// Compares the terms in the search index with their checksums.
fn check_index(connection: &mut dyn Connection, report: &mut Verified) -> Result<()> {
    for source in Source::ALL {
        let damaged = index_checksum::damaged(connection, source)?;
        for &key in damaged.iter().take(MAX_INDEX_PROBLEMS) {
            let text = indexed_text(connection, source, key)?;
            report.problems.push(phrase!(
                "damage-index-terms",
                "search index: the terms of {text} are damaged",
                text = text
            ));
        }
        let more = damaged.len().saturating_sub(MAX_INDEX_PROBLEMS);
        if more > 0 {
            report.problems.push(phrase!(
                "damage-index-more",
                "search index: the terms of {more} more are damaged",
                more = more
            ));
        }
    }
    Ok(())
}

/// Describes what a key of the search index belongs to.
fn indexed_text(connection: &mut dyn Connection, source: Source, key: i64) -> Result<Phrase> {
    let sql = match source {
        Source::Content => "SELECT id, position FROM message WHERE content = $1 ORDER BY branch",
        Source::Artifact => "SELECT hash FROM artifact_text WHERE key = $1",
    };
    Ok(match (connection.row(sql, values![key])?, source) {
        (Some(mut row), Source::Content) => phrase!(
            "damage-index-message",
            "message {position} ({id})",
            position = row.count(1).to_string(),
            id = hash_name(&row.bytes(0))
        ),
        (Some(mut row), Source::Artifact) => {
            phrase!("damage-artifact", "artifact {hash}", hash = hash_name(&row.bytes(0)))
        }
        (None, _) => phrase!(
            "damage-index-entry",
            "entry {key}, which belongs to nothing,",
            key = key.to_string()
        ),
    })
}
