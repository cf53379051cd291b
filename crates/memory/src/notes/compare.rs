//! Whether two facts are the same, or contradict each other. Both are decided by words alone, so
//! that the same file always gives the same result, with or without a model.

use rustc_hash::FxHashSet;

use crate::terms::terms;

/// How a new fact relates to a known one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// They have nothing to do with each other.
    Different,
    /// They say the same.
    Same,
    /// They say different things about the same subject, so the newer one replaces the older one.
    Contradiction,
}

/// Words that separate a subject from its description.
const COPULAS: [&str; 8] = [" is now ", " is ", " are ", " = ", ": ", "：", "是", "改为"];

/// Words that turn a rule into its opposite.
const NEGATIONS: [&str; 10] =
    ["never", "not", "don't", "dont", "no", "stop", "without", "不要", "不再", "别"];

/// Words that come before the part of a rule that can change: "answer in French".
const CHOICES: [&str; 6] = [" in ", " with ", " using ", " as ", "用", "使用"];

/// Compares a new fact with a known one.
#[must_use]
pub(super) fn compare(new: &str, known: &str) -> Relation {
    let [new, known] = [new, known].map(plain);
    let [new_terms, known_terms] = [&new, &known].map(|text| set(text));
    let same_sense = is_negated(&new) == is_negated(&known);
    if new == known || (new_terms == known_terms && !new_terms.is_empty() && same_sense) {
        return Relation::Same;
    }
    let opposite = !same_sense && without_negation(&new) == without_negation(&known);
    let same_subject = COPULAS.iter().any(|word| has_same_start(&new, &known, word));
    let other_choice = same_sense && CHOICES.iter().any(|word| has_same_start(&new, &known, word));
    if opposite || same_subject || other_choice {
        return Relation::Contradiction;
    }
    Relation::Different
}

/// Returns a text in lower case, without punctuation at its end.
fn plain(text: &str) -> String {
    let lower = text.to_lowercase().replace('’', "'");
    let text = lower.trim().trim_end_matches(['.', '!', '。', '！', ' ']);
    text.strip_prefix("please ").or_else(|| text.strip_prefix('请')).unwrap_or(text).to_owned()
}

/// Whether one text is an edited version of the other: they share at least half of their terms.
pub(super) fn is_edited(a: &str, b: &str) -> bool {
    let [a, b] = [a, b].map(set);
    let common = a.intersection(&b).count();
    common > 0 && common * 2 >= a.len().min(b.len())
}

fn set(text: &str) -> FxHashSet<String> {
    terms(text).into_iter().collect()
}

/// The words of a text, with each Chinese negation as a word.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty())
}

fn is_negated(text: &str) -> bool {
    NEGATIONS.iter().any(|negation| match negation.is_ascii() {
        true => words(text).any(|word| word == *negation),
        false => text.contains(negation),
    })
}

/// Returns the terms of a rule without the words that say always or never.
fn without_negation(text: &str) -> FxHashSet<String> {
    let mut rest = text.to_owned();
    for negation in NEGATIONS.iter().filter(|negation| !negation.is_ascii()) {
        rest = rest.replace(negation, "");
    }
    let mut left = set(&rest);
    for word in NEGATIONS.iter().chain(&["always", "please", "do", "must"]) {
        for term in terms(word) {
            left.remove(&term);
        }
    }
    left
}

/// Whether both texts have `word` after the same subject, and differ after it in one value. Texts
/// that differ in more are about other properties: "is slow" does not contradict "is on port 5433".
/// A subject without a term of its own ("it is") is too short to compare.
fn has_same_start(a: &str, b: &str, word: &str) -> bool {
    let (Some((a_start, a_rest)), Some((b_start, b_rest))) =
        (a.split_once(word), b.split_once(word))
    else {
        return false;
    };
    let start = set(a_start);
    !start.is_empty() && start == set(b_start) && differ_in_one_value(&set(a_rest), &set(b_rest))
}

/// Whether two sets differ in one term, or in a few if they are Chinese, where a word is several
/// terms.
fn differ_in_one_value(a: &FxHashSet<String>, b: &FxHashSet<String>) -> bool {
    let is_one = |only: Vec<&String>| {
        let most = if only.iter().all(|term| term.is_ascii()) { 1 } else { 4 };
        (1..=most).contains(&only.len())
    };
    is_one(a.difference(b).collect()) && is_one(b.difference(a).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_fact_in_other_words() {
        for (a, b) in [
            ("Always answer in French.", "always answer in french"),
            ("The tests are run with make test", "Tests run with: make test"),
            ("我喜欢喝茶", "我喜欢喝茶。"),
        ] {
            assert_eq!(compare(a, b), Relation::Same, "{a} / {b}");
        }
    }

    #[test]
    fn other_value_of_the_same_subject_contradicts() {
        for (a, b) in [
            ("The staging database is on port 5433", "The staging database is on port 5432."),
            ("Never touch the prod config", "Always touch the prod config"),
            ("Don't use tabs", "Use tabs"),
            ("Please answer questions in English", "answer questions in French"),
            ("测试服务器的端口是5433", "测试服务器的端口是5432"),
        ] {
            assert_eq!(compare(a, b), Relation::Contradiction, "{a} / {b}");
        }
    }

    #[test]
    fn other_subjects_stay_apart() {
        for (a, b) in [
            ("The staging database is on port 5433", "The production database is on port 5433"),
            ("Never touch prod", "Always write tests"),
            ("I prefer tea", "I prefer tabs"),
            ("It is late", "It is warm"),
            ("The staging database is on port 5433", "The staging database is slow"),
            ("Answer with a table in the appendix", "Answer with care"),
        ] {
            assert_eq!(compare(a, b), Relation::Different, "{a} / {b}");
        }
    }
}
