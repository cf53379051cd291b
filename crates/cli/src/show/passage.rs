//! Messages that a search found.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use waterline_log::Numbering;
use waterline_memory::Reason;
use waterline_session::Passage;

use super::{plain, room, truncate};
use crate::text;

/// Returns two lines on a found message: its number, author, time and why it was found; its text.
pub fn passage(passage: &Passage, numbering: &Numbering) -> [String; 2] {
    let time = Timestamp::from_millisecond(passage.time).map_or_else(
        |_| String::new(),
        |time| time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string(),
    );
    let why: Vec<String> = passage.reasons.iter().take(2).map(match_reason).collect();
    let number = numbering.count(passage.position);
    let head = format!("{number:>5}  {:<9}  {time}  {}", passage.role.name(), why.join(" · "));
    let text = passage.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = truncate(&plain(&text), room(8));
    [truncate(&head, room(1)), format!("       {text}")]
}

/// Returns why a message was found.
pub fn match_reason(reason: &Reason) -> String {
    match reason {
        Reason::Words(words) => text!("recall-words", words = words.join(", ")),
        Reason::Neighbour(_) => text!("recall-neighbour"),
        Reason::Speaker => text!("recall-speaker"),
        Reason::Date => text!("recall-date"),
        Reason::Instruction => text!("recall-instruction"),
        Reason::Preference => text!("recall-preference"),
        Reason::Meaning => text!("recall-meaning"),
        _ => text!("recall-session"),
    }
}
