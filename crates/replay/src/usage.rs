//! How well tokens are counted, against what providers reported. A recorded prompt holds more than the transcript (system
//! prompt, tools, reminders), so what is compared is what each call *added* to the prompt of the call before.

use std::collections::BTreeMap;

use waterline::history::History;
use waterline::model::Model;
use waterline::tokens::{Calibration, Counter, Method};
use waterline_transcript::Transcript;

use crate::price::tokens;

/// The figures of one model family.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Accuracy {
    /// Steps between two calls that could be compared.
    pub steps: usize,
    /// Tokens that providers counted for them.
    pub real: usize,
    /// Tokens that were counted here.
    pub counted: usize,
    /// The same, corrected by what earlier steps of the session had taught.
    pub corrected: f64,
    /// How far single steps were off, before and after.
    pub off: (f64, f64),
}

impl Accuracy {
    /// How far the sum is off, as a share of the real one: before and after calibration.
    #[must_use]
    pub fn bias(&self) -> (f64, f64) {
        let real = tokens(self.real.max(1));
        (tokens(self.counted) / real - 1.0, self.corrected / real - 1.0)
    }

    /// How far a step is off on average, as a share of the real tokens: before and after calibration.
    #[must_use]
    pub fn error(&self) -> (f64, f64) {
        let real = tokens(self.real.max(1));
        (self.off.0 / real, self.off.1 / real)
    }
}

/// Compares one transcript, and adds what it shows to the figures of its model family.
pub fn compare(transcript: Transcript, method: Option<Method>, families: &mut BTreeMap<String, Accuracy>) {
    let name = transcript.model.clone().unwrap_or_default();
    let model = Model::known(&name).unwrap_or(Model::unknown());
    let counter = method.map_or_else(|| model.counter(), |method| Counter::new(method, model.image));
    let family = if model.prefix.is_empty() { "unknown".to_owned() } else { model.prefix.clone() };
    let accuracy = families.entry(family).or_default();
    let mut calibration = Calibration::default();
    let mut history = History::new(counter);
    // Single steps are noise; what was added since the first call tells how the counter does.
    let mut first: Option<(usize, usize)> = None;
    let mut last: Option<(usize, usize)> = None;
    let cuts: Vec<usize> = transcript.compactions.iter().map(|compaction| compaction.at).collect();
    for (at, entry) in transcript.entries.into_iter().enumerate() {
        if cuts.contains(&at) {
            (first, last) = (None, None);
        }
        if let Some(usage) = entry.usage.filter(|usage| usage.prompt > 0) {
            let now = (history.tokens(), usage.prompt);
            if let Some((counted, real)) = last.and_then(|last| growth(last, now)) {
                accuracy.add(counted, real, &calibration);
                if let Some((counted, real)) = first.and_then(|first| growth(first, now)) {
                    calibration.observe(counted, real);
                }
            }
            first = first.or(Some(now));
            last = Some(now);
        }
        history.append(entry.message);
    }
}

/// What was added since the last call; nothing where the prompt did not grow, because the program cut it.
fn growth(last: (usize, usize), now: (usize, usize)) -> Option<(usize, usize)> {
    let (counted, real) = (now.0.checked_sub(last.0)?, now.1.checked_sub(last.1)?);
    (counted > 0 && real > 0).then_some((counted, real))
}

impl Accuracy {
    fn add(&mut self, counted: usize, real: usize, calibration: &Calibration) {
        let corrected = tokens(counted) * calibration.factor();
        self.steps += 1;
        self.real += real;
        self.counted += counted;
        self.corrected += corrected;
        self.off.0 += (tokens(counted) - tokens(real)).abs();
        self.off.1 += (corrected - tokens(real)).abs();
    }
}
