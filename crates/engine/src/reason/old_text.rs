//! Reads the reasons that older logs contain as English text. Nothing stores them like this
//! anymore.

use super::{Reason, Reasons};

/// What joined two reasons, before a space.
const JOINTS: [char; 2] = [';', ':'];

/// The maximum number of joints inside one reason, as in `the task; truncated in the middle`.
const MAX_JOINTS_IN_REASON: usize = 1;

impl Reasons {
    /// Parses the reasons in a text of an older log. If a part of it is unknown, such as a part
    /// that a user or a model wrote, returns the whole text as one reason.
    #[doc(hidden)]
    #[must_use]
    pub fn of_old_text(text: &str) -> Self {
        match text {
            "" => Self::new(),
            text => known(text).unwrap_or_else(|| text.into()),
        }
    }
}

/// Returns a reason, or several that are joined. A log may contain any text, so this must not try
/// all combinations of joints.
fn known(text: &str) -> Option<Reasons> {
    let mut reasons = Vec::new();
    let mut rest = Some(text);
    while let Some(text) = rest {
        let (reason, after) = first_known(text)?;
        reasons.push(reason);
        rest = after;
    }
    Some(reasons.into_iter().collect())
}

/// Returns the longest reason that a text starts with, and what is joined to it.
fn first_known(text: &str) -> Option<(Reason, Option<&str>)> {
    let mut ends: Vec<usize> = joints(text).take(MAX_JOINTS_IN_REASON + 1).collect();
    if ends.len() <= MAX_JOINTS_IN_REASON {
        ends.push(text.len());
    }
    ends.into_iter().rev().find_map(|end| {
        let part = text.get(..end)?;
        let reason = Reason::of_old_text(part).or_else(|| reworded(part))?;
        Some((reason, text.get(end + "; ".len()..)))
    })
}

/// Returns the positions of the joints in a text.
fn joints(text: &str) -> impl Iterator<Item = usize> {
    let has_space = |at: usize| text.get(at + 1..).is_some_and(|after| after.starts_with(' '));
    text.match_indices(JOINTS).map(|(at, _)| at).filter(move |&at| has_space(at))
}

/// Returns the reason for a text whose wording has changed since.
fn reworded(text: &str) -> Option<Reason> {
    OLD_WORDS.iter().find_map(|(template, reason)| {
        let numbers = numbers_in(template, text)?;
        let number = |at: usize| numbers.get(at).copied().unwrap_or_default();
        Some(reason(&number))
    })
}

/// Makes a reason from the numbers in its text.
type OfNumbers = fn(&dyn Fn(usize) -> usize) -> Reason;

/// Reasons whose wording has changed, with their texts in older logs.
const OLD_WORDS: [(&str, OfNumbers); 7] = [
    ("a ledger of {} tokens for the texts truncated below", |number| Reason::LedgerOnly {
        ledger: number(0),
    }),
    ("{} tokens are more than the {} available for the prompt", |number| Reason::OverWindow {
        tokens: number(0),
        window: number(1),
    }),
    ("{} tokens are more than the {} available for the prompt less a margin of {}", |number| {
        Reason::OverMargin { tokens: number(0), window: number(1), margin: number(2) }
    }),
    (
        "{} tokens are over the high mark of {}; the cache is cold, so it costs little now",
        |number| Reason::OverHighMarkCold { tokens: number(0), high: number(1) },
    ),
    ("{} tokens are over the high mark of {}", |number| Reason::OverHighMark {
        tokens: number(0),
        high: number(1),
    }),
    ("{} messages are more than {}", |number| Reason::ManyMessages {
        messages: number(0),
        max: number(1),
    }),
    ("{} turns are more than {}", |number| Reason::ManyTurns { turns: number(0), max: number(1) }),
];

/// Returns the numbers of a text that follows a template such as `{turns} turns`.
pub(super) fn numbers_in(template: &str, text: &str) -> Option<Vec<usize>> {
    let mut rest = text;
    let mut numbers = Vec::new();
    for (at, part) in template.split('{').enumerate() {
        let literal = if at == 0 {
            part
        } else {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let (number, after) = rest.split_at_checked(digits)?;
            numbers.push(number.parse().ok()?);
            rest = after;
            part.split_once('}')?.1
        };
        rest = rest.strip_prefix(literal)?;
    }
    rest.is_empty().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_found_by_its_text() {
        let reasons = [
            Reason::OverWindow { tokens: 154_371, window: 8_000 },
            Reason::OverMargin { tokens: 7_700, window: 8_000, margin: 400 },
            Reason::OverHighMark { tokens: 12, high: 11 },
            Reason::OverHighMarkCold { tokens: 12, high: 11 },
            Reason::Task,
            Reason::TaskTruncated,
            Reason::replaced(3, false, 4, 5),
            Reason::replaced(1, true, 4, 0),
            Reason::replaced(0, true, 4, 7),
            Reason::replaced(1, false, 0, 7),
            Reason::replaced(3, false, 0, 7),
        ];
        for reason in reasons {
            assert_eq!(Reasons::of_old_text(&reason.to_string()), reason.into());
        }
        for (text, reason) in [
            (
                "a ledger of 7 tokens for the texts truncated below",
                Reason::LedgerOnly { ledger: 7 },
            ),
            (
                "12 tokens are over the high mark of 11; the cache is cold, so it costs little now",
                Reason::OverHighMarkCold { tokens: 12, high: 11 },
            ),
            ("42 messages are more than 40", Reason::ManyMessages { messages: 42, max: 40 }),
        ] {
            assert_eq!(Reasons::of_old_text(text), reason.into());
        }
        for text in ["a reason of someone else's stage", "older than the last many turns"] {
            assert_eq!(Reasons::of_old_text(text), text.into());
        }
    }

    #[test]
    fn joined_reasons_are_found() {
        let text = "the provider rejected 9000 tokens; assuming a window of 8192 tokens: folded; \
                    folded to the task, pins, summary and newest message";
        let reasons = Reasons::from(Reason::Rejected { tokens: 9_000, window: 8_192 })
            .and(Reason::Folded)
            .and(Reason::FoldedMost);
        assert_eq!(Reasons::of_old_text(text), reasons);
        let stored: Reasons = serde_json::from_value(text.into()).unwrap();
        assert_eq!(stored, reasons);
    }

    /// A text of a model or of a crafted file may have any number of joints.
    #[test]
    fn a_text_with_many_joints_is_read_at_once() {
        let folded = ["folded"; 61].join("; ");
        assert_eq!(Reasons::of_old_text(&folded), vec![Reason::Folded; 61].into_iter().collect());
        for text in [
            format!("{folded}; whatever"),
            format!("requested by the model: {}", ["note: this"; 61].join("; ")),
            format!("folded{}", "; ".repeat(61)),
        ] {
            assert_eq!(Reasons::of_old_text(&text), text.as_str().into());
        }
    }

    #[test]
    fn a_reason_has_few_joints() {
        let most = Reason::TEXTS.iter().map(|text| joints(text).count()).max();
        assert_eq!(most, Some(MAX_JOINTS_IN_REASON));
    }
}
