//! Statistics about a model, as stored among the preferences of the log.

use std::collections::BTreeMap;

use waterline::tokens::Calibration;
use waterline_log::Log;

/// The owner of these preferences in the log: all users.
pub(crate) const ALL_USERS: &str = "";

/// How long a recorded window is valid, in milliseconds: a server may be restarted with another
/// one.
const WINDOW_VALIDITY: i64 = 24 * 60 * 60 * 1_000;

/// What earlier calls have shown about a model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ModelStats {
    /// The window, for prompt and answer together, and when it was recorded, in milliseconds since
    /// 1970.
    pub(crate) window: Option<(usize, i64)>,
    /// Real tokens per locally counted token.
    pub(crate) factor: Option<f64>,
    /// The end of the cooldown after a failure, in milliseconds since 1970.
    pub(crate) cooldown_until: Option<i64>,
}

impl ModelStats {
    /// Returns the window, if it is not too old.
    pub(crate) fn window(&self, now: i64) -> Option<usize> {
        self.window.filter(|(_, time)| now - time < WINDOW_VALIDITY).map(|(window, _)| window)
    }

    /// Whether the model failed recently.
    pub(crate) fn is_cooling_down(&self, now: i64) -> bool {
        self.cooldown_until.is_some_and(|until| now < until)
    }

    /// Returns the initial calibration.
    pub(crate) fn calibration(&self) -> Calibration {
        self.factor.map_or_else(Calibration::default, Calibration::of)
    }
}

/// Reads the statistics of all models from the log.
pub(crate) fn read(log: &Log) -> waterline_log::Result<BTreeMap<String, ModelStats>> {
    let mut stats: BTreeMap<String, ModelStats> = BTreeMap::new();
    for (name, value) in log.preferences(ALL_USERS)? {
        if let Some(key) = name.strip_prefix("window/") {
            let window = value
                .split_once(' ')
                .and_then(|(window, time)| Some((window.parse().ok()?, time.parse().ok()?)));
            stats.entry(key.to_owned()).or_default().window = window;
        } else if let Some(key) = name.strip_prefix("factor/") {
            stats.entry(key.to_owned()).or_default().factor = value.parse().ok();
        } else if let Some(key) = name.strip_prefix("rests/") {
            stats.entry(key.to_owned()).or_default().cooldown_until = value.parse().ok();
        }
    }
    Ok(stats)
}
