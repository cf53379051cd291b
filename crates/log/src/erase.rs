//! Erases sessions: the only operation that deletes messages. Messages that remaining sessions
//! share with the erased ones are kept.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::artifact;
use crate::error::{LogError, Result};
use crate::log::Log;
use crate::session::{self, Filter, Relation, Session};
use crate::store::index_checksum::{self, Source};
use crate::store::{Connection, values};
use crate::toolset;

/// What [`Log::erase`] deletes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EraseTarget {
    /// One session and its sub-agents.
    Session(String),
    /// All sessions and preferences of a user.
    User(String),
    /// All sessions neither used nor imported since this time, in milliseconds since 1970.
    IdleSince(i64),
}

/// What was deleted, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EraseReport {
    /// The ids of the sessions.
    pub sessions: Vec<String>,
    /// The workspace directories of the sessions. The log does not delete them.
    pub workspaces: Vec<String>,
    /// Number of deleted messages.
    pub messages: u64,
    /// Bytes of the deleted messages, as received.
    pub bytes: u64,
    /// Number of messages that are kept because another session has them too.
    pub shared: u64,
    /// Number of deleted request contexts.
    pub contexts: u64,
    /// Number of other deleted rows, by table.
    pub rows: BTreeMap<&'static str, u64>,
    /// Whether the deleted data is also gone from the database files. If another process was
    /// reading or the disk is full, traces may remain until [`Log::shrink`] succeeds.
    pub is_clean: bool,
}

/// Tables whose rows belong to one session, with the column of the session's id.
const OWNED: &[(&str, &str)] = &[
    ("move", "session"),
    ("cut", "session"),
    ("summary", "session"),
    ("checkpoint", "thread_id"),
    ("snapshot", "session"),
    ("artifact_use", "session"),
    ("usage", "session"),
    ("job", "session"),
];

impl Log {
    /// Returns what [`Log::erase`] would delete, without deleting it.
    ///
    /// # Errors
    /// If the session or the user does not exist.
    pub fn would_erase(&self, whom: &EraseTarget) -> Result<EraseReport> {
        self.read(|connection| Ok(Sweep::plan(connection, whom)?.report))
    }

    /// Permanently deletes sessions with all data that only they use, and returns what was deleted.
    /// Then removes the traces from the database files; check [`EraseReport::is_clean`].
    ///
    /// # Errors
    /// If the session or the user does not exist.
    pub fn erase(&self, whom: &EraseTarget) -> Result<EraseReport> {
        let whom = whom.clone();
        let mut report = self.write_alone(move |connection| {
            let sweep = Sweep::plan(connection, &whom)?;
            sweep.apply(connection)?;
            if let EraseTarget::User(user) = &whom {
                connection.run("DELETE FROM preference WHERE user_id = $1", values![user])?;
            }
            Ok(sweep.report)
        })?;
        report.is_clean = self.shrink().is_ok();
        Ok(report)
    }

    /// Deletes a session without a message of the user. Returns whether it had none. The database
    /// files are not rewritten, which takes long if they are large: no message was added that could
    /// leave traces.
    ///
    /// # Errors
    /// If the session does not exist.
    pub fn erase_blank(&self, session: &str) -> Result<bool> {
        let id = session.to_owned();
        self.write_alone(move |connection| {
            if session::load(connection, &id)?.has_messages() {
                return Ok(false);
            }
            Sweep::plan(connection, &EraseTarget::Session(id.clone()))?.apply(connection)?;
            Ok(true)
        })
    }

    /// Removes deleted data from the database files and returns the free space to the file system.
    ///
    /// # Errors
    /// If another process is reading, or the disk is full.
    pub fn shrink(&self) -> Result<()> {
        self.store().shrink()
    }
}

/// The data to delete.
struct Sweep {
    report: EraseReport,
    /// Each branch that loses messages, with the last position that is kept.
    truncated: Vec<(i64, u64)>,
    contents: Vec<i64>,
    contexts: Vec<i64>,
}

#[derive(Clone, Copy)]
struct Branch {
    parent: Option<i64>,
    fork: u64,
    last: u64,
}

