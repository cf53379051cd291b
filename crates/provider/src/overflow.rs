//! Recognizes from a provider's error text that a prompt was too long, and reads the window from
//! it.
//!
//! This module only reads errors; recovery is the caller's job. A server that silently truncates a
//! prompt sends no error: that shows only in the reported token usage.

use waterline::json::{self, Fields};

/// A prompt was too long for the model's context window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overflow {
    /// The size of the window in tokens, if the provider reported it.
    pub window: Option<usize>,
    /// The size of the prompt in the provider's tokens, if reported.
    pub prompt: Option<usize>,
}

/// Where a number is, relative to the phrase that marks an overflow.
#[derive(Clone, Copy)]
enum NumberAt {
    /// The n-th number after the phrase, from 1.
    After(usize),
    /// The last number before the phrase.
    Before,
    Nowhere,
}

use NumberAt::{After, Before, Nowhere};

/// Phrases that mark an overflow, in lower case, and where window and prompt are. The first match
/// counts, so phrases with numbers come first.
const PHRASES: &[(&str, NumberAt, NumberAt)] = &[
    // Anthropic
    ("prompt is too long", After(2), After(1)),
    ("exceed context limit", Nowhere, Nowhere),
    ("request_too_large", Nowhere, Nowhere),
    // vLLM, before the phrase that it shares with OpenAI
    ("is longer than the maximum model length of", After(1), Before),
    // OpenAI, Azure, OpenRouter, vLLM
    ("maximum context length is", After(1), Nowhere),
    ("input tokens exceed the configured limit", After(1), After(2)),
    ("exceeds the context window", Nowhere, Nowhere),
    ("context_length_exceeded", Nowhere, Nowhere),
    // Gemini, Vertex
    ("exceeds the maximum number of tokens allowed", After(1), Before),
    ("request payload size exceeds", Nowhere, Nowhere),
    // llama.cpp
    ("exceeds the available context size", After(1), Before),
    ("exceed_context_size_error", Nowhere, Nowhere),
    ("context size has been exceeded", Nowhere, Nowhere),
    ("context shift is disabled", Nowhere, Nowhere),
    // GitHub Copilot
    ("exceeds the limit of", After(1), Before),
    ("model_max_prompt_tokens_exceeded", Nowhere, Nowhere),
    // Mistral, Cerebras, xAI, SGLang
    ("too large for model with", After(1), Nowhere),
    ("while limit is", After(1), Before),
    ("maximum prompt length is", After(1), Nowhere),
    ("is longer than the model's context length", After(1), Before),
    // Groq, Kimi, MiniMax, LM Studio, Ollama
    ("reduce the length of the messages", Nowhere, Nowhere),
    ("exceeded model token limit", Nowhere, Nowhere),
    ("context window exceeds limit", Nowhere, Nowhere),
    ("greater than the context length", Nowhere, Nowhere),
    ("the prompt is longer than the context length", Nowhere, Nowhere),
    // Together, Hugging Face, SageMaker, Cohere, AI21, Aleph Alpha, Bedrock
    ("`inputs` tokens + `max_new_tokens` must be <=", After(1), Nowhere),
    ("length limit exceeded", Nowhere, Nowhere),
    ("longer than the model's maximum context length", Nowhere, Nowhere),
    ("input is too long for requested model", Nowhere, Nowhere),
    ("too many input tokens", Nowhere, Nowhere),
    ("too many tokens", Nowhere, Nowhere),
    ("expected maxlength:", Nowhere, Nowhere),
    ("prompt: length: 1..", Nowhere, Nowhere),
    // A stop reason that some send as an error
    ("model_context_window_exceeded", Nowhere, Nowhere),
];

/// Phrases of errors that look like an overflow but are not: rate limits, or another field that is
/// too long.
const NOT_OVERFLOW: &[&str] = &[
    "rate limit",
    "rate_limit",
    "too many requests",
    "string_above_max_length",
    "string too long",
    "tokens per minute",
];

/// Prefixes of such errors.
const NOT_OVERFLOW_PREFIXES: &[&str] = &["throttling error:", "service unavailable:"];

