//! How likely a value is to be needed again. The weights are data: `presets/ledger.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

use super::index::{Index, Seen};
use super::value::Kind;

const WEIGHTS: &str = include_str!("../../../../presets/ledger.toml");

static SHIPPED: LazyLock<Weights> = LazyLock::new(|| toml::from_str(WEIGHTS).unwrap_or_default());

/// The weights of the ranking; a value's score is `exp(sum) / sqrt(length + 1)`, logarithms are to base 2.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// The agent used it in a call of its own.
    pub own_call: f64,
    /// Each doubling of those uses.
    pub own_call_uses: f64,
    /// Each doubling of the parts that showed it.
    pub occurrences: f64,
    /// Each doubling of the values that stood beside it where it was least crowded.
    pub crowd: f64,
    /// Each doubling of the messages since it was seen.
    pub age: f64,
    /// Each doubling of the messages since a call used the same base name.
    pub base_name_age: f64,
    /// Each doubling of the messages since a call used the same folder.
    pub folder_age: f64,
    /// The user wrote it.
    pub by_user: f64,
    /// The assistant wrote it in an answer.
    pub by_assistant: f64,
    /// It stood on a line that defines something.
    pub defined: f64,
    /// What kind it is.
    pub kind: KindWeights,
}

/// The weight of each kind.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each field is named as the kind it weighs")]
pub struct KindWeights {
    pub absolute_path: f64,
    pub relative_path: f64,
    pub file: f64,
    pub symbol: f64,
    pub dotted: f64,
    pub hash: f64,
    pub id: f64,
    pub number: f64,
    pub link: f64,
    pub cjk: f64,
}

impl KindWeights {
    const fn of(&self, kind: Kind) -> f64 {
        match kind {
            Kind::AbsolutePath => self.absolute_path,
            Kind::RelativePath => self.relative_path,
            Kind::File => self.file,
            Kind::Symbol => self.symbol,
            Kind::Dotted => self.dotted,
            Kind::Hash => self.hash,
            Kind::Id => self.id,
            Kind::Number => self.number,
            Kind::Link => self.link,
            Kind::Cjk => self.cjk,
        }
    }
}

impl Weights {
    /// The weights that come with the program.
    #[must_use]
    pub fn shipped() -> &'static Self {
        &SHIPPED
    }

    /// The score of a value: how likely it is needed again, by the room it takes.
    #[must_use]
    pub fn score(&self, index: &Index, value: &str, seen: &Seen) -> f64 {
        let since = |message: usize| count(index.newest().saturating_sub(message));
        let never = index.newest() + 1;
        let flag = |set: bool| f64::from(u8::from(set));
        let sum = self.own_call * flag(seen.own_calls > 0)
            + self.own_call_uses * doublings(f64::from(seen.own_calls))
            + self.occurrences * doublings(f64::from(seen.occurrences))
            + self.crowd * doublings(f64::from(seen.crowd))
            + self.age * doublings(since(seen.last))
            + self.base_name_age * doublings(index.base_name_used(value).map_or(count(never), since))
            + self.folder_age * doublings(index.folder_used(value).map_or(count(never), since))
            + self.by_user * flag(seen.by_user)
            + self.by_assistant * flag(seen.by_assistant)
            + self.defined * flag(seen.defined)
            + self.kind.of(seen.kind);
        sum.exp() / count(value.len() + 1).sqrt()
    }
}

fn doublings(count: f64) -> f64 {
    (1.0 + count).log2()
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
const fn count(n: usize) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Message, Role};

    #[test]
    fn the_shipped_weights_read() {
        let weights: Weights = toml::from_str(WEIGHTS).unwrap();
        assert!(weights.own_call > 0.0 && weights.crowd < 0.0);
    }

    #[test]
    fn what_the_agent_used_itself_outranks_what_a_listing_showed() {
        let mut index = Index::default();
        index.append(0, &Message::call_of("1", "read", r#"{"path":"src/used.rs"}"#));
        let listing: Vec<String> = (0..100).map(|n| format!("src/other{n}.rs")).collect();
        index.append(1, &Message::text_of(Role::Tool, listing.join("\n")));
        let score = |value: &str| {
            let (_, seen) = index.iter().find(|(known, _)| *known == value).unwrap();
            Weights::shipped().score(&index, value, seen)
        };
        assert!(score("src/used.rs") > 5.0 * score("src/other7.rs"));
    }
}
