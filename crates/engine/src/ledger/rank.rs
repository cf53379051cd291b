//! Estimates how likely a value is to be needed again. The weights are data: `presets/ledger.toml`,
//! written by `waterline replay train`. The odds of a value are `exp(sum of weight × feature)`.

use std::sync::LazyLock;

use serde::Deserialize;

use super::doublings::doublings;
use super::index::{Index, Seen};
use super::value::Kind;

const WEIGHTS: &str = include_str!("../../presets/ledger.toml");

static SHIPPED: LazyLock<Weights> = LazyLock::new(|| Weights::read(WEIGHTS).unwrap_or_default());

/// The features of a value: the name used in files, and a description for people. Counts are taken
/// as `log2(1 + count)`, so a weight is the value of each doubling.
pub const FEATURES: [(&str, &str); 27] = [
    ("own_call", "the agent used it in a call"),
    ("own_call_uses", "how often the agent used it"),
    ("occurrences", "message parts that contain it"),
    ("mentions", "how often those parts mention it"),
    ("crowd", "values in the part that has the fewest"),
    ("age", "messages since it was seen"),
    ("base_name_age", "messages since a call used the same base name"),
    ("folder_age", "messages since a call used the same directory"),
    ("source_age", "messages since a call named the file it was in"),
    ("source_uses", "calls that named the file it was in"),
    ("source_named", "the user or the assistant named the file it was in"),
    ("kin_used", "uses of its words, in calls and by the user"),
    ("kin_common", "values with the same words"),
    ("by_user", "the user wrote it"),
    ("by_assistant", "the assistant wrote it in an answer"),
    ("defined", "it was on a line that defines something"),
    ("length", "its length in characters"),
    ("absolute_path", "an absolute path"),
    ("relative_path", "a relative path"),
    ("file", "a file name"),
    ("symbol", "a name in code"),
    ("dotted", "names joined by dots"),
    ("hash", "a hash"),
    ("id", "letters with digits"),
    ("number", "a number"),
    ("link", "a URL or e-mail address"),
    ("cjk", "Chinese, Japanese or Korean words"),
];

/// The features of one value, in the order of [`FEATURES`].
pub type Features = [f64; FEATURES.len()];

/// The index of the length.
const LENGTH: usize = 16;

/// The index of the first kind.
const KINDS: usize = 17;

/// The weight of each feature.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights(pub Features);

impl Default for Weights {
    fn default() -> Self {
        Self([0.0; FEATURES.len()])
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    weights: std::collections::BTreeMap<String, f64>,
}

impl Weights {
    /// Returns the built-in weights.
    #[must_use]
    pub fn shipped() -> &'static Self {
        &SHIPPED
    }

    /// Parses weights. A feature that is not listed has weight 0.
    ///
    /// # Errors
    /// If the text is not valid TOML or names an unknown feature.
    pub fn read(text: &str) -> Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        let mut weights = Self::default();
        for (name, weight) in file.weights {
            let at = FEATURES.iter().position(|(known, _)| *known == name);
            let entry = at
                .and_then(|at| weights.0.get_mut(at))
                .ok_or_else(|| format!("unknown feature {name}"))?;
            *entry = weight;
        }
        Ok(weights)
    }

    /// Returns the weights as TOML.
    #[must_use]
    pub fn text(&self) -> String {
        let line = |((name, about), weight): (&(&str, &str), &f64)| {
            let setting = format!("{name} = {weight:.3}");
            format!("{setting:<24}# {about}\n")
        };
        let lines: String = FEATURES.iter().zip(&self.0).map(line).collect();
        format!("[weights]\n{lines}")
    }

    /// Returns how likely a value is to be needed again, up to a constant factor.
    #[must_use]
    pub fn odds(&self, index: &Index, value: &str, seen: &Seen) -> f64 {
        self.likelihood(&features(index, value, seen)).exp()
    }

    /// Returns the logarithm of the odds of a value with these features.
    #[must_use]
    pub fn likelihood(&self, features: &Features) -> f64 {
        self.0.iter().zip(features).map(|(weight, feature)| weight * feature).sum()
    }

    /// Returns how much each feature adds to the score of a value, strongest first, with the
    /// descriptions of [`FEATURES`].
    #[must_use]
    pub fn reasons(&self, index: &Index, value: &str, seen: &Seen) -> Vec<(&'static str, f64)> {
        let features = features(index, value, seen);
        let shares = self.0.iter().zip(&features).map(|(weight, feature)| weight * feature);
        let mut reasons: Vec<_> = FEATURES.iter().map(|(_, about)| *about).zip(shares).collect();
        // The length is left out: it makes up for the tokens that a value takes.
        let length = FEATURES.get(LENGTH).map_or("", |(_, about)| about);
        reasons.retain(|(about, share)| share.abs() > 0.005 && *about != length);
        reasons.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        reasons
    }
}