impl Sweep {
    fn plan(connection: &mut dyn Connection, whom: &EraseTarget) -> Result<Self> {
        let all = session::list(connection, &Filter::default())?;
        let mut erased: HashSet<String> = match whom {
            EraseTarget::Session(id) if all.iter().any(|session| session.id == *id) => {
                HashSet::from([id.clone()])
            }
            EraseTarget::Session(id) => return Err(LogError::NoSession { id: id.clone() }),
            EraseTarget::User(user) => {
                let theirs = all.iter().filter(|session| session.user.as_ref() == Some(user));
                theirs.map(|session| session.id.clone()).collect()
            }
            EraseTarget::IdleSince(time) => all
                .iter()
                .filter(|session| session.idle_since() < *time)
                .map(|session| session.id.clone())
                .collect(),
        };
        match whom {
            EraseTarget::IdleSince(_) => keep_parents_of_active(&all, &mut erased),
            EraseTarget::Session(_) | EraseTarget::User(_) => add_sub_agents(&all, &mut erased),
        }
        let mut sweep = Self {
            report: EraseReport::default(),
            truncated: Vec::new(),
            contents: Vec::new(),
            contexts: Vec::new(),
        };
        let sessions = all.iter().filter(|session| erased.contains(&session.id));
        sweep.report.workspaces =
            sessions.clone().filter_map(|session| session.workspace.clone()).collect();
        sweep.report.sessions = sessions.map(|session| session.id.clone()).collect();
        sweep.report.sessions.sort();
        sweep.plan_messages(connection, &erased)?;
        sweep.plan_contexts(connection, &erased)?;
        sweep.plan_rows(connection)?;
        if let EraseTarget::User(user) = whom {
            let count = connection
                .number("SELECT COUNT(*) FROM preference WHERE user_id = $1", values![user])?;
            if sweep.report.sessions.is_empty() && count == 0 {
                return Err(LogError::Missing { what: "user", id: user.clone() });
            }
            sweep.report.rows.extend(
                (count > 0).then(|| ("preference", u64::try_from(count).unwrap_or_default())),
            );
        }
        Ok(sweep)
    }

    /// Finds the messages that no remaining session needs: on each branch, those after the last
    /// message that a remaining tip or recorded move refers to.
    fn plan_messages(
        &mut self,
        connection: &mut dyn Connection,
        erased: &HashSet<String>,
    ) -> Result<()> {
        let branches = branches(connection)?;
        let (kept, used) = needed(connection, &branches, erased)?;
        for (&key, branch) in &branches {
            let keep = kept.get(&key).copied().unwrap_or(branch.fork);
            self.report.shared +=
                used.get(&key).copied().unwrap_or(branch.fork).min(keep) - branch.fork;
            if keep < branch.last {
                self.truncated.push((key, keep));
                self.report.messages += branch.last - keep;
            }
        }
        let mut seen = HashSet::new();
        for &(branch, keep) in &self.truncated {
            let sql = "SELECT DISTINCT content FROM message WHERE branch = $1 AND position > $2";
            for row in connection.rows(sql, values![branch, keep])? {
                let content = row.int(0);
                if seen.insert(content) && !is_needed(connection, content, &branches, &kept)? {
                    self.contents.push(content);
                    let size = connection
                        .number("SELECT size FROM content WHERE key = $1", values![content])?;
                    self.report.bytes += u64::try_from(size).unwrap_or_default();
                }
            }
        }
        Ok(())
    }

    fn plan_contexts(
        &mut self,
        connection: &mut dyn Connection,
        erased: &HashSet<String>,
    ) -> Result<()> {
        let previous: HashMap<i64, Option<i64>> = connection
            .rows("SELECT key, previous FROM frozen", &[])?
            .iter()
            .map(|row| (row.int(0), row.maybe_int(1)))
            .collect();
        let mut kept: HashSet<i64> = HashSet::new();
        let sql = "SELECT id, frozen FROM session UNION ALL SELECT session, from_frozen FROM move";
        for mut row in connection.rows(sql, &[])? {
            let mut next = row.maybe_int(1).filter(|_| !erased.contains(&row.text(0)));
            while let Some(key) = next.filter(|&key| kept.insert(key)) {
                next = previous.get(&key).copied().flatten();
            }
        }
        self.contexts = previous.into_keys().filter(|key| !kept.contains(key)).collect();
        self.report.contexts = self.contexts.len() as u64;
        Ok(())
    }

    fn plan_rows(&mut self, connection: &mut dyn Connection) -> Result<()> {
        for &(table, column) in OWNED {
            let sql = format!("SELECT COUNT(*) FROM {table} WHERE {column} = $1");
            let mut count = 0;
            for session in &self.report.sessions {
                count += connection.number(&sql, values![session])?;
            }
            if count > 0 {
                self.report.rows.insert(table, u64::try_from(count).unwrap_or_default());
            }
        }
        Ok(())
    }

    fn apply(&self, connection: &mut dyn Connection) -> Result<()> {
        for session in &self.report.sessions {
            for &(table, column) in OWNED {
                connection
                    .run(&format!("DELETE FROM {table} WHERE {column} = $1"), values![session])?;
            }
            // Not counted in the report: these rows hold no content.
            connection.run("DELETE FROM lease WHERE session = $1", values![session])?;
            connection.run("DELETE FROM conversation WHERE session = $1", values![session])?;
            connection.run("DELETE FROM session WHERE id = $1", values![session])?;
            connection
                .run("UPDATE session SET parent = NULL WHERE parent = $1", values![session])?;
            // A fork may still use the generation; it just no longer names its session.
            connection
                .run("UPDATE generation SET session = '' WHERE session = $1", values![session])?;
        }
        // Newest first: a row refers to the previous one.
        let mut contexts = self.contexts.clone();
        contexts.sort_unstable_by_key(|key| std::cmp::Reverse(*key));
        for key in contexts {
            connection.run("DELETE FROM frozen WHERE key = $1", values![key])?;
        }
        let unused = "DELETE FROM generation WHERE session = '' AND NOT EXISTS \
                      (SELECT 1 FROM frozen WHERE frozen.generation = generation.key)";
        connection.run(unused, &[])?;
        self.apply_messages(connection)?;
        artifact::sweep(connection)?;
        toolset::sweep(connection)
    }

