//! The only true deletion: sessions that are to be forgotten, and those that nobody has used for
//! long. What a living session shares with them stays.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::error::{LogError, Result};
use crate::log::Log;
use crate::session::{self, Filter, Relation, Session};
use crate::store::{Connection, values};
use crate::toolset;

/// Whom to forget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whom {
    /// One session, with the sub-agents it started.
    Session(String),
    /// Everything of a user.
    User(String),
    /// Sessions that were not used since this time, in milliseconds since 1970.
    IdleSince(i64),
}

/// What went, or would go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Erased {
    /// The sessions.
    pub sessions: Vec<String>,
    /// The folders that were theirs; the log leaves them alone.
    pub workspaces: Vec<String>,
    /// Messages that no other session has.
    pub messages: u64,
    /// Their bytes, as they came.
    pub bytes: u64,
    /// Messages that stay because another session has them too.
    pub shared: u64,
    /// Steps of generations.
    pub steps: u64,
    /// Rows of other kinds, by the name of their table.
    pub rows: BTreeMap<&'static str, u64>,
    /// Whether the database's files were cleaned too. Where somebody was reading, or the disk is
    /// full, what was deleted may still lie in them, until [`Log::shrink`] comes through.
    pub is_clean: bool,
}

/// Tables whose rows belong to one session, with the column that names it.
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
    /// What [`Log::erase`] would delete.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn would_erase(&self, whom: &Whom) -> Result<Erased> {
        self.read(|connection| Ok(Sweep::plan(connection, whom)?.report))
    }

    /// Deletes sessions with everything that is only theirs, for good, and says what went. Nothing
    /// of it can be read from the database's files afterwards.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn erase(&self, whom: &Whom) -> Result<Erased> {
        let owned = whom.clone();
        let mut report = self.write_alone(move |connection| {
            let sweep = Sweep::plan(connection, &owned)?;
            sweep.apply(connection)?;
            if let Whom::User(user) = &owned {
                connection.run("DELETE FROM preference WHERE user_id = $1", values![user])?;
            }
            Ok(sweep.report)
        })?;
        report.is_clean = self.shrink().is_ok();
        Ok(report)
    }

    /// Cleans the database's files of what was deleted, and gives back its room.
    ///
    /// # Errors
    /// When somebody is reading, or the disk is full.
    pub fn shrink(&self) -> Result<()> {
        self.store().shrink()
    }
}

/// What is to be deleted.
struct Sweep {
    report: Erased,
    /// Of each branch that loses messages, the last position that stays.
    cuts: Vec<(i64, u64)>,
    contents: Vec<i64>,
    frozen: Vec<i64>,
}

#[derive(Clone, Copy)]
struct Branch {
    parent: Option<i64>,
    fork: u64,
    last: u64,
}

impl Sweep {
    fn plan(connection: &mut dyn Connection, whom: &Whom) -> Result<Self> {
        let all = session::list(connection, &Filter::default())?;
        let mut gone: HashSet<String> = match whom {
            Whom::Session(id) => HashSet::from([session::load(connection, id)?.id]),
            Whom::User(user) => {
                let theirs = all.iter().filter(|session| session.user.as_ref() == Some(user));
                theirs.map(|session| session.id.clone()).collect()
            }
            Whom::IdleSince(time) => all
                .iter()
                .filter(|session| session.active < *time)
                .map(|session| session.id.clone())
                .collect(),
        };
        match whom {
            Whom::IdleSince(_) => keep_parents_of_living(&all, &mut gone),
            Whom::Session(_) | Whom::User(_) => take_sub_agents(&all, &mut gone),
        }
        let mut sweep = Self {
            report: Erased::default(),
            cuts: Vec::new(),
            contents: Vec::new(),
            frozen: Vec::new(),
        };
        let theirs = all.iter().filter(|session| gone.contains(&session.id));
        sweep.report.workspaces =
            theirs.clone().filter_map(|session| session.workspace.clone()).collect();
        sweep.report.sessions = theirs.map(|session| session.id.clone()).collect();
        sweep.report.sessions.sort();
        sweep.plan_messages(connection, &gone)?;
        sweep.plan_frozen(connection, &gone)?;
        sweep.plan_rows(connection)?;
        if let Whom::User(user) = whom {
            let settings = connection
                .number("SELECT COUNT(*) FROM preference WHERE user_id = $1", values![user])?;
            if sweep.report.sessions.is_empty() && settings == 0 {
                return Err(LogError::Missing { what: "user", id: user.clone() });
            }
            sweep.report.rows.extend(
                (settings > 0).then(|| ("preference", u64::try_from(settings).unwrap_or_default())),
            );
        }
        Ok(sweep)
    }

