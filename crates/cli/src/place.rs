//! Asks, once per directory, whether the agent works there.

use anyhow::Result;
use waterline_agent::{ApprovalReply, WorkingDirectory};
use waterline_config::{Config, Overrides, WorkDir, consent, place};

use crate::show::plain;
use crate::text;
use crate::trust;

/// Returns the directory that the agent works in; none for a private workspace. In a directory that
/// is not a git work tree the user is asked once. Without a terminal to ask on, the agent works in
/// a private workspace.
pub fn choose(
    config: &Config,
    overrides: &Overrides,
    may_ask: bool,
) -> Result<Option<WorkingDirectory>> {
    let working = match place::find(config, overrides)? {
        WorkDir::Private => return Ok(None),
        WorkDir::Directory(working) => return Ok(Some(working)),
        WorkDir::Undecided(working) => working,
    };
    if !(may_ask && trust::has_terminal()) {
        return Ok(None);
    }
    let path = plain(&working.path.display().to_string());
    let works = match trust::ask(&text!("place-question", path = path))? {
        Some(ApprovalReply::Allow | ApprovalReply::AllowAlways) => true,
        Some(_) => false,
        // The question was not answered, so it is asked again next time.
        None => return Ok(None),
    };
    let stored =
        consent::store(&config.environment, &working.path, |consent| consent.works = Some(works));
    if let Err(error) = stored {
        trust::warn_not_stored(error);
    }
    Ok(works.then_some(working))
}
