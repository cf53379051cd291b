//! Makes sure that only one process works in a session: two would run the same calls.
//!
//! On one machine this is a lock on the workspace directory, which the system releases however a
//! process ends. Between machines it is the lease in the log.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use waterline_log::{AsyncLog, LogError};
use waterline_session::{HeldLease, SessionError};

use crate::error::AgentError;

/// The exclusive right to work in a session, released on drop.
#[derive(Debug)]
pub(crate) struct Lease {
    pub(crate) held: HeldLease,
    /// The locked workspace directory. A lock file next to it could be left over, and one inside it
    /// could be removed by a command. It is dropped last, so that the next process on this machine
    /// finds the lease released or its holder gone.
    _locked: Option<File>,
}

/// How many times locking a directory is retried. A command that another thread of this process is
/// starting has a copy of every file until it executes, also of a lock that was just released.
const LOCK_TRIES: usize = 10;

/// The pause before each further try.
const LOCK_PAUSE: Duration = Duration::from_millis(10);

impl Lease {
    /// Locks the workspace and acquires the lease. `machine` is the id of this machine; by default
    /// the boot id of the system.
    pub(crate) async fn take(
        log: AsyncLog,
        workspace: &Path,
        session: &str,
        machine: Option<&str>,
    ) -> Result<Self, AgentError> {
        let in_use = || AgentError::InUse { session: session.to_owned() };
        let locked = lock(workspace).await.ok_or_else(in_use)?;
        let machine = machine.map_or_else(boot_id, str::to_owned);
        let own = Holder::new(machine, workspace, locked.as_ref());
        let gone =
            |holder: &str| Holder::parse(holder).and_then(|holder| holder.proof_of_end(&own));
        match HeldLease::take(log, session, &own.to_string(), gone).await {
            Ok(held) => Ok(Self { held, _locked: locked }),
            Err(SessionError::Log(LogError::Leased { .. })) => Err(in_use()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Locks a directory. Returns `None` if another process has locked it, and no file if the file
/// system has no locks: then only the lease in the log protects the session.
async fn lock(directory: &Path) -> Option<Option<File>> {
    let Ok(file) = File::open(directory) else { return Some(None) };
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Ok(()) => return Some(Some(file)),
            Err(TryLockError::Error(_)) => return Some(None),
            Err(TryLockError::WouldBlock) => tokio::time::sleep(LOCK_PAUSE).await,
        }
    }
    None
}

/// Describes the holder of a lease by the lock it holds, so that other processes on the same
/// machine can check whether it is still running.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Holder {
    /// The id of the machine; empty if the system has none.
    machine: String,
    /// The device and inode of the locked directory; empty if it is not locked.
    file: String,
    path: PathBuf,
}

impl Holder {
    fn new(machine: String, path: &Path, locked: Option<&File>) -> Self {
        let file = locked.and_then(identity).unwrap_or_default();
        Self { machine, file, path: path.to_owned() }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.splitn(3, ' ');
        let (machine, file, path) = (fields.next()?, fields.next()?, fields.next()?);
        Some(Self { machine: machine.to_owned(), file: file.to_owned(), path: path.into() })
    }

    /// Returns `Some` if this holder has ended. Its lock is free then, and the returned file holds
    /// it until the caller has taken over the lease.
    fn proof_of_end(&self, own: &Self) -> Option<Option<File>> {
        if self.machine.is_empty() || self.file.is_empty() || self.machine != own.machine {
            return None;
        }
        if self.file == own.file {
            // The caller holds that lock already.
            return Some(None);
        }
        let directory = File::open(&self.path).ok()?;
        let is_same = identity(&directory).as_ref() == Some(&self.file);
        (is_same && directory.try_lock().is_ok()).then_some(Some(directory))
    }
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {}", self.machine, self.file, self.path.display())
    }
}

/// Returns the id of this machine since its start; empty if the system has none.
fn boot_id() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

#[cfg(unix)]
fn identity(file: &File) -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    file.metadata().ok().map(|metadata| format!("{}:{}", metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(_: &File) -> Option<String> {
    None
}
