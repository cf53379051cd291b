//! The patterns of standing instructions and preferences, in English and Chinese. They match one
//! sentence in lower case.

use std::sync::LazyLock;

use regex::Regex;
use regex_automata::meta;

use super::PinKind;
use crate::pattern::{ascii_boundaries, pattern};

const INSTRUCTION: [&str; 14] = [
    concat!(
        r"^(?:also,? |and |so |ok(?:ay)?[,!. ]+|please |pls |hey[, ]+|hi[, ]+)*(?:always|",
        r"never)\s+[a-z]"
    ),
    concat!(
        r"\b(?:please|you (?:should|must|need to|can|have to)|make sure (?:to|you|that you)|",
        r"be sure to|remember to|i(?:'d| would) like you to|i want you to|i need you ",
        r"to)\s+(?:always|never)\b"
    ),
    concat!(
        r"\b(?:from now on|going forward|from here on|from this point|in (?:the )?future,|for ",
        r"(?:all )?future (?:responses|answers|messages|requests|sessions)|henceforth)\b"
    ),
    concat!(
        r"\b(?:whenever|every time|each time|any ?time|when) (?:i|we) (?:ask|request|say|",
        r"mention|talk|want|share|send|discuss|inquire)\b"
    ),
    concat!(
        r"\b(?:for|in) (?:all|every|each|any) (?:of )?(?:your |my |the |future ",
        r")?(?:responses?|answers?|repl(?:y|ies)|messages?|code snippets?|examples?|commits?|",
        r"summar(?:y|ies))\b"
    ),
    r"^(?:please |also )*(?:don'?t|do not) ever\b",
    r"\bby default,? (?:use|include|answer|reply|write|show|do|don'?t|assume|please|you)\b",
    r"^(?:please |also )*(?:remember|keep in mind|bear in mind)(?: that|:|,| to)",
    r"\bstanding (?:rule|instruction|order)\b",
    r"\bmy (?:rule|requirement|instruction)s? (?:is|are)\b",
    r"(?:^|[，。！,!])\s*(?:请)?(?:以后|今后|从现在(?:起|开始)|往后).{0,12}(?:都|请|不要|别|必须|一律)",
    r"(?:永远|千万|一律|务必|每次(?:都|要)|默认).{0,12}(?:不要|别|要|用|先|都)",
    r"^(?:请)?(?:记住|记得|牢记)",
    r"不要再|别再",
];

const PREFERENCE: [&str; 15] = [
    r"\bmy (?:[0-9]+(?:st|nd|rd|th) |own |personal |general |strong |main |usual )*preference",
    r"\bi(?:'d| would) (?:much )?rather\b",
    r"\b(?:like|as) i prefer\b",
    r"\bi(?:'m| am)? (?:lean(?:ing)?|inclined|used to|tend(?:ing)?) (?:to|towards?)\b",
    r"\b(?:works? best|easier|more natural) for me\b",
    r"\bi(?:'m| am) (?:sticking|going) with\b",
    concat!(
        r"\bpreferred (?:way|style|format|tool|approach|method)\b|\bi favou?r\b|",
        r"\bfavou?r(?:ing)? .{0,40} over\b"
    ),
    concat!(
        r"\bi (?:really |absolutely |also |just |always |usually |typically |generally |tend ",
        r"to |never |personally )+(?:like|love|hate|enjoy|use|avoid|keep|write|choose|go ",
        r"for|stick|work|eat|drink)\b"
    ),
    concat!(
        r"\bi (?:really |absolutely |always |usually |typically |generally |never |",
        r"personally )+want\b"
    ),
    concat!(
        r"\bi (?:hate|dislike|can'?t stand|avoid|don'?t like|do not like|don'?t want to ",
        r"(?:use|rely))\b"
    ),
    concat!(
        r"\bi(?:'ve| have)? (?:chosen|decided|opted|chose|insist(?:ed)?|committed) (?:to|on|",
        r"for|against|not)\b"
    ),
    r"\bmy (?:insistence|favou?rite|go-to|default|usual|policy|habit|goal is|priority is)\b",
    concat!(
        r"\bi(?:'m| am) (?:allergic|vegan|vegetarian|intolerant|more comfortable|comfortable ",
        r"with|a fan of|not a fan)\b"
    ),
    concat!(
        r"\b(?:rather than|instead of|over)\b.*\bi (?:want|like|need|value)\b|\bi (?:want|",
        r"like|value)\b.*\b(?:rather than|instead of)\b"
    ),
    r"我(?:更|比较|最|特别|一直|平时|一般|通常)?(?:喜欢|偏好|偏爱|讨厌|习惯|不喜欢|不吃|爱吃|爱喝|过敏)|我宁愿|我的(?:偏好|习惯|爱好|最爱)",
];

/// "I prefer", unless "not to say" follows it.
const PREFER: &str = concat!(
    r"\bi(?:'m| am|'ve| have|'d| would|'ll| will)?\s+(?:[0-9a-z_]+ly |kinda |also |still |",
    r"just |generally |definitely |much |more |always |usually |personally )*prefer(?:red|",
    r"s)?\b"
);

/// "Never mind" takes back a request; it is not a rule.
const NEVER_MIND: &str = r"^(?:[a-z]+[,!. ]+)*never mind\b";

/// "I'd rather be safe than sorry" says nothing about what the user likes.
const IDIOM: &str = "safe than sorry";

/// Returns what a sentence in lower case is. An instruction is tried first.
pub(super) fn kind(sentence: &str) -> Option<PinKind> {
    static INSTRUCTIONS: LazyLock<meta::Regex> = LazyLock::new(|| any_of(&INSTRUCTION));
    static PREFERENCES: LazyLock<meta::Regex> = LazyLock::new(|| any_of(&PREFERENCE));
    static TAKEN_BACK: LazyLock<Regex> = LazyLock::new(|| pattern(NEVER_MIND));
    if INSTRUCTIONS.is_match(sentence) && !TAKEN_BACK.is_match(sentence) {
        Some(PinKind::Instruction)
    } else if (prefers(sentence) || PREFERENCES.is_match(sentence)) && !sentence.contains(IDIOM) {
        Some(PinKind::Preference)
    } else {
        None
    }
}

fn prefers(sentence: &str) -> bool {
    static PATTERN: LazyLock<Regex> = LazyLock::new(|| pattern(PREFER));
    PATTERN.find_iter(sentence).any(|found| {
        let after = sentence.get(found.end()..).unwrap_or_default();
        !after.starts_with(" not to say")
    })
}

/// Returns an expression that matches where any of the patterns does. It has no prefilter, which
/// would take 2 MB for the beginnings of these patterns and gain nothing in short sentences.
#[expect(clippy::expect_used, reason = "a pattern of the program that is wrong fails every test")]
fn any_of(patterns: &[&str]) -> meta::Regex {
    let patterns: Vec<String> = patterns.iter().map(|text| ascii_boundaries(text)).collect();
    let config = meta::Config::new().auto_prefilter(false);
    let built = meta::Regex::builder().configure(config).build_many(&patterns);
    built.expect("the patterns of the program compile")
}