    /// Which messages no living session needs: those beyond the last one that some tip, or some way
    /// that can be taken back, leads through.
    fn plan_messages(
        &mut self,
        connection: &mut dyn Connection,
        gone: &HashSet<String>,
    ) -> Result<()> {
        let branches = branches(connection)?;
        let (alive, before) = needed(connection, &branches, gone)?;
        for (&key, branch) in &branches {
            let keep = alive.get(&key).copied().unwrap_or(branch.fork);
            self.report.shared +=
                before.get(&key).copied().unwrap_or(branch.fork).min(keep) - branch.fork;
            if keep < branch.last {
                self.cuts.push((key, keep));
                self.report.messages += branch.last - keep;
            }
        }
        let mut met = HashSet::new();
        for &(branch, keep) in &self.cuts {
            let sql = "SELECT DISTINCT content FROM message WHERE branch = $1 AND position > $2";
            for row in connection.rows(sql, values![branch, keep])? {
                if met.insert(row.int(0)) && !is_needed(connection, row.int(0), &branches, &alive)?
                {
                    self.contents.push(row.int(0));
                    let size = connection
                        .number("SELECT size FROM content WHERE key = $1", values![row.int(0)])?;
                    self.report.bytes += u64::try_from(size).unwrap_or_default();
                }
            }
        }
        Ok(())
    }

    fn plan_frozen(
        &mut self,
        connection: &mut dyn Connection,
        gone: &HashSet<String>,
    ) -> Result<()> {
        let previous: HashMap<i64, Option<i64>> = connection
            .rows("SELECT key, previous FROM frozen", &[])?
            .iter()
            .map(|row| (row.int(0), row.maybe_int(1)))
            .collect();
        let mut alive: HashSet<i64> = HashSet::new();
        let sql = "SELECT id, frozen FROM session UNION ALL SELECT session, from_frozen FROM move";
        for mut row in connection.rows(sql, &[])? {
            let mut next = row.maybe_int(1).filter(|_| !gone.contains(&row.text(0)));
            while let Some(key) = next.filter(|&key| alive.insert(key)) {
                next = previous.get(&key).copied().flatten();
            }
        }
        self.frozen = previous.into_keys().filter(|key| !alive.contains(key)).collect();
        self.report.steps = self.frozen.len() as u64;
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
            // They hold nothing of what was said.
            connection.run("DELETE FROM lease WHERE session = $1", values![session])?;
            connection.run("DELETE FROM conversation WHERE session = $1", values![session])?;
            connection.run("DELETE FROM session WHERE id = $1", values![session])?;
            connection
                .run("UPDATE session SET parent = NULL WHERE parent = $1", values![session])?;
            // A generation that a fork goes on with no longer says where it came from.
            connection
                .run("UPDATE generation SET session = '' WHERE session = $1", values![session])?;
        }
        // Newest first: a step is deleted before the one it goes on from.
        let mut frozen = self.frozen.clone();
        frozen.sort_unstable_by_key(|key| std::cmp::Reverse(*key));
        for key in frozen {
            connection.run("DELETE FROM frozen WHERE key = $1", values![key])?;
        }
        let unused = "DELETE FROM generation WHERE session = '' AND NOT EXISTS \
                      (SELECT 1 FROM frozen WHERE frozen.generation = generation.key)";
        connection.run(unused, &[])?;
        self.apply_messages(connection)?;
        let unused = "DELETE FROM artifact WHERE NOT EXISTS (SELECT 1 FROM artifact_use u WHERE u.hash = artifact.hash)";
        connection.run(unused, &[])?;
        toolset::sweep(connection)
    }

    fn apply_messages(&self, connection: &mut dyn Connection) -> Result<()> {
        let unindex = connection.dialect().unindex_words();
        for &(branch, keep) in &self.cuts {
            connection.run(
                "DELETE FROM message WHERE branch = $1 AND position > $2",
                values![branch, keep],
            )?;
            connection.run("UPDATE branch SET last = $1 WHERE key = $2", values![keep, branch])?;
        }
        for &content in &self.contents {
            connection.run(unindex, values![content])?;
            connection.run("DELETE FROM content WHERE key = $1", values![content])?;
        }
        // Of the branches that are empty now, those that others grow from stay.
        let mut cuts = self.cuts.clone();
        cuts.sort_unstable_by_key(|(key, _)| std::cmp::Reverse(*key));
        for (key, _) in cuts {
            let sql = "DELETE FROM branch WHERE key = $1 AND last = fork AND NOT EXISTS \
                       (SELECT 1 FROM branch child WHERE child.parent = $1)";
            connection.run(sql, values![key])?;
        }
        Ok(())
    }
}

