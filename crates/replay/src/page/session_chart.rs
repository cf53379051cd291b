//! Draws the prompts of one session as SVG, call by call.

use std::fmt::Write;

use waterline::phrase;

use super::{Say, escape};
use crate::price::tokens;
use crate::run::{CallFigures, Outcome};

const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 96.0;
/// The maximum number of columns. With more calls, a column is the mean of several.
const MAX_COLUMNS: usize = 150;

/// Draws one column per call, with cached tokens at the bottom, uncached ones on top, and a mark
/// for each fold.
pub(super) fn svg(outcome: &Outcome, max_tokens: usize, say: Say<'_>) -> String {
    let policy = outcome.policy.as_str();
    let label = say(&phrase!("page-tokens-per-call", "tokens per call, {policy}", policy = policy));
    let mut text = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
        escape(&label)
    );
    let step = outcome.calls.len().div_ceil(MAX_COLUMNS).max(1);
    let columns = outcome.calls.len().div_ceil(step).max(1);
    let width = WIDTH / tokens(columns);
    let height = |count: usize| (HEIGHT - 10.0) * tokens(count) / tokens(max_tokens.max(1));
    for (at, calls) in outcome.calls.chunks(step).enumerate() {
        let x = tokens(at) * width;
        let mean = |figure: fn(&CallFigures) -> usize| {
            calls.iter().map(figure).sum::<usize>() / calls.len()
        };
        let all = mean(|call| call.tokens);
        let read = mean(|call| call.read);
        for (class, from, to) in [("read", 0, read), ("fresh", read, all)] {
            let bottom = height(from);
            let top = height(to);
            let _ = write!(
                text,
                "<rect class=\"{class}\" x=\"{x:.2}\" y=\"{:.2}\" \
                 width=\"{:.2}\" height=\"{:.2}\"/>",
                HEIGHT - top,
                width.max(0.4),
                top - bottom,
            );
        }
        let first = calls.first().map_or(0, |call| call.message);
        let last = calls.last().map_or(0, |call| call.message);
        let folds =
            outcome.folds.iter().filter(|fold| (first..=last).contains(&fold.before)).count();
        if folds > 0 {
            let title = say(&phrase!(
                "page-fold",
                "folds before message {last}: {folds}; prompt: {tokens} tokens",
                folds = folds,
                last = last,
                tokens = all
            ));
            let _ = write!(
                text,
                "<path class=\"fold\" d=\"M{:.2},0 l3,0 l-1.5,5 z\"><title>{title}</title></path>",
                x + width / 2.0 - 1.5,
            );
        }
    }
    text.push_str("</svg>");
    text
}
