//! Dates: of messages, and those that a question names.

use std::sync::LazyLock;

use jiff::civil::Date;
use regex::{Captures, Regex};

use crate::pattern::pattern;

/// Full names and abbreviations of the months.
const MONTH: &str = "(january|february|march|april|may|june|july|august|september|october|\
    november|december|sept|jan|feb|mar|apr|jun|jul|aug|sep|oct|nov|dec)";
/// Months that count even without a preposition. Short names are too often other words.
const LONG_MONTH: &str =
    "(january|february|march|april|august|september|october|november|december)";

/// Words after "march" that make it a verb or an event.
const AFTER_MARCH: [&str; 14] = [
    "on", "to", "toward", "towards", "into", "out", "off", "past", "through", "forward", "ahead",
    "up", "down", "with",
];

static STAMPS: LazyLock<[(Regex, [usize; 3]); 4]> = LazyLock::new(|| {
    let day_first = format!(r"([0-9]{{1,2}})\s+{MONTH}[a-z]*,?\s+([0-9]{{4}})");
    let month_first = format!(r"{MONTH}[- ]([0-9]{{1,2}})(?:st|nd|rd|th)?,?[- ]([0-9]{{4}})");
    [
        (pattern(r"([0-9]{4})[-年/.]([0-9]{1,2})[-月/.]([0-9]{1,2})"), [1, 2, 3]),
        (pattern(r"([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{4})"), [3, 2, 1]),
        (pattern(&day_first), [3, 2, 1]),
        (pattern(&month_first), [3, 1, 2]),
    ]
});

/// Returns the date of a message's time stamp, such as `2024-01-02T10:00:00Z`, `8 May, 2023`,
/// `March-15-2024`, `03.05.2023` (the day first) or `2023年5月3日`.
#[must_use]
pub fn date_of(stamp: &str) -> Option<Date> {
    let stamp = stamp.to_lowercase();
    STAMPS.iter().find_map(|(pattern, [year, month, day])| {
        let found = pattern.captures(&stamp)?;
        let year = i16::try_from(number(&found, *year)?).ok()?;
        let month = month_of(found.get(*month)?.as_str())?;
        Date::new(year, month, i8::try_from(number(&found, *day)?).ok()?).ok()
    })
}

/// A date that a question names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// A day, perhaps without its year.
    Day(Option<i16>, i8, i8),
    /// A month, perhaps without its year.
    Month(Option<i16>, i8),
    /// A whole year, such as 2025.
    Year(i16),
}

/// Returns the dates that a question names. A month counts only if no day is named, and a year only
/// if no month is.
pub(crate) fn named_dates(question: &str) -> Vec<Named> {
    let question = question.to_lowercase();
    [days, months_of_years, months, years]
        .iter()
        .map(|find| find(&question))
        .find(|dates| !dates.is_empty())
        .unwrap_or_default()
}

fn days(question: &str) -> Vec<Named> {
    static PATTERNS: LazyLock<[(Regex, [usize; 3]); 4]> = LazyLock::new(|| {
        let day_first =
            format!(r"\b([0-9]{{1,2}})(?:st|nd|rd|th)?(?: of)? {MONTH}\b,?(?: ([0-9]{{4}}))?");
        let month_first =
            format!(r"\b{MONTH} ([0-9]{{1,2}})(?:st|nd|rd|th)?\b,?(?: ([0-9]{{4}}))?");
        [
            (pattern(&day_first), [3, 2, 1]),
            (pattern(&month_first), [3, 1, 2]),
            (pattern(r"([0-9]{4})[-年/]([0-9]{1,2})[-月/]([0-9]{1,2})"), [1, 2, 3]),
            (pattern(r"(?:([0-9]{4})年)?([0-9]{1,2})月([0-9]{1,2})[日号]"), [1, 2, 3]),
        ]
    });
    let mut named = Vec::new();
    for (pattern, [year, month, day]) in PATTERNS.iter() {
        named.extend(pattern.captures_iter(question).filter_map(|found| {
            let month = month_of(found.get(*month)?.as_str())?;
            let day = i8::try_from(number(&found, *day)?).ok()?;
            Some(Named::Day(year_of(&found, *year), month, day))
        }));
    }
    named
}

fn months_of_years(question: &str) -> Vec<Named> {
    static PATTERNS: LazyLock<[(Regex, [usize; 2]); 2]> = LazyLock::new(|| {
        [
            (pattern(&format!(r"\b{MONTH},? (?:of )?([0-9]{{4}})\b")), [2, 1]),
            (pattern(r"([0-9]{4})年([0-9]{1,2})月"), [1, 2]),
        ]
    });
    let mut named = Vec::new();
    for (pattern, [year, month]) in PATTERNS.iter() {
        named.extend(pattern.captures_iter(question).filter_map(|found| {
            let month = month_of(found.get(*month)?.as_str())?;
            Some(Named::Month(Some(year_of(&found, *year)?), month))
        }));
    }
    named
}

fn months(question: &str) -> Vec<Named> {
    static PATTERNS: LazyLock<[Regex; 3]> = LazyLock::new(|| {
        let before = "in|during|of|since|last|this|early|late|mid|by|until";
        [
            pattern(&format!(r"\b(?:{before}) (?:early |late |mid-?)?{MONTH}\b")),
            pattern(&format!(r"\b{LONG_MONTH}\b(?: ([a-z]+))?")),
            pattern(r"([0-9]{1,2})月(?:份)?"),
        ]
    });
    let mut named = Vec::new();
    for pattern in PATTERNS.iter() {
        named.extend(pattern.captures_iter(question).filter_map(|found| {
            let name = found.get(1)?.as_str();
            let next = found.get(2).map_or("", |next| next.as_str());
            let is_month = name != "march" || !AFTER_MARCH.contains(&next);
            Some(Named::Month(None, month_of(name).filter(|_| is_month)?))
        }));
    }
    named
}

