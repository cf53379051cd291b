//! Requests to remember a fact: "remember that the door code is 4711". Only the fact is
//! kept, and not as a rule, because a model would apply a rule to everything.

use std::sync::LazyLock;

use regex::Regex;

use super::{PinKind, patterns};
use crate::pattern::pattern;

/// The request in front of the fact.
const REQUEST: [&str; 2] = [
    r"(?i)^(?:please |also )*(?:remember|keep in mind|bear in mind)(?: that|:| this:)\s+",
    r"^(?:请)?(?:记住|记得|牢记)[：:，,]?\s*",
];

/// How a statement starts, unless with a name or a number.
const SUBJECT: &str = concat!(
    r"(?i)^(?:the|my|our|your|his|her|their|its|an?|this|that|these|those|it|there|i|we|he|",
    r"she|they)\b"
);

/// The verb of a statement.
const VERB: &str = concat!(
    r"(?i)\b(?:is|are|am|was|were|has|have|had|will|lives?|works?|starts?|ends?|costs?|opens?|",
    r"closes?|means?)\b|[=是为有在叫]"
);

/// Words that mark a Chinese request to do something.
const CHINESE_ORDER: &str = "要|请|别|必须|务必|先";

/// Returns the fact in a sentence that asks to remember it. A request that states no fact, such as
/// "remember to use tabs", has none.
#[must_use]
pub fn fact_in(sentence: &str) -> Option<&str> {
    static REQUESTS: LazyLock<[Regex; 2]> = LazyLock::new(|| REQUEST.map(pattern));
    static STATEMENT: LazyLock<[Regex; 3]> =
        LazyLock::new(|| [SUBJECT, VERB, CHINESE_ORDER].map(pattern));
    let found = REQUESTS.iter().find_map(|request| request.find(sentence))?;
    let fact = sentence.get(found.end()..)?.trim_end_matches(['.', '!', '。', '！', ' ']);
    match patterns::kind(&fact.to_lowercase().replace('’', "'")) {
        Some(PinKind::Instruction) => return None,
        Some(PinKind::Preference) => return Some(fact),
        None => {}
    }
    let [subject, verb, chinese_order] = &*STATEMENT;
    let starts_with_name =
        |fact: &str| fact.chars().next().is_some_and(|c| !c.is_lowercase() && c.is_alphanumeric());
    let is_statement = (subject.is_match(fact) || starts_with_name(fact))
        && verb.is_match(fact)
        && !chinese_order.is_match(fact);
    is_statement.then_some(fact)
}

#[cfg(test)]
mod tests {
    use super::fact_in;

    #[test]
    fn facts_are_distinguished_from_orders() {
        for (sentence, expected) in [
            ("remember: the door code is 4711", Some("the door code is 4711")),
            ("Please remember that the deadline is Friday.", Some("the deadline is Friday")),
            ("Keep in mind that Ada works at the mill", Some("Ada works at the mill")),
            ("remember: I prefer tea.", Some("I prefer tea")),
            ("记住：大门密码是4711", Some("大门密码是4711")),
            ("请记住我喜欢茶。", Some("我喜欢茶")),
            ("remember to use tabs", None),
            ("Remember: use tabs where the file is old", None),
            ("Remember that you must never push to main.", None),
            ("记住我的名字。", None),
            ("记住：每次都要先运行测试", None),
            ("The deadline is Friday.", None),
        ] {
            assert_eq!(fact_in(sentence), expected, "{sentence}");
        }
    }
}
