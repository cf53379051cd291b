//! Checks granted directories in which several commands ran at the same time. Each has a supervisor
//! that knows the protected paths as they were when its command started, but another command may
//! have created some of them before, or put them back after its own check.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Checked, Guard, UserFiles};
use crate::rules::Rules;

/// The guarded directories in which commands of this process run.
static WATCHED: Mutex<BTreeMap<PathBuf, Watched>> = Mutex::new(BTreeMap::new());

/// A guarded directory in which commands run.
struct Watched {
    /// The protected paths as they were before the first of them.
    guard: Guard,
    /// The rules of the first command, extended by what any of the others may change.
    rules: Rules,
    running: usize,
    was_shared: bool,
}

/// A running command.
#[derive(Debug)]
pub(crate) struct Watch {
    roots: Vec<PathBuf>,
}

impl Watch {
    /// Begins to watch the guarded directories of a command, which must not run yet. Blocks.
    pub(crate) fn start(rules: &Rules, user: &UserFiles) -> Self {
        let mut all = watched();
        for root in &rules.guarded {
            if let Some(known) = all.get_mut(root) {
                known.running += 1;
                known.was_shared = true;
                known.rules.unprotected.extend_from_slice(&rules.unprotected);
                continue;
            }
            let rules = Rules { guarded: vec![root.clone()], ..rules.clone() };
            let guard = Guard::observe(&rules, user.clone());
            let first = Watched { guard, rules, running: 1, was_shared: false };
            all.insert(root.clone(), first);
        }
        Self { roots: rules.guarded.clone() }
    }

    /// Checks the directories in which no other command runs anymore. No process of this command
    /// may be running. Blocks.
    pub(crate) fn end(mut self) -> Checked {
        let mut result = Checked::default();
        // A command that starts meanwhile must not see what the check puts back.
        let mut all = watched();
        for root in std::mem::take(&mut self.roots) {
            if let Some(last) = leave(&mut all, &root).filter(|last| last.was_shared) {
                let Checked { blocked, unchecked } = last.guard.check(&last.rules);
                result.blocked.extend(blocked);
                result.unchecked.extend(unchecked);
            }
        }
        result
    }
}

impl Drop for Watch {
    /// Forgets a command that could not be started.
    fn drop(&mut self) {
        if !self.roots.is_empty() {
            let mut all = watched();
            self.roots.iter().for_each(|root| drop(leave(&mut all, root)));
        }
    }
}

fn watched() -> MutexGuard<'static, BTreeMap<PathBuf, Watched>> {
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes a command from a directory. Returns the directory if it was the last.
fn leave(all: &mut BTreeMap<PathBuf, Watched>, root: &Path) -> Option<Watched> {
    let known = all.get_mut(root)?;
    known.running -= 1;
    if known.running == 0 { all.remove(root) } else { None }
}
