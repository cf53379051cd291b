//! OpenAI Agents `SQLiteSession`: Responses items, one a row, in a database.

use std::path::Path;

use crate::read::Notice;
use crate::transcript::Transcript;

pub(crate) const NAME: &str = "openai-agents";

pub(crate) fn read(_path: &Path, _notices: &mut Vec<Notice>) -> Result<Vec<Transcript>, rusqlite::Error> {
    Ok(Vec::new())
}