fn years(question: &str) -> Vec<Named> {
    static PATTERN: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"\b(?:in|during|of) (20[0-9]{2})\b|(20[0-9]{2})年"));
    let years = PATTERN.captures_iter(question);
    years
        .filter_map(|found| Some(Named::Year(year_of(&found, 1).or_else(|| year_of(&found, 2))?)))
        .collect()
}

/// Returns how well a message's date fits a date that a question names, from 0 to 1. `usual` is the
/// year that is meant if a day is named without one.
pub(crate) fn fit(named: Named, date: Date, usual: i16) -> f64 {
    match named {
        Named::Day(year, month, day) => {
            let Ok(day) = Date::new(year.unwrap_or(usual), month, day) else { return 0.0 };
            match day_number(date) - day_number(day) {
                0 => 1.0,
                1..=7 => 0.5,
                -2..=-1 => 0.4,
                _ => 0.0,
            }
        }
        Named::Month(year, month) => {
            let (next, next_year) =
                if month == 12 { (1, year.map(|year| year + 1)) } else { (month + 1, year) };
            let is_in = |year: Option<i16>| year.is_none_or(|year| year == date.year());
            if date.month() == month && is_in(year) {
                0.6
            } else if date.month() == next && date.day() <= 10 && is_in(next_year) {
                // People still talk about a month when the next one begins.
                0.2
            } else {
                0.0
            }
        }
        Named::Year(year) if year == date.year() => 0.2,
        Named::Year(_) => 0.0,
    }
}

/// Returns the number of days since 1 January 1970, for distances between dates.
pub(crate) fn day_number(date: Date) -> i32 {
    date.duration_since(jiff::civil::date(1970, 1, 1))
        .as_hours()
        .div_euclid(24)
        .try_into()
        .unwrap_or(0)
}

fn month_of(text: &str) -> Option<i8> {
    const NAMES: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    match text.parse() {
        Ok(number) => Some(number).filter(|number| (1..=12).contains(number)),
        Err(_) => {
            let at = NAMES.iter().position(|name| text.starts_with(name))?;
            i8::try_from(at + 1).ok()
        }
    }
}

fn number(found: &Captures<'_>, group: usize) -> Option<u16> {
    found.get(group)?.as_str().parse().ok()
}

fn year_of(found: &Captures<'_>, group: usize) -> Option<i16> {
    number(found, group).and_then(|year| i16::try_from(year).ok())
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn time_stamps_of_many_forms_are_read() {
        let stamps = [
            ("March-15-2024", date(2024, 3, 15)),
            ("2023-12-25", date(2023, 12, 25)),
            ("2024-01-02T10:00:00Z", date(2024, 1, 2)),
            ("8 May, 2023", date(2023, 5, 8)),
            ("1:56 pm on 8 May, 2023", date(2023, 5, 8)),
            ("03.05.2023", date(2023, 5, 3)),
            ("2023年5月3日", date(2023, 5, 3)),
        ];
        for (stamp, expected) in stamps {
            assert_eq!(date_of(stamp), Some(expected), "{stamp}");
        }
        for stamp in ["", "yesterday", "2023-02-31", "10:00"] {
            assert_eq!(date_of(stamp), None, "{stamp}");
        }
    }

    /// Returns the feature of five messages; the usual year is 2023.
    fn features(question: &str) -> [f64; 5] {
        let dates = [
            date(2023, 5, 1),
            date(2023, 5, 3),
            date(2023, 5, 7),
            date(2023, 6, 8),
            date(2022, 5, 3),
        ];
        let named = named_dates(question);
        dates.map(|date| named.iter().map(|&named| fit(named, date, 2023)).fold(0.0, f64::max))
    }

    #[test]
    fn named_dates_fit_messages_around_them() {
        let day = [0.4, 1.0, 0.5, 0.0, 0.0];
        let month = [0.6, 0.6, 0.6, 0.2, 0.6];
        let month_of_year = [0.6, 0.6, 0.6, 0.2, 0.0];
        let none = [0.0; 5];
        let questions = [
            ("what did I do on 3 May 2023", day),
            ("what did I do on May 3", day),
            ("what happened on the 3rd of May?", day),
            ("2023年5月3日我做了什么", day),
            ("5月3号我做了什么", day),
            ("what happened in May 2023", month_of_year),
            ("2023年5月发生了什么", month_of_year),
            ("what happened in May", month),
            ("5月发生了什么", month),
            ("what happened in 2022", [0.0, 0.0, 0.0, 0.0, 0.2]),
            ("2022年发生了什么", [0.0, 0.0, 0.0, 0.0, 0.2]),
            ("what may happen", none),
            ("on 31 February 2023", none),
        ];
        for (question, expected) in questions {
            assert_eq!(features(question), expected, "{question}");
        }
    }

    #[test]
    fn a_march_is_not_always_a_month() {
        assert_eq!(named_dates("who joined the march on Washington"), []);
        assert_eq!(named_dates("what about March?"), [Named::Month(None, 3)]);
        let both = named_dates("did we march on in March");
        assert_eq!(both.first(), Some(&Named::Month(None, 3)));
    }

    #[test]
    fn after_december_comes_january_of_the_next_year() {
        let december = Named::Month(Some(2023), 12);
        assert_eq!(fit(december, date(2024, 1, 4), 2023), 0.2);
        assert_eq!(fit(december, date(2023, 1, 4), 2023), 0.0);
    }
}