/// A sub-agent is nothing without the session it worked for.
fn take_sub_agents(all: &[Session], gone: &mut HashSet<String>) {
    let agents = || all.iter().filter(|session| session.relation == Relation::SubAgent);
    let belongs = |session: &Session, gone: &HashSet<String>| {
        session.parent.as_ref().is_some_and(|id| gone.contains(id))
    };
    while let Some(agent) = agents().find(|agent| belongs(agent, gone) && !gone.contains(&agent.id))
    {
        gone.insert(agent.id.clone());
    }
}

/// A session whose sub-agent is still at work is in use.
fn keep_parents_of_living(all: &[Session], gone: &mut HashSet<String>) {
    let agents = || all.iter().filter(|session| session.relation == Relation::SubAgent);
    let needs = |gone: &HashSet<String>| {
        agents()
            .filter(|agent| !gone.contains(&agent.id))
            .find_map(|agent| agent.parent.clone().filter(|id| gone.contains(id)))
    };
    while let Some(parent) = needs(gone) {
        gone.remove(&parent);
    }
}

fn branches(connection: &mut dyn Connection) -> Result<BTreeMap<i64, Branch>> {
    let rows = connection.rows("SELECT key, parent, fork, last FROM branch", &[])?;
    let of = |row: &crate::store::Row| {
        (row.int(0), Branch { parent: row.maybe_int(1), fork: row.count(2), last: row.count(3) })
    };
    Ok(rows.iter().map(of).collect())
}

type Needed = HashMap<i64, u64>;

/// Of each branch the last position that a living session needs, and the last that one of those to
/// be erased has.
fn needed(
    connection: &mut dyn Connection,
    branches: &BTreeMap<i64, Branch>,
    gone: &HashSet<String>,
) -> Result<(Needed, Needed)> {
    let (mut alive, mut dead) = (Needed::new(), Needed::new());
    let sql = "SELECT id, branch, position FROM session \
               UNION ALL SELECT session, from_branch, from_position FROM move \
               UNION ALL SELECT session, to_branch, to_position FROM move \
               UNION ALL SELECT session, branch, position FROM summary";
    for mut row in connection.rows(sql, &[])? {
        let needed = if gone.contains(&row.text(0)) { &mut dead } else { &mut alive };
        let (mut key, mut position) = (row.int(1), row.count(2));
        while let Some(branch) = branches.get(&key) {
            let known = needed.entry(key).or_insert(branch.fork);
            if position <= *known && position > branch.fork {
                break;
            }
            *known = position.max(*known);
            let Some(parent) = branch.parent else { break };
            (key, position) = (parent, branch.fork);
        }
    }
    Ok((alive, dead))
}

/// Whether some message that stays has this content.
fn is_needed(
    connection: &mut dyn Connection,
    content: i64,
    branches: &BTreeMap<i64, Branch>,
    alive: &Needed,
) -> Result<bool> {
    let rows = connection
        .rows("SELECT branch, position FROM message WHERE content = $1", values![content])?;
    let stays = |branch: i64, position: u64| {
        let fork = branches.get(&branch).map_or(0, |branch| branch.fork);
        position <= alive.get(&branch).copied().unwrap_or(fork)
    };
    Ok(rows.iter().any(|row| stays(row.int(0), row.count(1))))
}
