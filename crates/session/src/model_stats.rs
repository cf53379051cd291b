//! Statistics about a model, as stored among the preferences of the log.

use std::collections::BTreeMap;

use waterline::tokens::Calibration;
use waterline_log::Log;

/// The owner of these preferences in the log: all users.
pub(crate) const ALL_USERS: &str = "";

/// How long a recorded window is valid, in milliseconds: a server may be restarted with another
/// one.
const WINDOW_VALIDITY: i64 = 24 * 60 * 60 * 1_000;

/// A smaller change of the factor is not written.
pub(crate) const MIN_FACTOR_CHANGE: f64 = 0.01;

/// How long a failed model is not called, in milliseconds.
pub(crate) const COOLDOWN: i64 = 5 * 60 * 1_000;

/// How far the clocks of two machines that share a log may differ, in milliseconds. A time further
/// in the future was recorded before a clock was set back, and is ignored.
const MAX_CLOCK_SKEW: i64 = 5 * 60 * 1_000;

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
        let is_valid =
            |time: i64| (-MAX_CLOCK_SKEW..WINDOW_VALIDITY).contains(&now.saturating_sub(time));
        self.window.filter(|(_, time)| is_valid(*time)).map(|(window, _)| window)
    }

    /// Whether the model failed recently.
    pub(crate) fn is_cooling_down(&self, now: i64) -> bool {
        self.cooldown_until.is_some_and(|until| {
            (1..=COOLDOWN + MAX_CLOCK_SKEW).contains(&until.saturating_sub(now))
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_700_000_000_000;

    #[test]
    fn a_clock_that_is_set_back_does_not_extend_a_cooldown_or_a_window() {
        let stats = ModelStats {
            window: Some((8_000, NOW)),
            cooldown_until: Some(NOW + COOLDOWN),
            ..ModelStats::default()
        };
        let day = 24 * 60 * 60 * 1_000;
        assert!(stats.is_cooling_down(NOW) && stats.is_cooling_down(NOW + COOLDOWN - 1));
        assert!(!stats.is_cooling_down(NOW + COOLDOWN));
        assert!(stats.is_cooling_down(NOW - 60_000), "clocks differ a little");
        assert_eq!(stats.window(NOW + day - 1), Some(8_000));
        assert_eq!((stats.window(NOW + day), stats.window(NOW - 60_000)), (None, Some(8_000)));
        for back in [day, 30 * day, i64::MAX] {
            let now = NOW.saturating_sub(back);
            assert!(!stats.is_cooling_down(now), "{back}");
            assert_eq!(stats.window(now), None, "{back}");
        }
    }
}
