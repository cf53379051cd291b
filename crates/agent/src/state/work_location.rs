//! [`WorkLocation`]: where a session works, as the model was told.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::environment;

/// Where a session works, as its conversation last described it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Stored")]
#[non_exhaustive]
pub struct WorkLocation {
    /// The text that the model was given.
    pub description: String,
    /// The working directory; `None` in a private workspace.
    pub directory: Option<PathBuf>,
}

impl WorkLocation {
    /// Creates a location from the text that the model is given, and the directory it names.
    #[must_use]
    pub const fn new(description: String, directory: Option<PathBuf>) -> Self {
        Self { description, directory }
    }
}

/// The stored forms of a location.
#[derive(Deserialize)]
#[serde(untagged)]
enum Stored {
    Location {
        description: String,
        directory: Option<PathBuf>,
    },
    /// The former form, which had only the description.
    Description(String),
}

impl From<Stored> for WorkLocation {
    fn from(stored: Stored) -> Self {
        match stored {
            Stored::Location { description, directory } => Self { description, directory },
            Stored::Description(description) => {
                let directory = environment::described_directory(&description).map(PathBuf::from);
                Self { description, directory }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_former_form_is_read() {
        let former = "\"Working directory: /p\\nPrivate directory: /w\"";
        let location: WorkLocation = serde_json::from_str(former).unwrap();
        assert_eq!(location.directory.as_deref(), Some("/p".as_ref()));
        let stored = serde_json::to_string(&location).unwrap();
        assert_eq!(serde_json::from_str::<WorkLocation>(&stored).unwrap(), location);
        let private = "\"Working directory: /w. It is your private directory.\"";
        assert_eq!(serde_json::from_str::<WorkLocation>(private).unwrap().directory, None);
    }
}
