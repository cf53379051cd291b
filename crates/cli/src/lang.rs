//! The language of what is said to people: English or Chinese, from `--lang`, the config, or the locale.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

use crate::environment::{LOCALE, variable};

static CHOSEN: OnceLock<Lang> = OnceLock::new();

/// A language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// Chinese.
    Zh,
}

impl FromStr for Lang {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "en" => Ok(Self::En),
            "zh" => Ok(Self::Zh),
            _ => Err(format!("{name:?} is no language that is spoken here; there are en, zh")),
        }
    }
}

impl fmt::Display for Lang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::En => "en",
            Self::Zh => "zh",
        })
    }
}

impl<'de> serde::Deserialize<'de> for Lang {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Chooses the language, once: what a flag says, else the config with its variable, else the locale.
pub fn choose(flag: Option<Lang>, config: Option<Lang>) {
    // A second choice changes nothing.
    let _ = CHOSEN.set(flag.or(config).unwrap_or_else(of_locale));
}

fn of_locale() -> Lang {
    let locale = LOCALE.iter().find_map(|name| variable(name));
    if locale.is_some_and(|locale| locale.to_lowercase().starts_with("zh")) { Lang::Zh } else { Lang::En }
}

/// The language that was chosen.
pub fn lang() -> Lang {
    *CHOSEN.get_or_init(of_locale)
}

/// One of two texts: the English one or the Chinese one.
pub fn say<T>(en: T, zh: T) -> T {
    match lang() {
        Lang::En => en,
        Lang::Zh => zh,
    }
}
