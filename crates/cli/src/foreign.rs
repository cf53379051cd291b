//! Texts that exist in English only: errors of other libraries and of the operating system, some of
//! which name types of the code, and the results of failed calls, which the model reads. The usual
//! ones are recognized by their wording and have texts in `locales/`; the rest is quoted.
//!
//! In a wording `{}` is a value, `{#}` a number, `{,}` a list, and `{*}` a value that is itself a
//! wording. The texts have the values as `$a`, `$b` and `$c`. The first wording that fits is used.

mod libraries;
mod results;

use fluent_bundle::FluentArgs;
use waterline_config::Lang;

use crate::lang::{self, relist_in};

/// Wordings and the ids of their texts.
type Wordings = [(&'static str, &'static str)];

/// Returns a text of another library in the chosen language; `None` if there is no other text for
/// it.
pub fn find(text: &str) -> Option<String> {
    find_in(libraries::WORDINGS, lang::lang(), text)
}

/// Returns a text of another library in the chosen language, or as it is.
pub fn foreign(text: &str) -> String {
    find(text).unwrap_or_else(|| text.to_owned())
}

/// Returns a line of a failed call's result in the chosen language, or as it is.
pub fn failed(text: &str) -> String {
    find_in(results::FAILED, lang::lang(), text).unwrap_or_else(|| text.to_owned())
}

/// Returns the first line of a successful call's result in the chosen language, or as it is.
pub fn done(text: &str) -> String {
    find_in(results::DONE, lang::lang(), text).unwrap_or_else(|| text.to_owned())
}

fn find_in(wordings: &Wordings, language: Lang, text: &str) -> Option<String> {
    wordings.iter().find_map(|(wording, id)| {
        let mut arguments = FluentArgs::new();
        for (name, (kind, value)) in ["a", "b", "c"].into_iter().zip(values(wording, text)?) {
            let known = match kind {
                Kind::Wording => find_value(wordings, language, value),
                Kind::List => Some(relist_in(language, value)),
                Kind::Any | Kind::Number => None,
            };
            arguments.set(name, known.unwrap_or_else(|| value.to_owned()));
        }
        lang::find_in(language, id, &arguments)
    })
}

/// Finds a value that is itself a wording. A failed call may quote an error of a library.
fn find_value(wordings: &Wordings, language: Lang, value: &str) -> Option<String> {
    let libraries = || find_in(libraries::WORDINGS, language, value);
    find_in(wordings, language, value).or_else(libraries)
}

/// The kind of a value in a wording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Any,
    Number,
    List,
    Wording,
}

/// Splits a wording into its first words, and for each value its kind and the words after it.
fn parts(wording: &str) -> (&str, Vec<(Kind, &str)>) {
    let kinds =
        [("{}", Kind::Any), ("{#}", Kind::Number), ("{,}", Kind::List), ("{*}", Kind::Wording)];
    let next = |rest: &str| {
        let found = kinds.iter().filter_map(|(mark, kind)| Some((rest.find(mark)?, mark, *kind)));
        found.min_by_key(|(at, ..)| *at)
    };
    let first = next(wording).map_or(wording.len(), |(at, ..)| at);
    let (start, mut rest) = wording.split_at(first);
    let mut values = Vec::new();
    while let Some((_, mark, kind)) = next(rest) {
        rest = rest.get(mark.len()..).unwrap_or_default();
        let (words, after) = rest.split_at(next(rest).map_or(rest.len(), |(at, ..)| at));
        values.push((kind, words));
        rest = after;
    }
    (start, values)
}