/// Returns the features of a value.
#[must_use]
pub fn features(index: &Index, value: &str, seen: &Seen) -> Features {
    let never = index.newest() + 1;
    let since = |message: Option<usize>| {
        doublings(message.map_or(never, |at| index.newest().saturating_sub(at)))
    };
    let flag = |set: bool| f64::from(u8::from(set));
    let (kin_used, kin_common) = index.kin(value);
    let source = index.source_used(seen);
    let mut features = [0.0; FEATURES.len()];
    let values = [
        flag(seen.own_calls > 0),
        doublings(seen.own_calls as usize),
        doublings(seen.occurrences as usize),
        doublings(seen.mentions as usize),
        doublings(seen.crowd as usize),
        since(Some(seen.last)),
        since(index.base_name_used(value)),
        since(index.directory_used(value)),
        since(source.map(|(last, _)| last)),
        doublings(source.map_or(0, |(_, uses)| uses)),
        flag(index.source_named(seen)),
        kin_used,
        kin_common,
        flag(seen.by_user),
        flag(seen.by_assistant),
        flag(seen.defined),
        doublings(value.len()),
    ];
    features.iter_mut().zip(values).for_each(|(feature, value)| *feature = value);
    if let Some(kind) = features.get_mut(KINDS + kind_index(seen.kind)) {
        *kind = 1.0;
    }
    features
}

/// Returns the index of a kind among the features of kinds.
const fn kind_index(kind: Kind) -> usize {
    match kind {
        Kind::AbsolutePath => 0,
        Kind::RelativePath => 1,
        Kind::File => 2,
        Kind::Symbol => 3,
        Kind::Dotted => 4,
        Kind::Hash => 5,
        Kind::Id => 6,
        Kind::Number => 7,
        Kind::Link => 8,
        Kind::Cjk => 9,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Message, Part, Role, ToolCall};

    #[test]
    fn the_built_in_weights_round_trip() {
        let weights = Weights::read(WEIGHTS).unwrap();
        assert_eq!(Weights::read(&weights.text()).unwrap(), weights);
        assert!(Weights::read("[weights]\nbeauty = 1.0").unwrap_err().contains("beauty"));
    }

    #[test]
    fn a_value_that_the_agent_used_outranks_one_in_a_listing() {
        let mut index = Index::default();
        index.append(
            0,
            &Message::assistant_with_calls(
                "",
                [ToolCall::new("1", "read", r#"{"path":"src/used.rs"}"#)],
            ),
        );
        let listing: Vec<String> = (0..100).map(|n| format!("src/other{n}.rs")).collect();
        index.append(1, &Message::new(Role::Tool, vec![Part::text(listing.join("\n"))]));
        let odds = |value: &str| {
            let (_, seen) = index.iter().find(|(known, _)| *known == value).unwrap();
            Weights::shipped().odds(&index, value, seen)
        };
        assert!(odds("src/used.rs") > 5.0 * odds("src/other7.rs"));
    }
}
