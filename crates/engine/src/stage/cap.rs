//! `cap`: an oversized tool output loses its middle before it is first sent. The whole output is an
//! artifact: the note in its place names it, and the log has it.

use serde::Deserialize;

use super::{Spec, build};
use crate::draft::{Arrival, Item, Stage, Treatment, reduce_views};
use crate::message::{Message, Truncated};
use crate::reduce;
use crate::setting::{Allowed, Key, Size};
use crate::tokens::Counter;
use crate::truncate::{Cut, Shortened, artifact_id, truncate};

pub(super) const SPEC: Spec = Spec {
    name: "cap",
    about: "tool outputs too large for the window are cut before they are first sent",
    keys: &[Key::new("max", Allowed::Size, "tokens one tool output may take")],
    build: build::<Cap>,
};

/// The most that one tool output may take.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cap {
    /// Tokens one tool output may take.
    pub max: Size,
}

impl Default for Cap {
    fn default() -> Self {
        Self { max: Size::percent(40) }
    }
}

/// The least that is left of an output, however small the window.
const LEAST: usize = 64;

impl Stage for Cap {
    fn arrive(&self, item: &mut Item, arrival: &Arrival<'_>) {
        let max = arrival.room.tokens(self.max).max(LEAST);
        // Where the system prompt alone fills the window no cut helps.
        if item.tokens <= max || arrival.room.available == 0 {
            return;
        }
        let counter = arrival.history.counter();
        let cut = |message: &Message| {
            reduce::results(message, counter, |text, earlier| fit(text, earlier, counter, max))
        };
        if let Some(views) = reduce_views(arrival.history, item.views(arrival.history), cut) {
            item.replace(
                arrival.history,
                Treatment::Trimmed,
                views,
                format!("an output over {max} tokens lost its middle"),
            );
        }
    }
}

/// Head and tail of a text that takes more than `max` tokens.
fn fit(
    text: &str,
    earlier: Option<&Truncated>,
    counter: &Counter,
    max: usize,
) -> Option<Shortened> {
    // A token is never shorter than a byte, so most texts need not be counted.
    if text.len() <= max || counter.text(text) <= max {
        return None;
    }
    let artifact = artifact_id(text);
    let mut chars = max.saturating_mul(4);
    while chars >= 16 {
        let cut = Cut::new(chars * 3 / 5, chars * 2 / 5).artifact(&*artifact).after(earlier);
        let cut = truncate(text, &cut);
        if let Some(cut) =
            cut.filter(|cut| cut.text.len() < text.len() && counter.text(&cut.text) <= max)
        {
            return Some(cut);
        }
        chars = chars * 3 / 4;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_is_cut_to_its_cap_and_names_its_artifact() {
        let counter = Counter::default();
        let text = "line of output\n".repeat(2_000);
        let cut = fit(&text, None, &counter, 500).unwrap();
        assert!(counter.text(&cut.text) <= 500);
        assert_eq!(cut.truncated.artifact, Some(artifact_id(&text)));
        assert!(cut.text.contains(&artifact_id(&text)));
        assert_eq!(
            fit(&cut.text, Some(&cut.truncated), &counter, 500),
            None,
            "cutting twice changes nothing"
        );
    }
}
