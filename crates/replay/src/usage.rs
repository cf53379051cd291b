//! How well tokens are counted, against what providers reported. A recorded prompt holds more than
//! the transcript (system prompt, tools, reminders); that is in the first reported prompt, so what
//! is compared is what was added since.

use std::collections::BTreeMap;

use waterline::history::History;
use waterline::model::Models;
use waterline::tokens::{Calibration, Counter, Method};
use waterline_transcript::Transcript;

use crate::price::tokens;

/// The figures of one model family: tokens, summed over all prompts that could be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Accuracy {
    /// Prompts.
    pub prompts: usize,
    /// What the providers reported.
    pub real: f64,
    /// What was added since the first prompt, as reported and as counted here.
    pub added: (f64, f64),
    /// How far prompts are off: the first one and what was counted since.
    pub counted_off: f64,
    /// The same, with what the prompts before had taught.
    pub calibrated_off: f64,
    /// The last one, and what was counted since then, with what the prompts before had taught.
    pub running_off: f64,
}

/// A point of a conversation: tokens as counted, and as reported.
#[derive(Clone, Copy)]
struct Point {
    counted: f64,
    real: f64,
}

/// Compares one transcript, and adds what it shows to the figures of its model family.
pub fn compare(
    transcript: Transcript,
    method: Option<Method>,
    families: &mut BTreeMap<String, Accuracy>,
) {
    let name = transcript.model.clone().unwrap_or_default();
    let model = Models::builtin().resolve(&name);
    let counter =
        method.map_or_else(|| model.counter(), |method| Counter::new(method, model.image_tokens));
    let family = if model.prefix.is_empty() { "unknown".to_owned() } else { model.prefix.clone() };
    let accuracy = families.entry(family).or_default();
    let mut course = Course::default();
    let mut history = History::new(counter);
    let cuts: Vec<usize> = transcript.compactions.iter().map(|compaction| compaction.at).collect();
    for (at, entry) in transcript.entries.into_iter().enumerate() {
        if cuts.contains(&at) {
            course.span = None;
        }
        if let Some(usage) = entry.usage.filter(|usage| usage.prompt > 0) {
            course.prompt(
                accuracy,
                Point { counted: tokens(history.tokens()), real: tokens(usage.prompt) },
            );
        }
        history.append(entry.message);
    }
}

/// One conversation as it goes on.
#[derive(Default)]
struct Course {
    calibration: Calibration,
    /// The first and the last prompt since the program last cut its context.
    span: Option<(Point, Point)>,
}

impl Course {
    fn prompt(&mut self, accuracy: &mut Accuracy, now: Point) {
        // A prompt that shrank by much was cut without a word.
        let span = self.span.filter(|(_, last)| now.real > last.real * 0.7);
        let Some((first, last)) = span else {
            self.span = Some((now, now));
            return;
        };
        let (counted, real) = (now.counted - first.counted, now.real - first.real);
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
