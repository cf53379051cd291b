//! The built-in policies.

use crate::setting::PolicyError;

/// A built-in policy.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Preset {
    /// The name that configs and commands use.
    pub name: &'static str,
    /// The TOML text, with comments.
    pub text: &'static str,
}

macro_rules! presets {
    ($($name:literal),*) => {
        &[$(Preset {
            name: $name,
            text: include_str!(concat!("../../presets/policies/", $name, ".toml")),
        }),*]
    };
}

/// The preset that is used if no policy is chosen.
pub const DEFAULT_POLICY: &str = "auto";

/// All presets, the default first.
pub const PRESETS: &[Preset] = presets!(
    "auto",
    "window",
    "init",
    "execute",
    "chat",
    "budget",
    "dual-track",
    "tail",
    "clear-tools",
    "handoff",
    "tail-20k",
    "halve-first"
);

impl Preset {
    /// Returns the preset with this name.
    ///
    /// # Errors
    /// If the preset does not exist.
    pub fn named(name: &str) -> Result<&'static Self, PolicyError> {
        PRESETS.iter().find(|preset| preset.name == name).ok_or_else(|| {
            PolicyError::UnknownPreset {
                name: name.into(),
                known: PRESETS.iter().map(|preset| preset.name).collect::<Vec<_>>().join(", "),
            }
        })
    }
}
