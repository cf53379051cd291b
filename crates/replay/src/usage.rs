//! Measures the accuracy of token counts against the usage that providers reported. A recorded
//! prompt has more than the transcript (system prompt, tools, reminders), but the first reported
//! prompt already includes that, so the comparison is of the tokens added since.

use std::collections::BTreeMap;

use waterline::history::History;
use waterline::model::Models;
use waterline::tokens::{Calibration, Counter, Method};
use waterline_transcript::Transcript;

use crate::price::tokens;

/// The figures of one model family, in tokens, summed over all prompts that could be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Accuracy {
    /// Number of prompts.
    pub prompts: usize,
    /// Tokens as reported by the providers.
    pub real: f64,
    /// Tokens added since the first prompt, as reported and as counted.
    pub added: (f64, f64),
    /// The error when tokens are counted from the first prompt on.
    pub counted_off: f64,
    /// The same error with calibration by earlier prompts.
    pub calibrated_off: f64,
    /// The error when tokens are counted from the previous prompt on, with calibration.
    pub running_off: f64,
}

/// The tokens at one point of a conversation, as counted and as reported.
#[derive(Clone, Copy)]
struct Point {
    counted: f64,
    real: f64,
}

/// Compares one transcript, whose model is described in `models`, and adds the result to the
/// figures of its model family.
pub fn compare(
    transcript: Transcript,
    method: Option<Method>,
    models: &Models,
    families: &mut BTreeMap<String, Accuracy>,
) {
    let name = transcript.model.clone().unwrap_or_default();
    let model = models.resolve(&name);
    let counter =
        method.map_or_else(|| model.counter(), |method| Counter::new(method, model.image_tokens));
    let family = if model.prefix.is_empty() { "unknown".to_owned() } else { model.prefix.clone() };
    let accuracy = families.entry(family).or_default();
    let mut comparison = Comparison::default();
    let mut history = History::new(counter);
    let compactions: Vec<usize> =
        transcript.compactions.iter().map(|compaction| compaction.at).collect();
    for (at, entry) in transcript.entries.into_iter().enumerate() {
        if compactions.contains(&at) {
            comparison.span = None;
        }
        if let Some(usage) = entry.usage.filter(|usage| usage.prompt > 0) {
            comparison.prompt(
                accuracy,
                Point { counted: tokens(history.tokens()), real: tokens(usage.prompt) },
            );
        }
        history.append(entry.message);
    }
}

/// The state of the comparison within one conversation.
#[derive(Default)]
struct Comparison {
    calibration: Calibration,
    /// The first and the last prompt since the last compaction.
    span: Option<(Point, Point)>,
}

impl Comparison {
    fn prompt(&mut self, accuracy: &mut Accuracy, now: Point) {
        // A prompt that shrank a lot was compacted without a record of it.
        let span = self.span.filter(|(_, last)| now.real > last.real * 0.7);
        let Some((first, last)) = span else {
            self.span = Some((now, now));
            return;
        };
        let counted = now.counted - first.counted;
        let real = now.real - first.real;
        let factor = self.calibration.factor();
        accuracy.prompts += 1;
        accuracy.real += now.real;
        accuracy.added.0 += real;
        accuracy.added.1 += counted;
        accuracy.counted_off += (counted - real).abs();
        accuracy.calibrated_off += (counted * factor - real).abs();
        accuracy.running_off +=
            (last.real + (now.counted - last.counted) * factor - now.real).abs();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "token counts, held above zero"
        )]
        self.calibration.observe(counted.max(0.0) as usize, real.max(0.0) as usize);
        self.span = Some((first, now));
    }
}
