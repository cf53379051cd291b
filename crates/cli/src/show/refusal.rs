//! What the sandbox refused to a command, with the setting that would allow it.

use std::path::Path;

use waterline_sandbox::Refusal;

use super::plain;
use crate::text;

/// Returns the text of a refusal.
pub fn refusal(refusal: &Refusal) -> String {
    let shown = |path: &Path| plain(&path.display().to_string());
    match refusal {
        Refusal::Outside { path } => text!("refused-outside", path = shown(path)),
        Refusal::ReadOnly { path } => text!("refused-read-only", path = shown(path)),
        Refusal::Protected { name } => text!("refused-protected", name = name.as_str()),
        Refusal::PutBack(blocked) => match &blocked.moved_to {
            Some(moved) => text!(
                "refused-moved",
                path = shown(&blocked.path),
                moved = shown(moved),
                name = blocked.name.as_str()
            ),
            None => {
                text!("refused-restored", path = shown(&blocked.path), name = blocked.name.as_str())
            }
        },
        Refusal::Unchecked { path } => text!("refused-unchecked", path = shown(path)),
        _ => text!("refused-network"),
    }
}
