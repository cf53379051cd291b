//! Decides whether a summary is usable. An unusable one is worse than the digest, because it would
//! replace the conversation.

use std::collections::HashSet;

use serde_json::Value;
use waterline::summary::schema::SummaryFormat;
use waterline::summary::{Language, Schema, Wording};
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

/// Why a summary was rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rejection {
    ToolCall,
    Empty,
    Truncated,
    /// It was an apology or an error.
    Refusal,
    /// It repeated the request.
    Echo,
    /// It was longer than what it summarizes.
    Longer,
    NoObject,
    MissingKeys(Vec<String>),
    NoDaily,
    /// It had none of these headings.
    NoHeading(Vec<String>),
}

impl Rejection {
    /// Returns the text for the model, in the language of the prompt.
    pub(crate) fn text(&self, language: Language) -> String {
        let (name, keys): (_, &[String]) = match self {
            Self::ToolCall => ("tool_call", &[]),
            Self::Empty => ("empty", &[]),
            Self::Truncated => ("truncated", &[]),
            Self::Refusal => ("refusal", &[]),
            Self::Echo => ("echo", &[]),
            Self::Longer => ("longer", &[]),
            Self::NoObject => ("no_object", &[]),
            Self::MissingKeys(keys) => ("missing_keys", keys),
            Self::NoDaily => ("no_daily", &[]),
            Self::NoHeading(keys) => ("no_heading", keys),
        };
        Wording::of(language).reason(name, keys).unwrap_or_default()
    }
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

/// Accepts a summary, or returns why it was rejected.
pub(crate) fn check(
    answer: &Answer,
    schema: &Schema,
    replaced_tokens: usize,
    tokens: usize,
) -> Result<Made, Rejection> {
    let texts: Vec<String> =
        answer.messages.iter().map(waterline::message::Message::text).collect();
    let text = texts.join("\n").trim().to_owned();
    if answer.messages.iter().any(|message| message.calls().next().is_some()) {
        return Err(Rejection::ToolCall);
    }
    if text.is_empty() {
        return Err(Rejection::Empty);
    }
    if answer.stop != Stop::End {
        return Err(Rejection::Truncated);
    }
    let lower = text.to_lowercase();
    if text.chars().count() < REFUSAL_CHARS
        && REFUSAL_PREFIXES.iter().any(|prefix| lower.starts_with(prefix))
    {
        return Err(Rejection::Refusal);
    }
    if is_nothing(&text) {
        return Ok(Made::default());
    }
    if echoes(&text, &schema.request) {
        return Err(Rejection::Echo);
    }
    if tokens >= replaced_tokens {
        return Err(Rejection::Longer);
    }
    match schema.form {
        SummaryFormat::Json => json(text, schema),
        SummaryFormat::Sections => sections(&text),
        SummaryFormat::Text => plain(text, schema),
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
fn json(text: String, schema: &Schema) -> Result<Made, Rejection> {
    let tagged = text.split_once("<compact_summary>").map(|(_, rest)| rest);
    let tagged =
        tagged.map(|rest| rest.split_once("</compact_summary>").map_or(rest, |(inner, _)| inner));
    let start = tagged.unwrap_or(&text);
    let object = start.find('{').and_then(|at| start.get(at..));
    let parsed = object
        .and_then(|object| serde_json::Deserializer::from_str(object).into_iter::<Value>().next());
    let Some(Ok(Value::Object(object))) = parsed else {
        return Err(Rejection::NoObject);
    };
    let missing: Vec<String> =
        schema.keys.iter().filter(|key| !object.contains_key(*key)).cloned().collect();
    if missing.is_empty() {
        Ok(Made { text, ..Made::default() })
    } else {
        Err(Rejection::MissingKeys(missing))
    }
}

/// S2.17: one answer for the day's file, the context and the lasting facts.
fn sections(text: &str) -> Result<Made, Rejection> {
    let Some((_, rest)) = text.split_once("[DAILY]") else {
        return Err(Rejection::NoDaily);
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
fn plain(text: String, schema: &Schema) -> Result<Made, Rejection> {
    let lower = text.to_lowercase();
    if schema.keys.is_empty() || schema.keys.iter().any(|key| lower.contains(&key.to_lowercase())) {
        return Ok(Made { text, ..Made::default() });
    }
    Err(Rejection::NoHeading(schema.keys.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use waterline::message::{Message, ToolCall};

    fn answer(text: &str) -> Answer {
        Answer { messages: vec![Message::assistant(text)], stop: Stop::End, ..Answer::default() }
    }

    fn checked(schema: &str, text: &str) -> Result<Made, Rejection> {
        check(&answer(text), &Schema::named(schema).unwrap(), 1_000, 10)
    }

    const EXECUTE: &str = concat!(
        r#"{"generated_components":{},"evaluation_progress":{},"identified_issues":{},"#,
        r#""pending_work":[],"key_paths":{}}"#
    );

    #[test]
    fn unusable_summaries_are_rejected_with_the_reason() {
        for (text, reason) in [
            ("", Rejection::Empty),
            ("   \n", Rejection::Empty),
            ("Error: rate limit reached", Rejection::Refusal),
            ("I'm sorry, but I can't help with that.", Rejection::Refusal),
            ("抱歉，我无法总结。", Rejection::Refusal),
            (
                "We talked about this and that.",
                Rejection::NoHeading(Schema::general().keys.clone()),
            ),
        ] {
            assert_eq!(checked("general", text), Err(reason), "{text:?}");
        }
        let echo = Schema::general()
            .request
            .clone()
            .lines()
            .skip(3)
            .take(4)
            .collect::<Vec<_>>()
            .join("\n");
        for echo in [echo.clone(), echo.to_uppercase(), format!("Here is the summary.\n\n{echo}")] {
            assert_eq!(checked("general", &echo), Err(Rejection::Echo), "{echo}");
        }
        let long = check(&answer("Task: x"), &Schema::general(), 10, 10);
        assert_eq!(long, Err(Rejection::Longer));
        let truncated = Answer { stop: Stop::Length, ..answer("Task: x") };
        let truncated = check(&truncated, &Schema::general(), 100, 10);
        assert_eq!(truncated, Err(Rejection::Truncated));
        let call = Answer {
            messages: vec![Message::assistant_with_calls(
                "",
                [ToolCall::new("1", "read_file", "{}")],
            )],
            ..answer("")
        };
        assert_eq!(check(&call, &Schema::general(), 100, 10), Err(Rejection::ToolCall));
        assert!(
            checked("general", "Error handling was the Task: see src/lib.rs").is_err(),
            "short, and starts like an error"
        );
        let long = format!("Error handling was the Task. {}", "It went well. ".repeat(40));
        assert!(checked("general", &long).is_ok(), "a real summary may start with the word");
    }

    #[test]
    fn every_rejection_has_a_text_in_both_languages() {
        let keys = || vec!["State".to_owned(), "Open".to_owned()];
        let rejections = [
            Rejection::ToolCall,
            Rejection::Empty,
            Rejection::Truncated,
            Rejection::Refusal,
            Rejection::Echo,
            Rejection::Longer,
            Rejection::NoObject,
            Rejection::MissingKeys(keys()),
            Rejection::NoDaily,
            Rejection::NoHeading(keys()),
        ];
        for rejection in rejections {
            let (en, zh) = (rejection.text(Language::English), rejection.text(Language::Chinese));
            assert!(!en.is_empty() && !zh.is_empty() && en != zh, "{rejection:?}: {en} {zh}");
            assert!(!en.contains('{') && !zh.contains('{'), "{rejection:?}: {en} {zh}");
            if let Rejection::MissingKeys(_) | Rejection::NoHeading(_) = rejection {
                assert!(en.contains("State, Open") && zh.contains("State、Open"), "{en} {zh}");
            }
        }
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
        let missing = missing.text(Language::English);
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