/// Returns the values of a text that has this wording.
fn values<'t>(wording: &str, text: &'t str) -> Option<Vec<(Kind, &'t str)>> {
    let (start, parts) = parts(wording);
    let mut rest = text.strip_prefix(start)?;
    let mut values = Vec::new();
    for (at, (kind, words)) in parts.iter().enumerate() {
        let (value, after) = match *words {
            "" => (rest, ""),
            words if at + 1 == parts.len() => (rest.strip_suffix(words)?, ""),
            words => rest.split_once(words)?,
        };
        let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        if *kind == Kind::Number && !is_number {
            return None;
        }
        values.push((*kind, value));
        rest = after;
    }
    rest.is_empty().then_some(values)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn chinese(text: &str) -> String {
        find_in(libraries::WORDINGS, Lang::Zh, text).unwrap_or_default()
    }

    #[test]
    fn errors_of_parsers_are_recognized() {
        let json = |text: &str| serde_json::from_str::<Vec<u32>>(text).unwrap_err().to_string();
        for text in ["[1", "[1 2]", "[1,]", "{}", "[-1]", "[\"a\"]", "[1] x", "["] {
            let shown = chinese(&json(text));
            assert!(shown.starts_with("第 1 行第 "), "{text}: {} {shown}", json(text));
            assert!(!shown.contains("expected"), "{text}: {} {shown}", json(text));
        }
        let number = "x".parse::<u64>().unwrap_err().to_string();
        assert_eq!(chinese(&number), "不是数字");
        for text in ["a = ", "a = [1", "a b", "a = x", "[a", "= 1"] {
            let error = text.parse::<toml::Table>().unwrap_err();
            let shown = chinese(error.message());
            assert!(!shown.is_empty(), "{text}: {}", error.message());
        }
    }

    #[test]
    fn english_texts_name_no_types_of_the_code() {
        let english = |text: &str| find_in(libraries::WORDINGS, Lang::En, text);
        let ended = serde_json::from_str::<u32>("[1").unwrap_err().to_string();
        assert!(english(&ended).is_some_and(|text| text.starts_with("line 1, column ")), "{ended}");
        let error = serde_json::from_str::<Vec<u32>>("[1").unwrap_err().to_string();
        assert_eq!(english(&error).unwrap(), "line 1, column 2: unexpected end of input");
        let error = serde_json::from_str::<Vec<u32>>("[\"a\"]").unwrap_err().to_string();
        let shown = english(&error).unwrap();
        assert_eq!(shown, "line 1, column 4: expected a whole number, found string \"a\"");
        assert_eq!(english("No such file or directory"), None, "clear as it is");
    }

    #[test]
    fn values_are_taken_from_the_text() {
        let values = |wording, text| {
            let found = values(wording, text)?;
            Some(found.into_iter().map(|(_, value)| value).collect::<Vec<_>>())
        };
        let position = "{*} at line {#} column {#}";
        assert_eq!(values(position, "x at line 1 column 2").unwrap(), ["x", "1", "2"]);
        assert_eq!(values(position, "x at line 1 column 2). Or so: T"), None);
        assert_eq!(
            values("unknown field `{}`, expected {}", "unknown field `a`, expected `b`").unwrap(),
            ["a", "`b`"]
        );
        assert_eq!(values("missing field `{}`", "missing field `a` or so"), None);
        assert_eq!(values("duplicate key", "duplicate key here"), None);
        // A name that reads like a wording stays a name.
        assert!(chinese("missing field `null`").contains("null"));
        assert_eq!(find_in(libraries::WORDINGS, Lang::Zh, "something else"), None);
    }

    #[test]
    fn failed_calls_are_recognized() {
        let chinese = |text: &str| find_in(results::FAILED, Lang::Zh, text);
        assert_eq!(
            chinese("Not run: at most 32 calls are run per message.").unwrap(),
            "未执行：每条消息最多执行 32 次调用"
        );
        assert_eq!(chinese("notes.txt does not exist").unwrap(), "notes.txt 不存在");
        let of_a_program = "compile: expected value at line 1 column 2";
        assert_eq!(chinese(of_a_program), None);
        assert_eq!(
            chinese("Not run: the turn must end (the limit of 1 model call per turn was reached).")
                .unwrap(),
            "未执行：本轮必须结束（已达到每轮 1 次模型调用的上限）"
        );
        let arguments =
            "Invalid arguments for now: missing field `a`. They must match this schema: {}";
        assert_eq!(chinese(arguments).unwrap(), "now 的参数无效：缺少字段 `a`");
    }

    /// The first wording that fits is used, so a general one must not come before a special one.
    #[test]
    fn each_wording_is_found_by_its_own_text() {
        for wordings in [libraries::WORDINGS, results::FAILED, results::DONE] {
            for (wording, id) in wordings {
                let text = ["{}", "{,}", "{*}"]
                    .into_iter()
                    .fold(wording.replace("{#}", "7"), |text, mark| text.replace(mark, "x1"));
                let found = wordings.iter().find(|(wording, _)| values(wording, &text).is_some());
                assert_eq!(found.map(|(_, id)| id), Some(id), "{text}");
            }
        }
    }

    #[test]
    fn every_wording_has_a_text_and_every_text_a_wording() {
        let catalog = include_str!("../locales/zh/foreign.ftl");
        let texts: BTreeSet<&str> = catalog
            .lines()
            .filter_map(|line| line.split_once(" =").map(|(id, _)| id))
            .filter(|id| id.starts_with("foreign-"))
            .collect();
        let all = libraries::WORDINGS.iter().chain(results::FAILED).chain(results::DONE);
        let used: BTreeSet<&str> = all.map(|(_, id)| *id).collect();
        assert_eq!(texts, used);
    }
}
