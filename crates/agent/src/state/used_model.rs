//! The model that a session used last.

use serde::{Deserialize, Serialize};

/// The model that a session used last, so that the session continues with it. It never holds a key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct UsedModel {
    /// The model's name at its provider.
    pub name: String,
    /// The address of its server, if the user gave it for this session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The name of the server's wire format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire: Option<String>,
}

impl UsedModel {
    /// Returns a model whose address is not known.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}