    fn apply_messages(&self, connection: &mut dyn Connection) -> Result<()> {
        let unindex = connection.dialect().unindex_terms();
        for &(branch, keep) in &self.truncated {
            connection.run(
                "DELETE FROM message WHERE branch = $1 AND position > $2",
                values![branch, keep],
            )?;
            connection.run("UPDATE branch SET last = $1 WHERE key = $2", values![keep, branch])?;
        }
        for &content in &self.contents {
            connection.run(unindex, values![content])?;
            index_checksum::delete(connection, Source::Content, content)?;
            // Not counted in the report: vectors are derived from the content.
            connection.run("DELETE FROM vector WHERE content = $1", values![content])?;
            connection.run("DELETE FROM content WHERE key = $1", values![content])?;
        }
        // Delete branches that are now empty, unless another branch starts from them. Children
        // have higher keys, so they go first.
        let mut truncated = self.truncated.clone();
        truncated.sort_unstable_by_key(|(key, _)| std::cmp::Reverse(*key));
        for (key, _) in truncated {
            let sql = "DELETE FROM branch WHERE key = $1 AND last = fork AND NOT EXISTS \
                       (SELECT 1 FROM branch child WHERE child.parent = $1)";
            connection.run(sql, values![key])?;
        }
        Ok(())
    }
}

/// Adds the sub-agents of erased sessions, at any depth.
fn add_sub_agents(all: &[Session], erased: &mut HashSet<String>) {
    let agents = || all.iter().filter(|session| session.relation == Relation::SubAgent);
    let belongs = |session: &Session, erased: &HashSet<String>| {
        session.parent.as_ref().is_some_and(|id| erased.contains(id))
    };
    while let Some(agent) =
        agents().find(|agent| belongs(agent, erased) && !erased.contains(&agent.id))
    {
        erased.insert(agent.id.clone());
    }
}

/// Keeps sessions with an active sub-agent: they are in use.
fn keep_parents_of_active(all: &[Session], erased: &mut HashSet<String>) {
    let agents = || all.iter().filter(|session| session.relation == Relation::SubAgent);
    let next_parent = |erased: &HashSet<String>| {
        agents()
            .filter(|agent| !erased.contains(&agent.id))
            .find_map(|agent| agent.parent.clone().filter(|id| erased.contains(id)))
    };
    while let Some(parent) = next_parent(erased) {
        erased.remove(&parent);
    }
}

fn branches(connection: &mut dyn Connection) -> Result<BTreeMap<i64, Branch>> {
    let rows = connection.rows("SELECT key, parent, fork, last FROM branch", &[])?;
    let of = |row: &crate::store::Row| {
        (row.int(0), Branch { parent: row.maybe_int(1), fork: row.count(2), last: row.count(3) })
    };
    Ok(rows.iter().map(of).collect())
}

/// The last needed position of each branch.
type Needed = HashMap<i64, u64>;

/// Returns what the remaining sessions need, and what the erased sessions used.
fn needed(
    connection: &mut dyn Connection,
    branches: &BTreeMap<i64, Branch>,
    erased: &HashSet<String>,
) -> Result<(Needed, Needed)> {
    let mut kept = Needed::new();
    let mut used = Needed::new();
    let sql = "SELECT id, branch, position FROM session \
               UNION ALL SELECT session, from_branch, from_position FROM move \
               UNION ALL SELECT session, to_branch, to_position FROM move \
               UNION ALL SELECT session, branch, position FROM summary";
    for mut row in connection.rows(sql, &[])? {
        let needed = if erased.contains(&row.text(0)) { &mut used } else { &mut kept };
        let mut key = row.int(1);
        let mut position = row.count(2);
        // A damaged branch may be its own ancestor.
        for _ in 0..branches.len() {
            let Some(branch) = branches.get(&key) else { break };
            let known = needed.entry(key).or_insert(branch.fork);
            if position <= *known && position > branch.fork {
                break;
            }
            *known = position.max(*known);
            let Some(parent) = branch.parent else { break };
            key = parent;
            position = branch.fork;
        }
    }
    Ok((kept, used))
}

/// Returns whether a remaining message has this content.
fn is_needed(
    connection: &mut dyn Connection,
    content: i64,
    branches: &BTreeMap<i64, Branch>,
    kept: &Needed,
) -> Result<bool> {
    let rows = connection
        .rows("SELECT branch, position FROM message WHERE content = $1", values![content])?;
    let is_kept = |branch: i64, position: u64| {
        let fork = branches.get(&branch).map_or(0, |branch| branch.fork);
        position <= kept.get(&branch).copied().unwrap_or(fork)
    };
    Ok(rows.iter().any(|row| is_kept(row.int(0), row.count(1))))
}
