//! The context size at which a fold pays for itself.
//!
//! A fold has a one-time cost: the provider writes what the fold keeps to its cache again instead
//! of reading it from there. It saves money with every later call, because what it dropped is no
//! longer read. The high and low marks must be far enough apart that a fold has paid for itself
//! before the next one is due, and need not be further apart than that.

use crate::model::Model;
use crate::policy::Policy;
use crate::setting::{By, Size, WHOLE};

/// Lower bound of the size that both marks are shares of: below it, the model forgets what its next
/// steps need, and the extra steps cost more than is saved.
const MIN_BREAK_EVEN_TOKENS: usize = 64_000;

/// Returns the size of a conversation at which a fold has just paid for itself when the next one is
/// due, if the policy asks for that and the prices of the model are known. `growth` is the number
/// of tokens that a call adds.
///
/// If both marks are shares of `a` tokens, a fold starts at `high · a`, keeps `kept · a` and drops
/// `span · a`; the next fold is due after `span · a / growth` calls. The fold writes `kept · a`
/// tokens to the cache that would otherwise have been read, which costs `kept · a · (write −
/// read)`. Each later call saves `span · a · read`. So the fold has paid for itself after `(kept /
/// span) · (write − read) / read` calls. The result is the `a` at which both numbers of calls are
/// equal.
pub(super) fn break_even_tokens(policy: &Policy, model: &Model, growth: usize) -> Option<usize> {
    let rule = &policy.fold;
    let (Size::Share(high), Some(Size::Share(low)), By::Cost) = (rule.high, rule.low, rule.by)
    else {
        return None;
    };
    if growth == 0 || model.cache_read <= 0.0 || model.cache_write <= model.cache_read {
        return None;
    }
    let kept_share = low.min(policy.kept_share());
    let kept = f64::from(kept_share) / f64::from(WHOLE);
    let span = f64::from(high.saturating_sub(kept_share)) / f64::from(WHOLE);
    let calls = kept / span * (model.cache_write - model.cache_read) / model.cache_read;
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
    let tokens = calls * growth as f64 / span;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive and at most 1e9"
    )]
    let tokens = tokens.min(1e9) as usize;
    Some(tokens.max(MIN_BREAK_EVEN_TOKENS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Models;

    fn tokens(model: &str, growth: usize) -> Option<usize> {
        break_even_tokens(
            &Policy::preset("auto").unwrap(),
            &Models::builtin().find(model).unwrap(),
            growth,
        )
    }

    /// The cheaper the reads, the later a fold pays for itself. The names say what the models
    /// charge for a cached token, as a part of the price of a new one.
    #[test]
    fn cheaper_cache_reads_allow_a_larger_context() {
        let [tenth, twentieth, fortieth] = ["claude-opus-5", "claude-opus-5-5", "claude-fable-5-1"]
            .map(|model| tokens(model, 2_300).unwrap());
        assert!((70_000..85_000).contains(&tenth), "{tenth}");
        assert!(
            tenth * 2 < twentieth && twentieth * 2 < fortieth,
            "{tenth} {twentieth} {fortieth}"
        );
        assert_eq!(tokens("claude-opus-5", 100), Some(MIN_BREAK_EVEN_TOKENS), "small steps");
    }

    #[test]
    fn without_prices_or_with_marks_in_tokens_there_is_no_limit() {
        assert_eq!(tokens("qwen3", 1_500), None, "the price of a cached token is unknown");
        assert_eq!(tokens("claude-opus-5", 0), None, "the conversation is empty");
        let settings = [("fold.high", "90000"), ("fold.low", "60000")]
            .map(|(k, v)| (k.to_owned(), v.to_owned()));
        let policy = Policy::preset_with("auto", &settings).unwrap();
        assert_eq!(
            break_even_tokens(&policy, &Models::builtin().find("claude-opus-5").unwrap(), 1_500),
            None
        );
    }
}
