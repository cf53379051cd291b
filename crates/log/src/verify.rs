//! Looking at everything once more: every message is hashed again, every tip is followed.

use std::collections::HashMap;

use crate::entry::each_of_run;
use crate::error::{LogError, Result};
use crate::id::Id;
use crate::log::Log;
use crate::packed::unpack;
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
    /// Hashes everything again. `progress` hears how many messages have been looked at, and how many there are.
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
            let total = u64::try_from(connection.number("SELECT COUNT(*) FROM message", &[])?).unwrap_or_default();
            let mut done = 0;
            let mut step = || {
                done += 1;
                progress(done, total);
            };
            check_messages(connection, &mut found, &mut step)?;
            check_sessions(connection, &mut found)?;
            check_artifacts(connection, &mut found)
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

fn check_messages(connection: &mut dyn Connection, found: &mut Verified, step: &mut dyn FnMut()) -> Result<()> {
    let branches = connection.rows("SELECT key, parent, fork, last FROM branch ORDER BY key", &[])?;
    for row in branches {
        let run = Run { branch: row.int(0), after: row.count(2), upto: row.count(3) };
        let parent = match row.maybe_int(1) {
            Some(parent) => id_at(connection, Tip { branch: parent, position: run.after }),
            None => Ok(None),
        };
        let outcome = parent.and_then(|parent| check_branch(connection, found, run, parent, step));
        found.note(&format!("branch {}", run.branch), outcome);
    }
    Ok(())
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
    each_of_run(connection, whole, &mut |entry| {
        step();
        position += 1;
        if entry.position != position {
            found.problems.push(format!("branch {}: message {position} is missing", run.branch));
            position = entry.position;
        }
        if Id::of(parent, entry.encoding, &entry.bytes) == entry.id {
            found.messages += 1;
        } else {
            found.problems.push(format!("message {}: its bytes do not give its id", entry.id));
        }
        parent = Some(entry.id);
        Ok(())
    })?;
    if position != run.upto {
        found.problems.push(format!("branch {}: it ends at message {position}, not at {}", run.branch, run.upto));
    }
    Ok(())
}

fn check_sessions(connection: &mut dyn Connection, found: &mut Verified) -> Result<()> {
    for session in session::list(connection, &Filter::default())? {
        let is_there = session.tip == Tip::EMPTY || id_at(connection, session.tip)?.is_some();
        let path = Path::of(connection, session.tip)?;
        let whole = path.runs(0).map(|run| run.upto - run.after).sum::<u64>() == session.tip.position;
        let sent = match session.frozen {
            Some(key) => connection.row("SELECT key FROM frozen WHERE key = $1", values![key])?.is_some(),
            None => true,
        };
        if is_there && whole && sent {
            found.sessions += 1;
        } else {
            found.problems.push(format!("session {}: the way to its last message is not whole", session.id));
        }
    }
    Ok(())
}

fn check_artifacts(connection: &mut dyn Connection, found: &mut Verified) -> Result<()> {
    let mut bad: HashMap<String, &str> = HashMap::new();
    connection.each("SELECT hash, packed, bytes, size FROM artifact", &[], &mut |mut row| {
        let hash = row.bytes(0);
        let bytes = unpack(row.int(1), row.bytes(2), row.size(3));
        if bytes.is_some_and(|bytes| blake3::hash(&bytes).as_bytes().as_slice() == hash.as_slice()) {
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
