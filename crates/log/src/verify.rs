//! Looking at everything once more: every message is hashed again, every tip is followed.

use std::collections::HashMap;

use crate::compress::unpack;
use crate::entry::attempt_each;
use crate::error::{LogError, Result};
use crate::id::Id;
use crate::log::Log;
use crate::session::{self, Filter};
use crate::store::{Connection, values};
use crate::tree::{Path, Run, Tip, id_at};

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Messages whose id is right.
    pub messages: u64,
    /// Sessions whose way is whole.
    pub sessions: u64,
    /// Artifacts whose bytes are right.
    pub artifacts: u64,
    /// What is wrong, each in a sentence.
    pub problems: Vec<String>,
}

impl Log {
    /// Hashes everything again. `progress` hears how many messages have been looked at, and how
    /// many there are.
    ///
    /// # Errors
    /// When the log cannot be read at all; what is damaged is reported, not an error.
    pub fn verify(&self, mut progress: impl FnMut(u64, u64)) -> Result<Verified> {
        let mut found = Verified::default();
        match self.store().check() {
            Ok(problems) => found.problems = problems,
            Err(error) => found.problems.push(error.to_string()),
        }
        self.read(|connection| {
            let counted = connection.number("SELECT COUNT(*) FROM message", &[]);
            let total = counted.map_or(0, |total| u64::try_from(total).unwrap_or_default());
            let mut done = 0;
            let mut step = || {
                done += 1;
                progress(done, total);
            };
            let outcome = check_messages(connection, &mut found, &mut step);
            found.note("messages", outcome);
            let outcome = check_sessions(connection, &mut found);
            found.note("sessions", outcome);
            let outcome = check_artifacts(connection, &mut found);
            found.note("artifacts", outcome);
            Ok(())
        })?;
        Ok(found)
    }
}

impl Verified {
    /// Writes a problem down instead of stopping at it.
    fn note(&mut self, what: &str, outcome: Result<()>) {
        if let Err(error) = outcome {
            let text = match error {
                LogError::Damaged { text, .. } => text,
                other => other.to_string(),
            };
            self.problems.push(format!("{what}: {text}"));
        }
    }
}

fn check_messages(
    connection: &mut dyn Connection,
    found: &mut Verified,
    step: &mut dyn FnMut(),
) -> Result<()> {
    let branches =
        connection.rows("SELECT key, parent, fork, last FROM branch ORDER BY key", &[])?;
    for row in branches {
        let run = Run { branch: row.int(0), after: row.count(2), upto: row.count(3) };
        let parent = match row.maybe_int(1) {
            Some(parent) => id_at(connection, Tip { branch: parent, position: run.after }),
            None => Ok(None),
        };
        let before = found.problems.len();
        let outcome = parent.and_then(|parent| check_branch(connection, found, run, parent, step));
        found.note(&format!("branch {}", run.branch), outcome);
        if found.problems.len() > before {
            let who = users(connection, run.branch).unwrap_or_default();
            found.problems.push(format!("branch {} belongs to {who}", run.branch));
        }
    }
    Ok(())
}

/// The sessions that a branch leads to, for a person.
fn users(connection: &mut dyn Connection, branch: i64) -> Result<String> {
    let sql = "WITH RECURSIVE below (key) AS (\
                 SELECT key FROM branch WHERE key = $1 UNION ALL SELECT b.key FROM below JOIN branch b ON b.parent = below.key) \
               SELECT s.id FROM below JOIN session s ON s.branch = below.key ORDER BY s.id LIMIT 10";
    let names: Vec<String> =
        connection.rows(sql, values![branch])?.into_iter().map(|mut row| row.text(0)).collect();
    Ok(if names.is_empty() {
        "no session".to_owned()
    } else {
        format!("session {}", names.join(", "))
    })
}

fn check_branch(
    connection: &mut dyn Connection,
    found: &mut Verified,
    run: Run,
    mut parent: Option<Id>,
    step: &mut dyn FnMut(),
) -> Result<()> {
    let mut position = run.after;
    let whole = Run { upto: u64::try_from(i64::MAX).unwrap_or_default(), ..run };
    attempt_each(connection, whole, &mut |named, entry| {
        step();
        position += 1;
        if named.position != position {
            found.problems.push(format!("branch {}: message {position} is missing", run.branch));
            position = named.position;
        }
        match entry {
            Ok(entry) if Id::of(parent, entry.role, entry.encoding, &entry.bytes) == entry.id => {
                found.messages += 1
            }
            Ok(entry) => found
                .problems
                .push(format!("message {position}, {}: its bytes do not give its id", entry.id)),
            Err(LogError::Damaged { text, .. }) => {
                found.problems.push(format!("branch {}: {text}", run.branch))
            }
            Err(error) => return Err(error),
        }
        parent = named.id;
        Ok(())
    })?;
    if position != run.upto {
        found.problems.push(format!(
            "branch {}: it ends at message {position}, not at {}",
            run.branch, run.upto
        ));
    }
    Ok(())
}

fn check_sessions(connection: &mut dyn Connection, found: &mut Verified) -> Result<()> {
    for session in session::list(connection, &Filter::default())? {
        let is_there = session.tip == Tip::EMPTY || id_at(connection, session.tip)?.is_some();
        let path = Path::of(connection, session.tip)?;
        let whole =
            path.runs(0).map(|run| run.upto - run.after).sum::<u64>() == session.tip.position;
        let sent = match session.frozen {
            Some(key) => {
                connection.row("SELECT key FROM frozen WHERE key = $1", values![key])?.is_some()
            }
            None => true,
        };
        if is_there && whole && sent {
            found.sessions += 1;
        } else {
            found
                .problems
                .push(format!("session {}: the way to its last message is not whole", session.id));
        }
    }
    Ok(())
}

fn check_artifacts(connection: &mut dyn Connection, found: &mut Verified) -> Result<()> {
    let mut bad: HashMap<String, &str> = HashMap::new();
    connection.each("SELECT hash, packed, bytes, size FROM artifact", &[], &mut |mut row| {
        let hash = row.bytes(0);
        let bytes = unpack(row.int(1), row.bytes(2), row.size(3));
        if bytes.is_some_and(|bytes| blake3::hash(&bytes).as_bytes().as_slice() == hash.as_slice())
        {
            found.artifacts += 1;
        } else {
            let name = hash.iter().map(|byte| format!("{byte:02x}")).collect();
            bad.insert(name, "its bytes do not give its hash");
        }
        Ok(())
    })?;
    found.problems.extend(bad.into_iter().map(|(name, text)| format!("artifact {name}: {text}")));
    Ok(())
}
