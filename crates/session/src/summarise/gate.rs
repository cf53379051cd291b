//! Decides whether a summary is usable. An unusable one is worse than the digest, because it would
//! replace the conversation.

use std::collections::HashSet;

use serde_json::Value;
use waterline::summary::Schema;
use waterline::summary::schema::Form;
use waterline_provider::answer::{Answer, Stop};

/// An accepted summary, with its parts for the memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Made {
    /// For the context; empty if the model found nothing worth keeping.
    pub(crate) text: String,
    /// For the day's file.
    pub(crate) daily: String,
    /// Facts that stay true.
    pub(crate) lasting: String,
    /// Sentences that the model takes for standing instructions of the user.
    pub(crate) rules: Vec<String>,
}

/// How an answer starts that is an apology or an error instead of a summary.
const REFUSAL_PREFIXES: [&str; 14] = [
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

/// Longer answers are not refusals; a real summary may start with the word "error".
const REFUSAL_CHARS: usize = 400;

/// The length of a word sequence that does not match the request by chance.
const RUN_WORDS: usize = 5;

/// Answers that mean "nothing worth keeping".
const NOTHING: [&str; 4] = ["none", "nothing", "无", "n/a"];

/// Accepts a summary, or returns why it was rejected, in a text for the model.
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
        return Err("it was truncated; write a shorter summary".to_owned());
    }
    let lower = text.to_lowercase();
    if text.chars().count() < REFUSAL_CHARS
        && REFUSAL_PREFIXES.iter().any(|prefix| lower.starts_with(prefix))
    {
        return Err("it was an apology or an error, not a summary".to_owned());
    }
    if is_nothing(&text) {
        return Ok(Made::default());
    }
    if echoes(&text, &schema.request) {
        return Err("it repeated the request instead of summarizing".to_owned());
    }
    if tokens >= replaces {
        return Err("it was longer than the text it summarizes".to_owned());
    }
    match schema.form {
        Form::Json => json(text, schema),
        Form::Sections => sections(&text),
        Form::Text => plain(text, schema),
    }
}

/// Whether most of an answer repeats the request, as small models tend to do. Compares word
/// sequences, ignoring case.
fn echoes(text: &str, request: &str) -> bool {
    let request: HashSet<Vec<String>> = runs(request).collect();
    let runs: Vec<Vec<String>> = runs(text).collect();
    let repeated = runs.iter().filter(|run| request.contains(*run)).count();
    repeated * 2 > runs.len()
}

fn runs(text: &str) -> impl Iterator<Item = Vec<String>> {
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    (0..(words.len() + 1).saturating_sub(RUN_WORDS))
        .map(move |at| words.iter().skip(at).take(RUN_WORDS).cloned().collect())
}

fn is_nothing(text: &str) -> bool {
    let word = text.trim().trim_end_matches(['.', '。']).to_lowercase();
    NOTHING.contains(&word.as_str())
}

/// C1.7, C1.8: the object is inside the tags, or the first one in the text. Every key is required.
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
        Err(format!("it lacked these keys: {}", missing.join(", ")))
    }
}

/// S2.17: one answer for the day's file, the context and the lasting facts.
fn sections(text: &str) -> Result<Made, String> {
    let Some((_, rest)) = text.split_once("[DAILY]") else {
        return Err("it had no [DAILY] section".to_owned());
    };
    let (rest, rules) = rest.split_once("[RULES]").unwrap_or((rest, ""));
    let (before, after) = rest.split_once("[MEMORY]").unwrap_or((rest, ""));
    let content = |text: &str| {
        if is_nothing(text) { String::new() } else { text.trim().to_owned() }
    };
    let daily = content(before);
    let lasting = content(after);
    let rules = content(rules).lines().map(str::to_owned).collect();
    let text = [daily.as_str(), lasting.as_str()].join("\n").trim().to_owned();
    Ok(Made { text, daily, lasting, rules })
}

/// S1.41: at least one of the required keys must appear.
fn plain(text: String, schema: &Schema) -> Result<Made, String> {
    let lower = text.to_lowercase();
    if schema.keys.is_empty() || schema.keys.iter().any(|key| lower.contains(&key.to_lowercase())) {
        return Ok(Made { text, ..Made::default() });
    }
    Err(format!("required content was missing, such as: {}", schema.keys.join(", ")))
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

    const EXECUTE: &str = concat!(
        r#"{"generated_components":{},"evaluation_progress":{},"identified_issues":{},"#,
        r#""pending_work":[],"key_paths":{}}"#
    );

    #[test]
    fn unusable_summaries_are_rejected_with_the_reason() {
        for (text, reason) in [
            ("", "empty"),
            ("   \n", "empty"),
            ("Error: rate limit reached", "apology"),
            ("I'm sorry, but I can't help with that.", "apology"),
            ("抱歉，我无法总结。", "apology"),
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
        let truncated = Answer { stop: Stop::Length, ..answer("Task: x") };
        assert!(check(&truncated, &Schema::general(), 100, 10).unwrap_err().contains("truncated"));
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
            "short, and starts like an error"
        );
        let long = format!("Error handling was the Task. {}", "It went well. ".repeat(40));
        assert!(checked("general", &long).is_ok(), "a real summary may start with the word");
    }

    /// C1.7, C1.8, S1.38: tags and surrounding prose are optional, but every key is required.
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
    fn s2_17_sections_are_split_and_nothing_gives_an_empty_summary() {
        let made = checked("daily", "[DAILY]\n- sent order 4711\n[MEMORY]\n- likes tea").unwrap();
        assert_eq!(
            (made.daily.as_str(), made.lasting.as_str()),
            ("- sent order 4711", "- likes tea")
        );
        assert_eq!(made.text, "- sent order 4711\n- likes tea");
        assert_eq!(checked("daily", "[DAILY]\n- x\n[MEMORY]\n无").unwrap().lasting, "");
        let ruled = "[DAILY]\n- x\n[MEMORY]\nnone\n[RULES]\n- No emojis.\n- Ask first.";
        let made = checked("daily", ruled).unwrap();
        assert_eq!((made.text.as_str(), made.lasting.as_str()), ("- x", ""));
        assert_eq!(made.rules, ["- No emojis.", "- Ask first."]);
        assert!(checked("daily", "[DAILY]\n- x\n[RULES]\n无").unwrap().rules.is_empty());
        for nothing in ["无", "None.", " nothing "] {
            assert_eq!(checked("daily", nothing), Ok(Made::default()));
        }
        assert!(checked("daily", "we sent an order").is_err());
    }
}
