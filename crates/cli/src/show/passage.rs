//! Messages that a search found.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use waterline::tokens::is_cjk;
use waterline_log::Numbering;
use waterline_memory::Reason;
use waterline_session::Passage;

use super::{pad, plain, role, room, truncate};
use crate::lang::list;
use crate::text;

/// Returns two lines on a found message: its number, author, time and why it was found; its text.
pub fn passage(passage: &Passage, numbering: &Numbering) -> [String; 2] {
    let time = Timestamp::from_millisecond(passage.time).map_or_else(
        |_| String::new(),
        |time| time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string(),
    );
    let why: Vec<String> = passage.reasons.iter().take(2).map(match_reason).collect();
    let number = numbering.count(passage.position);
    let head = format!("{number:>5}  {}  {time}  {}", pad(&role(passage.role), 9), why.join(" · "));
    let words: Vec<&str> = passage.text.split_whitespace().collect();
    let text = truncate(&plain(&words.join(" ")), room(8));
    [truncate(&head, room(1)), format!("       {text}")]
}

/// Returns why a message was found.
pub fn match_reason(reason: &Reason) -> String {
    match reason {
        Reason::Words(words) => text!("recall-words", words = list(&whole_words(words))),
        Reason::Neighbor(_) => text!("recall-neighbor"),
        Reason::Speaker => text!("recall-speaker"),
        Reason::Date => text!("recall-date"),
        Reason::Instruction => text!("recall-instruction"),
        Reason::Preference => text!("recall-preference"),
        Reason::Meaning => text!("recall-meaning"),
        _ => text!("recall-session"),
    }
}

/// Returns the words without those that are a part of a longer one. Words of languages without
/// spaces are searched for in parts too.
fn whole_words(words: &[String]) -> Vec<&str> {
    let is_part = |word: &str| {
        let is_in = |longer: &String| longer.len() > word.len() && longer.contains(word);
        word.chars().any(is_cjk) && words.iter().any(is_in)
    };
    words.iter().map(String::as_str).filter(|word| !is_part(word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_longer_word_is_not_listed() {
        let words = ["密码", "密", "码", "门", "code", "decode"].map(str::to_owned);
        assert_eq!(whole_words(&words), ["密码", "门", "code", "decode"]);
    }
}
