//! How much context pays. A fold costs once: what it keeps is written to the cache again instead of
//! being read from it. It saves with each call after it: what it dropped is no longer read. The
//! marks must lie so far apart that a fold has earned its cost before the next one is due, and need
//! not lie further apart than that.

use crate::model::Model;
use crate::setting::{By, FoldRule, Size};

/// However cheap it would be, a conversation is not kept under so many tokens for the money's sake:
/// it would forget what the next steps need, and they would cost more than was saved.
const LEAST: usize = 64_000;

/// The most tokens of conversation that pay, where the policy asks for it and the model's prices
/// are known.
///
/// Of `a` tokens a fold keeps `kept · a` and drops `span · a`; the next one is due after `span · a
/// / growth` calls. It has paid after `(kept / span) · (write − read) / read` calls.
pub(super) fn affordable(rule: &FoldRule, model: &Model, growth: usize) -> Option<usize> {
    let (Size::Share(high), Some(Size::Share(low)), By::Cost) = (rule.high, rule.low, rule.by)
    else {
        return None;
    };
    if growth == 0 || model.cache_read <= 0.0 || model.cache_write <= model.cache_read {
        return None;
    }
    let (kept, span) = (f64::from(low) / 10_000.0, f64::from(high.saturating_sub(low)) / 10_000.0);
    let calls = kept / span * (model.cache_write - model.cache_read) / model.cache_read;
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
    let tokens = calls * growth as f64 / span;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive; what is too large is cut off"
    )]
    let tokens = tokens.min(1e9) as usize;
    Some(tokens.max(LEAST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Models;
    use crate::policy::Policy;

    fn tokens(model: &str, growth: usize) -> Option<usize> {
        affordable(
            &Policy::preset("auto").unwrap().fold,
            &Models::builtin().find(model).unwrap(),
            growth,
        )
    }

    /// The cheaper the reads, the later a fold pays.
    #[test]
    fn the_marks_follow_the_prices() {
        let [tenth, twentieth, fortieth] = ["claude-opus-5", "claude-opus-5-5", "claude-fable-5-1"]
            .map(|model| tokens(model, 1_500).unwrap());
        assert!((95_000..105_000).contains(&tenth), "{tenth}");
        assert!(
            tenth * 2 < twentieth && twentieth * 2 < fortieth,
            "{tenth} {twentieth} {fortieth}"
        );
        assert_eq!(tokens("claude-opus-5", 100), Some(LEAST), "small steps");
    }

    #[test]
    fn without_prices_or_with_marks_of_its_own_a_policy_uses_the_window() {
        assert_eq!(tokens("qwen3", 1_500), None, "nobody says what a cached token costs");
        assert_eq!(tokens("claude-opus-5", 0), None, "nothing was said yet");
        let settings = [("fold.high", "90000"), ("fold.low", "60000")]
            .map(|(k, v)| (k.to_owned(), v.to_owned()));
        let rule = Policy::preset_with("auto", &settings).unwrap().fold;
        assert_eq!(
            affordable(&rule, &Models::builtin().find("claude-opus-5").unwrap(), 1_500),
            None
        );
    }
}
