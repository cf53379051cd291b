//! The language of a program's messages.

use std::fmt;
use std::str::FromStr;

use serde::de::{Error, Unexpected};
use waterline::phrase;
use waterline::phrase::Phrase;

/// A supported language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// Chinese.
    Zh,
}

impl Lang {
    /// Returns the code of the language, as in `--lang`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Zh => "zh",
        }
    }

    /// Returns the language of a locale such as `zh_CN.UTF-8`.
    #[must_use]
    pub fn of_locale(locale: &str) -> Self {
        if locale.to_lowercase().starts_with("zh") { Self::Zh } else { Self::En }
    }
}

impl FromStr for Lang {
    type Err = Phrase;

    fn from_str(name: &str) -> Result<Self, Phrase> {
        match name {
            "en" => Ok(Self::En),
            "zh" => Ok(Self::Zh),
            _ => Err(phrase!(
                "variable-lang",
                "unsupported language {name:?}; expected en or zh",
                name = name
            )),
        }
    }
}

impl fmt::Display for Lang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl<'de> serde::Deserialize<'de> for Lang {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse().map_err(|_| D::Error::invalid_value(Unexpected::Str(&name), &"en or zh"))
    }
}
