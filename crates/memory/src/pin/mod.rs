//! Sentences that the user wants kept: standing instructions ("always show the cost first") and
//! preferences ("I prefer tabs"). Later questions share no words with them, so search alone misses
//! them.
//!
//! This module recognizes them in one message. Only messages of the user are passed to it; text of
//! tools, files, models and other people never becomes an instruction.

mod fact;
mod patterns;
mod user_text;

use std::sync::LazyLock;

use regex::Regex;

pub use fact::fact_in;

use crate::pattern::pattern;
use crate::script::is_cjk;
use crate::sentence::{CLAUSES, sentences};

/// Of a message longer than `LONG` characters, only the first `START` are read: the rest is pasted.
const LONG: usize = 6_000;
const START: usize = 2_000;
/// Characters of a sentence that are kept.
const SENTENCE: usize = 500;
/// The shortest sentence, in characters; a Chinese character counts as two.
const SHORTEST: usize = 8;

/// What a pinned sentence is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PinKind {
    /// What to do from now on.
    Instruction,
    /// What the user likes or has chosen.
    Preference,
}

/// Returns the standing instructions and the preferences in a message of the user.
#[must_use]
pub fn pins(text: &str) -> Vec<(PinKind, String)> {
    let prose = user_text::without_code_and_tags(text);
    sentences(beginning(&prose), CLAUSES).filter_map(pin).collect()
}

/// Returns the part of a message that may have instructions: of a long one, its beginning.
fn beginning(prose: &str) -> &str {
    if prose.chars().nth(LONG).is_some() { first(prose, START) } else { prose }
}

/// Returns the sentence of a message of the user that is the same as a quoted one, as the user
/// wrote it. A part of a sentence is not enough: without its "never" it says the opposite.
#[must_use]
pub fn sentence_of(text: &str, quoted: &str) -> Option<String> {
    let bare = |text: &str| {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        words.trim_matches(|edge: char| !edge.is_alphanumeric()).replace('’', "'")
    };
    let wanted = bare(quoted);
    let prose = user_text::without_code_and_tags(text);
    let mut sentences = sentences(beginning(&prose), CLAUSES).map(trimmed);
    let found = sentences.find(|sentence| bare(sentence) == wanted)?;
    let lower = found.to_lowercase();
    let is_rule = size(found) >= SHORTEST && !is_code(&lower) && !is_plain_question(&lower);
    is_rule.then(|| found.to_owned())
}

fn trimmed(sentence: &str) -> &str {
    let sentence = sentence.trim_matches([' ', '-', '*', '•', '>', '\t', '\r']);
    first(sentence, SENTENCE)
}

fn pin(sentence: &str) -> Option<(PinKind, String)> {
    let sentence = trimmed(sentence);
    // The patterns are written in lower case with straight apostrophes.
    let lower = sentence.to_lowercase().replace('’', "'");
    if size(sentence) < SHORTEST || is_code(&lower) || is_plain_question(&lower) {
        return None;
    }
    patterns::kind(&lower).map(|kind| (kind, sentence.to_owned()))
}

fn size(sentence: &str) -> usize {
    sentence.chars().map(|character| if is_cjk(character) { 2 } else { 1 }).sum()
}

/// Whether a sentence is a line of code, of a table or a heading.
fn is_code(sentence: &str) -> bool {
    static CODE: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"[{}<>=]{2,}|^\s*[|#$]|[0-9a-z_]\(\)"));
    CODE.is_match(sentence)
}

/// Whether a sentence is a question that states no choice or rule.
fn is_plain_question(sentence: &str) -> bool {
    const CHOICE: [&str; 5] = ["prefer", "rather", "chosen", "always", "never"];
    sentence.ends_with('?') && !CHOICE.iter().any(|word| sentence.contains(word))
}

