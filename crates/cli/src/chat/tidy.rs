//! Workspaces that nobody used for a while go when the program begins; sessions only where the config says so.

use waterline_log::{Log, LogError, Whom};

use crate::workspace::{self, WORKSPACE_DAYS, before};

/// Tidies up on a thread of its own: nobody waits for it, and what it could not do it does the next time.
pub(super) fn in_background(log: Log, own: String, workspace_days: Option<u64>, session_days: Option<u64>) {
    std::thread::spawn(move || {
        if let Err(error) = tidy(&log, &own, workspace_days.unwrap_or(WORKSPACE_DAYS), session_days) {
            tracing::warn!(target: "waterline::tidy", %error, "tidying up was given up");
        }
    });
}

fn tidy(log: &Log, own: &str, workspace_days: u64, session_days: Option<u64>) -> anyhow::Result<()> {
    let kept = workspace::remove_all(&workspace::idle(log, Some(own), before(log, workspace_days))?);
    for reason in kept {
        tracing::warn!(target: "waterline::tidy", %reason, "a workspace was kept");
    }
    if let Some(days) = session_days {
        match log.erase(&Whom::IdleSince(before(log, days))) {
            Ok(_) | Err(LogError::Refused(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
