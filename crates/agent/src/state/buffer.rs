//! The settings of an older message buffer, which imported sessions may have.

use serde::{Deserialize, Serialize};

/// Keeps a window of messages, with an optional summary of the rest. What is `None` has its
/// default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BufferConfig {
    /// The messages of the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_size: Option<u64>,
    /// The tokens of the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Whether what leaves the window is summarized.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summarize: Option<bool>,
    /// The number of messages above which the window is applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compress_threshold: Option<u64>,
    /// The number of tokens above which the window is applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_threshold: Option<u64>,
    /// Accepted for compatibility and must be true: system messages are always kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preserve_system: Option<bool>,
}
