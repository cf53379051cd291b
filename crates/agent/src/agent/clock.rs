//! Tells the model the time without changing what was already sent: the first message, and each
//! message after a pause, states it.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// The shortest pause, in milliseconds, after which a message states the time.
const PAUSE: i64 = 3_600_000;

/// Formats a time in milliseconds since 1970 for people.
pub(super) fn shown(time: i64) -> Option<String> {
    Some(zoned(time)?.strftime("%Y-%m-%d %H:%M %:z, %A").to_string())
}

/// Returns the time line for a follow-up message; `None` unless an hour has passed or the day has
/// changed.
pub(super) fn line(last: i64, now: i64) -> Option<String> {
    let is_other_day = zoned(last)?.date() != zoned(now)?.date();
    if now - last <= PAUSE && !is_other_day {
        return None;
    }
    Some(format!("[{}]", shown(now)?))
}

fn zoned(time: i64) -> Option<Zoned> {
    Some(Timestamp::from_millisecond(time).ok()?.to_zoned(TimeZone::system()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    #[test]
    fn s3_2_a_message_after_a_pause_names_its_time() {
        // Noon in the zone of this machine, so that an hour later is the same day.
        let noon = zoned(1_700_000_000_000)
            .unwrap()
            .with()
            .hour(12)
            .minute(0)
            .build()
            .unwrap()
            .timestamp()
            .as_millisecond();
        assert_eq!(line(noon, noon + HOUR), None);
        let later = line(noon, noon + HOUR + 1).unwrap();
        assert!(later.starts_with("[2023-11-1") && later.contains(" 13:00 "), "{later}");
        assert!(line(noon, noon + 24 * HOUR).is_some());
        let midnight = noon + 12 * HOUR;
        assert!(line(midnight - 60_000, midnight + 60_000).is_some(), "another day");
    }
}
