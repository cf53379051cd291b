//! Checks the usage that a server reports. A value that cannot be true is ignored, so that it does
//! not appear in costs.

use waterline::message::Message;
use waterline_provider::answer::Usage;

use crate::unsaved::size;

/// A count is implausible if it is more than this many times our own, and above the window.
const MOST: usize = 16;

/// About how many bytes a token has.
const BYTES_PER_TOKEN: usize = 4;

/// Returns about how many tokens an answer has. Its tokens are counted when it is stored, and only
/// then, because that can take long.
pub(crate) fn estimated_tokens(answer: &[Message]) -> usize {
    answer.iter().map(size).sum::<usize>().div_ceil(BYTES_PER_TOKEN)
}

/// Returns the plausible part of a usage report. `prompt` and `output` are our own counts.
pub(crate) fn plausible(usage: Usage, prompt: usize, output: usize, window: usize) -> Usage {
    let is_plausible = |reported: usize, counted: usize| {
        reported <= counted.saturating_mul(MOST) || reported <= window
    };
    let mut kept = usage;
    if ![usage.input, usage.cache_read, usage.cache_write]
        .iter()
        .all(|part| is_plausible(*part, prompt))
    {
        kept = Usage { output: usage.output, ..Usage::default() };
    }
    if !is_plausible(usage.output, output) {
        kept.output = 0;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_far_above_the_own_ones_and_the_window_are_ignored() {
        let usage = |input, output| Usage { input, output, ..Usage::default() };
        let kept = |input, output| plausible(usage(input, output), 100, 10, 8_000);
        assert_eq!(kept(120, 400), usage(120, 400));
        assert_eq!(kept(8_000, 8_000), usage(8_000, 8_000), "within the window");
        assert_eq!(kept(1_000_000_000_000_000_000, 12), usage(0, 12));
        assert_eq!(kept(120, usize::MAX), usage(120, 0));
        let answer = [Message::assistant("word ".repeat(8_000))];
        assert_eq!(estimated_tokens(&answer), 10_000);
        let long = plausible(usage(200_000, 1), 20_000, 1, 8_000);
        assert_eq!(long, usage(200_000, 1), "our count may be off");
    }
}
