//! [`Reasons`]: why something was done, in order.

use std::fmt;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};

use super::Reason;

/// Reasons, the most general first. The display joins their texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Reasons(Vec<Reason>);

impl Reasons {
    /// Creates an empty list.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Returns whether the list is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a reason.
    pub fn push(&mut self, reason: impl Into<Reason>) {
        self.0.push(reason.into());
    }

    /// Returns these reasons and one more.
    #[must_use]
    pub fn and(mut self, reason: impl Into<Reason>) -> Self {
        self.push(reason);
        self
    }

    /// Returns the reasons in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Reason> {
        self.0.iter()
    }
}

impl<'a> IntoIterator for &'a Reasons {
    type Item = &'a Reason;
    type IntoIter = std::slice::Iter<'a, Reason>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl FromIterator<Reason> for Reasons {
    fn from_iter<T: IntoIterator<Item = Reason>>(reasons: T) -> Self {
        Self(reasons.into_iter().collect())
    }
}

impl<R: Into<Reason>> From<R> for Reasons {
    fn from(reason: R) -> Self {
        Self(vec![reason.into()])
    }
}

impl fmt::Display for Reasons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut joint = "";
        for reason in self {
            write!(f, "{joint}{reason}")?;
            joint = if reason.leads_to_next() { ": " } else { "; " };
        }
        Ok(())
    }
}

/// Reads a list. Older logs have an English text instead; reasons that only a newer version knows
/// are left out.
impl<'de> Deserialize<'de> for Reasons {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Stored {
            Text(String),
            List(Vec<Entry>),
        }

        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Entry {
            Known(Reason),
            Newer(IgnoredAny),
        }

        Ok(match Stored::deserialize(deserializer)? {
            Stored::Text(text) => Self::of_old_text(&text),
            Stored::List(entries) => entries
                .into_iter()
                .filter_map(|entry| match entry {
                    Entry::Known(reason) => Some(reason),
                    Entry::Newer(_) => None,
                })
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_stored_as_data_and_displayed_as_text() {
        let reasons = Reasons::from(Reason::Rejected { tokens: 9_000, window: 8_192 })
            .and(Reason::Folded)
            .and("my own");
        let stored = serde_json::to_string(&reasons).unwrap();
        assert_eq!(
            stored,
            r#"[{"rejected":{"tokens":9000,"window":8192}},"folded",{"other":"my own"}]"#
        );
        assert_eq!(serde_json::from_str::<Reasons>(&stored).unwrap(), reasons);
        assert_eq!(
            reasons.to_string(),
            "the provider rejected 9000 tokens; assuming a window of 8192 tokens: folded; my own"
        );
        assert_eq!(Reasons::new().to_string(), "");
    }

    #[test]
    fn reasons_of_a_newer_version_are_left_out() {
        let stored = r#"["folded","thought-better-of",{"by-moon":{"phase":3}}]"#;
        assert_eq!(serde_json::from_str::<Reasons>(stored).unwrap(), Reason::Folded.into());
    }
}