fn first(text: &str, characters: usize) -> &str {
    let end = text.char_indices().nth(characters).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::PinKind::{Instruction, Preference};
    use super::*;

    fn kinds(text: &str) -> Vec<PinKind> {
        pins(text).into_iter().map(|(kind, _)| kind).collect()
    }

    #[test]
    fn standing_instructions_are_recognized() {
        let instructions = [
            "Always show me the cost first.",
            "Also, never touch the production database.",
            "ok, please always answer in French",
            "You must never commit to main.",
            "From now on use metric units.",
            "Going forward, keep answers short.",
            "Whenever I ask about money, show a table.",
            "Use British spelling in all your answers.",
            "Please don't ever push without asking.",
            "By default, use pnpm.",
            "Remember that the deadline is Friday.",
            "My rule is one change per commit.",
            "以后都用中文回答。",
            "每次都要先运行测试。",
            "记住我的名字。",
            "不要再提交到主分支了。",
        ];
        for text in instructions {
            assert_eq!(kinds(text), [Instruction], "{text}");
        }
    }

    #[test]
    fn quoted_sentence_is_found_as_the_user_wrote_it() {
        let text = "Fix the build. Don’t ever touch prod! ```sh\nNo emojis in commits.\n```";
        let found = |quoted: &str| sentence_of(text, quoted);
        assert_eq!(
            found("- \"Don't ever touch prod.\"").as_deref(),
            Some("Don’t ever touch prod!")
        );
        assert_eq!(found("touch prod"), None, "a part of a sentence");
        assert_eq!(found("No emojis in commits."), None, "code");
        assert_eq!(sentence_of("Shall we deploy now?", "Shall we deploy now?"), None, "a question");
    }

    #[test]
    fn preferences_are_recognized() {
        let preferences = [
            "I prefer tabs.",
            "I’d rather use PostgreSQL.",
            "My personal preference would be tea.",
            "I am leaning towards the second plan.",
            "Mornings work best for me.",
            "I'm sticking with Rust.",
            "I really love long walks.",
            "I hate meetings before ten.",
            "I have decided on the blue one.",
            "My favourite editor is Helix.",
            "I'm allergic to nuts.",
            "I want a list rather than a paragraph.",
            "我喜欢喝茶",
            "我平时习惯早起。",
        ];
        for text in preferences {
            assert_eq!(kinds(text), [Preference], "{text}");
        }
    }

    #[test]
    fn other_sentences_are_not() {
        let others = [
            "Never mind.",
            "Never mind, I found it.",
            "It always rains here in autumn.",
            "I prefer not to say.",
            "How do I sort a list?",
            "Can you always tell them apart from each other?",
            "# Always be careful",
            "| always | never |",
            "always_run() is the function",
            "Remember me?",
        ];
        for text in others {
            assert_eq!(kinds(text), [], "{text}");
        }
    }

    #[test]
    fn an_instruction_is_found_among_other_sentences() {
        let text = "Here is my plan. - Always use UTC; the rest can wait!\nI prefer short names.";
        let expected = [
            (Instruction, "Always use UTC;".to_owned()),
            (Preference, "I prefer short names.".to_owned()),
        ];
        assert_eq!(pins(text), expected);
    }

    #[test]
    fn code_and_tags_of_clients_are_not_read() {
        let text = "Fix this:\n```\nAlways do X here\n```\n<system-reminder>\nAlways obey \
            me.\n</system-reminder> <command-name>always run this</command-name>";
        assert_eq!(kinds(text), []);
        assert_eq!(kinds("```\nAlways do X here"), []);
        assert_eq!(kinds("<system-reminder>\nAlways obey me."), []);
        assert_eq!(kinds("<b>x</b>\nAlways use UTC."), [Instruction]);
    }

    #[test]
    fn the_end_of_a_long_message_is_not_read() {
        let filler = "Some pasted text. ".repeat(400);
        assert_eq!(kinds(&format!("{filler}\nAlways use UTC.")), []);
        assert_eq!(kinds(&format!("Always use UTC.\n{filler}")), [Instruction]);
    }
}
