//! The policies that come with the program.

use crate::setting::PolicyError;

/// A policy that comes with the program.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// Its TOML, with comments.
    pub text: &'static str,
}

macro_rules! presets {
    ($($name:literal),*) => {
        &[$(Preset { name: $name, text: include_str!(concat!("../../presets/policies/", $name, ".toml")) }),*]
    };
}

/// All of them, the default first.
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
    /// The preset of that name.
    ///
    /// # Errors
    /// When there is none.
    pub fn named(name: &str) -> Result<&'static Self, PolicyError> {
        PRESETS.iter().find(|preset| preset.name == name).ok_or_else(|| {
            PolicyError::UnknownPreset {
                name: name.into(),
                known: PRESETS.iter().map(|preset| preset.name).collect::<Vec<_>>().join(", "),
            }
        })
    }
}
