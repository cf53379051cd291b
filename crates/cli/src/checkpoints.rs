//! Checkpoints of a session: shown on a line each, found by number, and restored.

use serde_json::{Value, json};
use waterline_log::{Checkpoint, Log, Numbering, Session};

use crate::show::plain;
use crate::text;

/// Formats a checkpoint on one line: its number, its messages and what it was made after.
pub fn line(checkpoint: &Checkpoint, numbering: &Numbering) -> String {
    let field = |name: &str| checkpoint.metadata.get(name);
    let after = field("after").and_then(Value::as_str).unwrap_or_default();
    let step = field("step").and_then(Value::as_u64).unwrap_or_default();
    let shown = text!(
        "checkpoint-line",
        count = numbering.count(checkpoint.checkpoint.messages),
        after = plain(after),
        step = step
    );
    format!("{:>6}  {shown}", number(&checkpoint.checkpoint_id))
}

/// Returns the id of a checkpoint without leading zeros.
fn number(id: &str) -> &str {
    id.trim_start_matches('0')
}

/// Restores a checkpoint by its number; `None` if it does not exist. The state before is kept as a
/// checkpoint of its own, so that restoring can be undone.
pub fn restore(log: &Log, session: &str, id: &str) -> waterline_log::Result<Option<Session>> {
    let known = log.checkpoints(session)?;
    let found = known.iter().find(|known| number(&known.checkpoint_id) == number(id));
    let Some(found) = found else { return Ok(None) };
    let before = json!({"after": "restore", "source": "user"});
    log.restore(session, &found.checkpoint_id, Some(before)).map(Some)
}
