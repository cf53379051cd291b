//! `cap`: truncates an oversized tool output in the middle before it is first sent. The whole
//! output is an artifact in the log; the marker in the truncated text names it.

use serde::Deserialize;

use super::{Spec, build};
use crate::draft::{Arrival, Item, Stage, Treatment, shorten_views};
use crate::message::{Message, Truncated};
use crate::reason::Reason;
use crate::reduce;
use crate::setting::{Allowed, Key, Size};
use crate::tokens::Counter;
use crate::truncate::{Shortened, Truncation, artifact_id, truncate};

pub(super) const SPEC: Spec = Spec {
    name: "cap",
    about: "truncate oversized tool outputs before they are first sent",
    keys: &[Key::new("max", Allowed::Size, "maximum number of tokens of one tool output")],
    build: build::<Cap>,
};

/// The limit for one tool output.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cap {
    /// Maximum number of tokens of one tool output.
    pub max: Size,
}

impl Default for Cap {
    fn default() -> Self {
        Self { max: Size::percent(40) }
    }
}

/// The limit is never lower than this, however small the window is.
const MIN_TOKENS: usize = 64;

impl Stage for Cap {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn arrive(&self, item: &mut Item, arrival: &Arrival<'_>) {
        let max = arrival.marks.tokens(self.max).max(MIN_TOKENS);
        // If the system prompt alone fills the window, truncating does not help.
        if item.tokens <= max || arrival.marks.available == 0 {
            return;
        }
        let counter = arrival.history.counter();
        let shorten = |message: &Message| {
            reduce::results(message, counter, |text, earlier| fit(text, earlier, counter, max))
        };
        if let Some(views) = shorten_views(arrival.history, item.views(arrival.history), shorten) {
            item.replace(
                arrival.history,
                Treatment::Trimmed,
                views,
                Reason::OutputTruncated { tokens: max },
            );
        }
    }
}

/// Returns the head and tail of a text that has more than `max` tokens.
fn fit(
    text: &str,
    earlier: Option<&Truncated>,
    counter: &Counter,
    max: usize,
) -> Option<Shortened> {
    // A token is at least one byte, so most texts need not be counted.
    if text.len() <= max || counter.text(text) <= max {
        return None;
    }
    let artifact = artifact_id(text);
    let mut chars = max.saturating_mul(4);
    while chars >= 16 {
        let truncation =
            Truncation::new(chars * 3 / 5, chars * 2 / 5).artifact(&*artifact).after(earlier);
        let fits = |shorter: &Shortened| {
            shorter.text.len() < text.len() && counter.text(&shorter.text) <= max
        };
        if let Some(shorter) = truncate(text, &truncation).filter(fits) {
            return Some(shorter);
        }
        chars = chars * 3 / 4;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truncated_output_fits_its_cap_and_names_its_artifact() {
        let counter = Counter::default();
        let text = "line of output\n".repeat(2_000);
        let shortened = fit(&text, None, &counter, 500).unwrap();
        assert!(counter.text(&shortened.text) <= 500);
        assert_eq!(shortened.truncated.artifact, Some(artifact_id(&text)));
        assert!(shortened.text.contains(&artifact_id(&text)));
        assert_eq!(
            fit(&shortened.text, Some(&shortened.truncated), &counter, 500),
            None,
            "truncating twice changes nothing"
        );
    }
}
