//! Workspaces that nobody used for a while go when the program begins; sessions only where the config says so.

use std::path::PathBuf;

use waterline_config::DEFAULT_WORKSPACE_DAYS;
use waterline_log::{Log, LogError, Whom};

use crate::workspace::{self, before};

/// What is tidied up.
pub(super) struct Tidy {
    pub(super) log: Log,
    /// The session that is talked in, which stays as it is.
    pub(super) own: String,
    /// Where the workspaces are.
    pub(super) place: PathBuf,
    pub(super) workspace_days: Option<u64>,
    pub(super) session_days: Option<u64>,
}

impl Tidy {
    /// Tidies up on a thread of its own: nobody waits for it, and what it could not do it does the next time.
    pub(super) fn in_background(self) {
        std::thread::spawn(move || {
            if let Err(error) = self.tidy() {
                tracing::warn!(target: "waterline::tidy", %error, "tidying up was given up");
            }
        });
    }

    fn tidy(&self) -> anyhow::Result<()> {
        let whom = self.session_days.map(|days| Whom::IdleSince(before(&self.log, days)));
        let would_go = whom.as_ref().map(|whom| self.log.would_erase(whom)).transpose()?.unwrap_or_default();
        // Whose folder it is can be told only as long as the session is there.
        let mut folders = self.old(&would_go.sessions)?;
        let erased = whom.map(|whom| self.log.erase(&whom)).transpose();
        if erased.is_err() {
            // Sessions that are still there keep their folders as long as the config says.
            folders = self.old(&[])?;
        }
        for reason in folders.remove() {
            tracing::warn!(target: "waterline::tidy", %reason, "a workspace was kept");
        }
        match erased {
            Ok(_) | Err(LogError::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn old(&self, erased: &[String]) -> anyhow::Result<workspace::Workspaces> {
        let since = before(&self.log, self.workspace_days.unwrap_or(DEFAULT_WORKSPACE_DAYS));
        workspace::old(&self.log, Some(&self.own), since, erased, self.place.clone())
    }
}