/// Reads an overflow from a provider's error; `None` for any other error. `status` is the HTTP
/// status, if there is one: an error in the middle of a stream has none.
#[must_use]
pub fn overflow(status: Option<u16>, body: &str) -> Option<Overflow> {
    let text = body.to_lowercase();
    let is_other = NOT_OVERFLOW.iter().any(|phrase| text.contains(phrase))
        || NOT_OVERFLOW_PREFIXES.iter().any(|prefix| text.trim_start().starts_with(prefix));
    if status == Some(429) || is_other {
        return None;
    }
    if let Some(found) = PHRASES.iter().find_map(|entry| read(&text, entry)) {
        return Some(with_fields(found, body));
    }
    // Cerebras sends an empty 400; Anthropic's edge sends 413 for a body that is too large.
    let is_empty_refusal = body.trim().is_empty() && matches!(status, Some(400 | 413));
    (is_empty_refusal || status == Some(413)).then(Overflow::default)
}

fn read(text: &str, &(phrase, window, prompt): &(&str, NumberAt, NumberAt)) -> Option<Overflow> {
    let (before, after) = text.split_once(phrase)?;
    let number = |position| match position {
        After(n) => numbers(after).nth(n - 1),
        Before => numbers(before).last(),
        Nowhere => None,
    };
    Some(Overflow { window: number(window), prompt: number(prompt) })
}

/// Fills in numbers that llama.cpp reports as JSON fields.
fn with_fields(found: Overflow, body: &str) -> Overflow {
    let body = Fields::parse(body);
    let error = body.as_ref().and_then(|fields| fields.get("error")).and_then(Fields::parse);
    let number = |name: &str| {
        let fields = [error.as_ref(), body.as_ref()].into_iter().flatten();
        fields.filter_map(|fields| fields.get(name)).find_map(|value| value.parse().ok())
    };
    Overflow {
        window: found.window.or_else(|| number("n_ctx")),
        prompt: found.prompt.or_else(|| number("n_prompt_tokens")),
    }
}

/// Iterates over the integers in a text, including those with thousands separators.
fn numbers(text: &str) -> impl Iterator<Item = usize> {
    let is_part = |c: char| c.is_ascii_digit() || c == ',' || c == '_';
    text.split(move |c| !is_part(c)).filter_map(|run| run.replace([',', '_'], "").parse().ok())
}

/// Maximum number of characters of the message in an error body.
const MESSAGE_CHARS: usize = 1_000;

/// Maximum number of characters of an error body without a message, such as a web page.
const BODY_CHARS: usize = 200;

/// Returns the readable message of an error body: the `message` inside, or else the start of the
/// body.
#[must_use]
pub fn sentence(body: &str) -> String {
    let fields = Fields::parse(body);
    let error = fields.as_ref().and_then(|fields| fields.get("error"));
    let inner = error.and_then(Fields::parse);
    let text = |fields: Option<&Fields<'_>>| {
        fields.and_then(|fields| fields.get("message")).and_then(json::string)
    };
    let found = text(inner.as_ref())
        .or_else(|| error.and_then(json::string))
        .or_else(|| text(fields.as_ref()));
    match found {
        Some(lossy) => shortened(&lossy.text, MESSAGE_CHARS),
        None => shortened(body.trim(), BODY_CHARS),
    }
}

