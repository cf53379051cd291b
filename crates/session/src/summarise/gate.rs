//! Whether a summary can be believed. One that cannot is worse than the digest: it would take the
//! place of what was said.

use std::collections::HashSet;

use serde_json::Value;
use waterline::summary::Schema;
use waterline::summary::schema::Form;
use waterline_provider::answer::{Answer, Stop};

/// A summary that may stand in a context, and what of it is for the memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Made {
    /// For the context; empty where the model found nothing worth it.
    pub(crate) text: String,
    /// For the day's file.
    pub(crate) daily: String,
    /// What will still be true later.
    pub(crate) lasting: String,
}

/// Words with which an answer begins that is no summary but an excuse or an error.
const EXCUSES: [&str; 14] = [
    "error",
    "i'm sorry",
    "i am sorry",
    "sorry,",
    "i cannot",
    "i can't",
    "i can’t",
    "as an ai",
    "unable to",
    "{\"error\"",
    "<!doctype",
    "<html",
    "抱歉",
    "对不起",
];

/// An excuse is short; a summary may well begin with the word "error".
const EXCUSE_CHARS: usize = 400;

/// So many words in a row do not stand in the request by chance.
const RUN: usize = 5;

/// The words for "there is nothing worth keeping".
const NOTHING: [&str; 4] = ["none", "nothing", "无", "n/a"];

/// Takes a summary, or says in a sentence for the model what is wrong with it.
pub(crate) fn check(
    answer: &Answer,
    schema: &Schema,
    replaces: usize,
    tokens: usize,
) -> Result<Made, String> {
    let texts: Vec<String> =
        answer.messages.iter().map(waterline::message::Message::text).collect();
    let text = texts.join("\n").trim().to_owned();
    if answer.messages.iter().any(|message| message.calls().next().is_some()) {
        return Err("it called a tool instead of writing the summary".to_owned());
    }
    if text.is_empty() {
        return Err("it was empty".to_owned());
    }
    if answer.stop != Stop::End {
        return Err("it was cut off: write a shorter one".to_owned());
    }
    let lower = text.to_lowercase();
    if text.chars().count() < EXCUSE_CHARS && EXCUSES.iter().any(|excuse| lower.starts_with(excuse))
    {
        return Err("it was no summary but an excuse or an error".to_owned());
    }
    if is_nothing(&text) {
        return Ok(Made::default());
    }
    if echoes(&text, &schema.request) {
        return Err("it repeated the request instead of summing up".to_owned());
    }
    if tokens >= replaces {
        return Err("it was longer than what it sums up".to_owned());
    }
    match schema.form {
        Form::Json => json(text, schema),
        Form::Sections => sections(&text),
        Form::Text => plain(text, schema),
    }
}

/// Whether most of an answer is what was asked, as small models like to answer: told from runs of
/// words, whatever their case.
fn echoes(text: &str, request: &str) -> bool {
    let asked: HashSet<Vec<String>> = runs(request).collect();
    let (mut all, mut same) = (0, 0);
    for run in runs(text) {
        all += 1;
        same += usize::from(asked.contains(&run));
    }
    same * 2 > all
}

fn runs(text: &str) -> impl Iterator<Item = Vec<String>> {
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    (0..(words.len() + 1).saturating_sub(RUN))
        .map(move |at| words.iter().skip(at).take(RUN).cloned().collect())
}

fn is_nothing(text: &str) -> bool {
    let word = text.trim().trim_end_matches(['.', '。']).to_lowercase();
    NOTHING.contains(&word.as_str())
}

/// C1.7, C1.8: the object stands inside the tags, or is the first one in the text; every key must
/// be there.
fn json(text: String, schema: &Schema) -> Result<Made, String> {
    let tagged = text.split_once("<compact_summary>").map(|(_, rest)| rest);
    let tagged =
        tagged.map(|rest| rest.split_once("</compact_summary>").map_or(rest, |(inner, _)| inner));
    let start = tagged.unwrap_or(&text);
    let object = start.find('{').and_then(|at| start.get(at..));
    let parsed = object
        .and_then(|object| serde_json::Deserializer::from_str(object).into_iter::<Value>().next());
    let Some(Ok(Value::Object(object))) = parsed else {
        return Err("it had no JSON object inside <compact_summary>".to_owned());
    };
    let missing: Vec<&str> =
        schema.keys.iter().map(String::as_str).filter(|key| !object.contains_key(*key)).collect();
    if missing.is_empty() {
        Ok(Made { text, ..Made::default() })
    } else {
        Err(format!("these keys were missing: {}", missing.join(", ")))
    }
}

