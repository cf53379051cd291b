//! Texts for people that a program can show in other languages. [`phrase!`](crate::phrase!) makes
//! one: it displays in English, and its id and values find and fill a translation.

use std::fmt;

/// A text for people: an id, the values in it, and its English wording.
///
/// It is small, because errors contain several.
#[derive(Clone, PartialEq, Eq)]
pub struct Phrase(Box<Content>);

#[derive(Clone, PartialEq, Eq)]
struct Content {
    id: &'static str,
    english: String,
    values: Vec<(&'static str, Value)>,
}

impl Phrase {
    /// Creates a phrase. [`phrase!`](crate::phrase!) does it with less repetition.
    #[must_use]
    pub fn new(id: &'static str, english: String, values: Vec<(&'static str, Value)>) -> Self {
        Self(Box::new(Content { id, english, values }))
    }

    /// Returns its id, which does not change when the wording does; empty if the text has no
    /// translation.
    #[must_use]
    pub fn id(&self) -> &'static str {
        self.0.id
    }

    /// Returns the English text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0.english
    }

    /// Returns the values in the text, by name.
    #[must_use]
    pub fn values(&self) -> &[(&'static str, Value)] {
        &self.0.values
    }
}

impl fmt::Display for Phrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.english)
    }
}

impl fmt::Debug for Phrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0.english, f)
    }
}

/// Lets argument parsers return a phrase as their error.
impl std::error::Error for Phrase {}

/// A text without a translation, such as one of another library or of a user's own stage.
impl From<String> for Phrase {
    fn from(english: String) -> Self {
        Self::new("", english, Vec::new())
    }
}

/// A text without a translation.
impl From<&str> for Phrase {
    fn from(english: &str) -> Self {
        english.to_owned().into()
    }
}

/// A value in a phrase.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value {
    /// A name or a quotation, shown as it is.
    Text(String),
    /// A count, which may select a plural form.
    Number(usize),
    /// Another phrase, such as a cause.
    Phrase(Phrase),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => number.fmt(f),
            Self::Phrase(phrase) => phrase.fmt(f),
        }
    }
}

/// A text is quoted, so that `{name:?}` works in the wording of a phrase.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => fmt::Debug::fmt(text, f),
            Self::Number(number) => fmt::Debug::fmt(number, f),
            Self::Phrase(phrase) => fmt::Debug::fmt(phrase, f),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Self::Number(number)
    }
}

impl From<Phrase> for Value {
    fn from(phrase: Phrase) -> Self {
        Self::Phrase(phrase)
    }
}

/// Creates a [`Phrase`](crate::phrase::Phrase) from its id, its English wording and the values in
/// it.
///
/// ```
/// let phrase = waterline::phrase!("no-such-tool", "there is no tool {name:?}", name = "read");
/// assert_eq!(phrase.to_string(), "there is no tool \"read\"");
/// assert_eq!(phrase.id(), "no-such-tool");
/// ```
#[macro_export]
macro_rules! phrase {
    ($id:literal, $english:literal $(, $name:ident = $value:expr)* $(,)?) => {{
        $(let $name = $crate::phrase::Value::from($value);)*
        let english = format!($english);
        $crate::phrase::Phrase::new($id, english, vec![$((stringify!($name), $name)),*])
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_has_its_values_and_displays_in_english() {
        let cause = crate::phrase!("cause", "{count} calls", count = 2_usize);
        let phrase = crate::phrase!("error", "{name:?}: {cause}", name = "a\nb", cause = cause);
        assert_eq!(phrase.to_string(), "\"a\\nb\": 2 calls");
        let names: Vec<&str> = phrase.values().iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["name", "cause"]);
        assert_eq!(Phrase::from("as it is").id(), "");
    }
}