/// Truncates a text to `most` characters.
fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The window and the prompt that an error reports.
    type Reported = Option<(Option<usize>, Option<usize>)>;

    fn reported(body: &str) -> Reported {
        overflow(Some(400), body).map(|found| (found.window, found.prompt))
    }

    /// E.19: the overflow strings of every provider, with the numbers they give.
    #[test]
    fn e19_overflow_errors_of_all_providers_are_recognized() {
        let numbers = |window: usize, prompt: usize| Some((Some(window), Some(prompt)));
        let window = |window: usize| Some((Some(window), None));
        let nothing = Some((None, None));
        let cases: &[(&str, Reported)] = &[
            (
                concat!(
                    r#"{"type":"error","error":{"type":"invalid_request_error","#,
                    r#""message":"prompt is too long: 213462 tokens > 200000 maximum"}}"#
                ),
                numbers(200_000, 213_462),
            ),
            (
                concat!(
                    r#"{"error":{"message":"This model's maximum context length is 128000 "#,
                    r#"tokens. However, your messages resulted in 130000 tokens.","#,
                    r#""code":"context_length_exceeded"}}"#
                ),
                window(128_000),
            ),
            (
                "Input tokens exceed the configured limit of 922000 tokens. Your messages \
                 resulted in 1751400 tokens.",
                numbers(922_000, 1_751_400),
            ),
            (
                concat!(
                    r#"{"error":{"code":"context_length_exceeded","message":"Your input "#,
                    r#"exceeds the context window of this model."}}"#
                ),
                nothing,
            ),
            (
                "The input token count (1,200,345) exceeds the maximum number of tokens allowed \
                 (1048576).",
                numbers(1_048_576, 1_200_345),
            ),
            (
                concat!(
                    r#"{"error":{"code":400,"message":"request (5120 tokens) exceeds the "#,
                    r#"available context size (4096 tokens), try increasing it","#,
                    r#""type":"exceed_context_size_error","n_prompt_tokens":5120,"n_ctx":4096}}"#
                ),
                numbers(4_096, 5_120),
            ),
            (
                concat!(
                    r#"{"error":{"type":"exceed_context_size_error","n_prompt_tokens":5120,"#,
                    r#""n_ctx":4096}}"#
                ),
                numbers(4_096, 5_120),
            ),
            ("prompt token count of 130000 exceeds the limit of 128000", numbers(128_000, 130_000)),
            (
                "This model's maximum context length is 4096 tokens. However, you requested 512 \
                 output tokens and your prompt contains at least 4000 input tokens",
                window(4_096),
            ),
            (
                "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
                numbers(8_192, 9_000),
            ),
            (
                "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
                numbers(8_192, 9_000),
            ),
            (
                "Prompt contains 40000 tokens, too large for model with 32768 maximum context \
                 length",
                window(32_768),
            ),
            (
                "Please reduce the length of the messages or completion. Current length is 9010 \
                 while limit is 8192",
                numbers(8_192, 9_010),
            ),
            (
                "This model's maximum prompt length is 131072 but the request contains 140000 \
                 tokens",
                window(131_072),
            ),
            ("Please reduce the length of the messages.", nothing),
            ("Input is too long for requested model.", nothing),
            ("Invalid request: Your request exceeded model token limit: 262144", nothing),
            ("context window exceeds limit (2013)", nothing),
            (
                "Trying to keep the first 5000 tokens when context the overflows. However, the \
                 model is loaded with context length of 4096 tokens, which is greater than the \
                 context length",
                nothing,
            ),
            (
                "the prompt is longer than the context length currently available to the model",
                nothing,
            ),
            (
                "`inputs` tokens + `max_new_tokens` must be <= 8192. Given: 9000 `inputs` tokens",
                window(8_192),
            ),
            ("", nothing),
        ];
        for (body, expected) in cases {
            assert_eq!(reported(body), *expected, "{body}");
        }
        assert_eq!(overflow(Some(413), "<html>too large</html>"), Some(Overflow::default()));
    }

    /// E.19: a 429, and any error that only looks like an overflow, is retried instead of folded.
    #[test]
    fn e19_other_errors_are_not_overflows() {
        assert_eq!(overflow(Some(429), "prompt is too long: 2 tokens > 1 maximum"), None);
        assert_eq!(overflow(Some(500), ""), None);
        for body in [
            "Rate limit reached for tokens per min: too many tokens",
            concat!(
                r#"{"error":{"code":"rate_limit_exceeded","message":"Request too large: too "#,
                r#"many tokens"}}"#
            ),
            "Too Many Requests",
            "Throttling error: too many tokens, please wait",
            "Service unavailable: exceeds the limit of 3",
            concat!(
                r#"{"error":{"code":"string_above_max_length","message":"exceeds the limit of "#,
                r#"256000"}}"#
            ),
            "max_tokens must be at least 1",
            "invalid api key",
        ] {
            assert_eq!(reported(body), None, "{body}");
        }
    }

    #[test]
    fn sentence_finds_the_message_in_every_error_format() {
        assert_eq!(sentence(r#"{"error":{"message":"no"}}"#), "no");
        assert_eq!(sentence(r#"{"error":"no"}"#), "no");
        assert_eq!(sentence(r#"{"message":"no"}"#), "no");
        assert_eq!(sentence(" plain text\n"), "plain text");
        assert_eq!(sentence(&"数".repeat(300_000)).chars().count(), 201);
        let long = format!(r#"{{"error":{{"message":"{}"}}}}"#, "a".repeat(300_000));
        assert_eq!(sentence(&long).chars().count(), 1_001);
    }
}