/// S2.17: one answer for the day's file, the context and what lasts.
fn sections(text: &str) -> Result<Made, String> {
    let Some((_, rest)) = text.split_once("[DAILY]") else {
        return Err("it had no section [DAILY]".to_owned());
    };
    let (daily, lasting) = rest.split_once("[MEMORY]").unwrap_or((rest, ""));
    let kept = |text: &str| if is_nothing(text) { String::new() } else { text.trim().to_owned() };
    let (daily, lasting) = (kept(daily), kept(lasting));
    let text = [daily.as_str(), lasting.as_str()].join("\n").trim().to_owned();
    Ok(Made { text, daily, lasting })
}

/// S1.41: at least one of the words that were asked for.
fn plain(text: String, schema: &Schema) -> Result<Made, String> {
    let lower = text.to_lowercase();
    if schema.keys.is_empty() || schema.keys.iter().any(|key| lower.contains(&key.to_lowercase())) {
        return Ok(Made { text, ..Made::default() });
    }
    Err(format!("what was asked for is missing: {}", schema.keys.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use waterline::message::{Message, ToolCall};

    fn answer(text: &str) -> Answer {
        Answer { messages: vec![Message::assistant(text)], stop: Stop::End, ..Answer::default() }
    }

    fn checked(schema: &str, text: &str) -> Result<Made, String> {
        check(&answer(text), &Schema::named(schema).unwrap(), 1_000, 10)
    }

    const EXECUTE: &str = r#"{"generated_components":{},"evaluation_progress":{},"identified_issues":{},"pending_work":[],"key_paths":{}}"#;

    #[test]
    fn what_is_no_summary_is_rejected_with_the_reason() {
        for (text, reason) in [
            ("", "empty"),
            ("   \n", "empty"),
            ("Error: rate limit reached", "excuse"),
            ("I'm sorry, but I can't help with that.", "excuse"),
            ("抱歉，我无法总结。", "excuse"),
            ("We talked about this and that.", "missing"),
        ] {
            assert!(checked("general", text).unwrap_err().contains(reason), "{text:?}");
        }
        let echo = Schema::general().request.clone();
        let echo = echo.lines().skip(3).take(4).collect::<Vec<_>>().join("\n");
        for echo in [echo.clone(), echo.to_uppercase(), format!("Here is the summary.\n\n{echo}")] {
            assert!(checked("general", &echo).unwrap_err().contains("repeated"), "{echo}");
        }
        let long = check(&answer("Task: x"), &Schema::general(), 10, 10).unwrap_err();
        assert!(long.contains("longer"), "{long}");
        let cut = Answer { stop: Stop::Length, ..answer("Task: x") };
        assert!(check(&cut, &Schema::general(), 100, 10).unwrap_err().contains("cut off"));
        let call = Answer {
            messages: vec![Message::assistant_with_calls(
                "",
                [ToolCall::new("1", "read_file", "{}")],
            )],
            ..answer("")
        };
        assert!(check(&call, &Schema::general(), 100, 10).unwrap_err().contains("tool"));
        assert!(
            checked("general", "Error handling was the Task: see src/lib.rs").is_err(),
            "short and begins so"
        );
        let long = format!("Error handling was the Task. {}", "It went well. ".repeat(40));
        assert!(checked("general", &long).is_ok(), "a real summary may begin with the word");
    }

    /// C1.7, C1.8, S1.38: with or without tags and prose around it, but with every key.
    #[test]
    fn c1_7_c1_8_json_is_found_and_its_keys_are_required() {
        for text in [
            format!("Here it is. <compact_summary>{EXECUTE}</compact_summary>"),
            format!("```json\n{EXECUTE}\n```"),
            EXECUTE.to_owned(),
        ] {
            assert_eq!(checked("execute", &text).unwrap().text, text);
        }
        let missing = checked("execute", r#"<compact_summary>{"key_paths":{}}</compact_summary>"#)
            .unwrap_err();
        assert!(missing.contains("pending_work") && !missing.contains("key_paths"), "{missing}");
        assert!(checked("execute", "all is well").is_err());
        assert!(checked("execute", "<compact_summary>{\"a\": </compact_summary>").is_err());
    }

    /// S2.16, S2.17: one answer serves the day's file and the context; 无 means nothing.
    #[test]
    fn s2_17_sections_are_told_apart_and_nothing_is_nothing() {
        let made = checked("daily", "[DAILY]\n- sent order 4711\n[MEMORY]\n- likes tea").unwrap();
        assert_eq!(
            (made.daily.as_str(), made.lasting.as_str()),
            ("- sent order 4711", "- likes tea")
        );
        assert_eq!(made.text, "- sent order 4711\n- likes tea");
        assert_eq!(checked("daily", "[DAILY]\n- x\n[MEMORY]\n无").unwrap().lasting, "");
        for nothing in ["无", "None.", " nothing "] {
            assert_eq!(checked("daily", nothing), Ok(Made::default()));
        }
        assert!(checked("daily", "we sent an order").is_err());
    }
}
