//! `file_search`: finding files and searching in them.

use serde::Deserialize;

use super::Middleware;
use crate::config::AgentConfig;
use crate::error::AgentError;

/// Lets files be searched.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct FileSearch {
    /// Switch it off.
    off: bool,
}

impl Middleware for FileSearch {
    fn name(&self) -> &'static str {
        "file_search"
    }

    fn equip(&self, config: &mut AgentConfig) -> Result<(), AgentError> {
        config.toolbox.switch("find_files", !self.off)?;
        config.toolbox.switch("search_files", !self.off)
    }
}
