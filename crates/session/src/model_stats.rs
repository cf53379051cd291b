//! What providers taught about a model, as the log keeps it among its preferences.

use std::collections::BTreeMap;

use waterline::tokens::Calibration;
use waterline_log::Log;

/// Whose settings these are in the log: everybody's.
pub(crate) const EVERYBODY: &str = "";

/// How long a window that was learned is taken for granted, in milliseconds: a server may be
/// started with another one.
const HOLDS: i64 = 24 * 60 * 60 * 1_000;

/// What is known of a model by model_stats.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ModelStats {
    /// The provider's window, for prompt and answer, and when it was learned, in milliseconds since
    /// 1970.
    pub(crate) window: Option<(usize, i64)>,
    /// Real tokens for each counted one.
    pub(crate) factor: Option<f64>,
    /// Until when it is left alone, because it failed, in milliseconds since 1970.
    pub(crate) rests: Option<i64>,
}

impl ModelStats {
    /// The window, if it is not too old.
    pub(crate) fn window(&self, now: i64) -> Option<usize> {
        self.window.filter(|(_, time)| now - time < HOLDS).map(|(window, _)| window)
    }

    /// Whether it failed a short while ago.
    pub(crate) fn is_resting(&self, now: i64) -> bool {
        self.rests.is_some_and(|until| now < until)
    }

    /// The calibration to begin with.
    pub(crate) fn calibration(&self) -> Calibration {
        self.factor.map_or_else(Calibration::default, Calibration::of)
    }
}

/// The experiences among the settings of the log.
pub(crate) fn read(log: &Log) -> waterline_log::Result<BTreeMap<String, ModelStats>> {
    let mut experiences: BTreeMap<String, ModelStats> = BTreeMap::new();
    for (name, value) in log.preferences(EVERYBODY)? {
        if let Some(key) = name.strip_prefix("window/") {
            let window = value
                .split_once(' ')
                .and_then(|(window, time)| Some((window.parse().ok()?, time.parse().ok()?)));
            experiences.entry(key.to_owned()).or_default().window = window;
        } else if let Some(key) = name.strip_prefix("factor/") {
            experiences.entry(key.to_owned()).or_default().factor = value.parse().ok();
        } else if let Some(key) = name.strip_prefix("rests/") {
            experiences.entry(key.to_owned()).or_default().rests = value.parse().ok();
        }
    }
    Ok(experiences)
}
