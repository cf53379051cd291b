//! Asks a server for the log-probabilities of the tokens of a prompt.
//!
//! The request asks in both usual ways: vLLM's `prompt_logprobs`, and `echo` with `logprobs` as
//! OpenAI's first completions did. Servers ignore the fields that they do not know. One token is
//! generated, because some servers read 0 as no limit.

use serde_json::{Value, json};
use waterline::message::Wire;

use super::{Endpoint, body};
use crate::error::CallError;

/// The path of the call that is asked, and of the chat call, which shares its base address.
const CHAT: &str = "/chat/completions";
const COMPLETIONS: &str = "/completions";

/// Maximum number of bytes of a response. A prompt of a million tokens stays below it.
const MAX_BYTES: usize = 1 << 29;

/// One token of a prompt, as the server split it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PromptToken {
    /// The text of the token.
    pub text: String,
    /// The natural logarithm of its probability; `None` for the first token.
    pub logprob: Option<f64>,
}

impl Endpoint {
    /// Returns the tokens of a prompt with their log-probabilities, from the completions endpoint
    /// of an OpenAI-compatible server.
    ///
    /// # Errors
    /// [`CallError::NoLogprobs`] if the server does not return them, or why the call failed.
    pub async fn prompt_logprobs(
        &self,
        model: &str,
        prompt: &str,
    ) -> Result<Vec<PromptToken>, CallError> {
        let found = self.ask_logprobs(model, prompt).await;
        found.map_err(|error| self.redacted(error))
    }

    async fn ask_logprobs(&self, model: &str, prompt: &str) -> Result<Vec<PromptToken>, CallError> {
        let base = self.base.strip_suffix("/v1/completions").unwrap_or(&self.base);
        let path = crate::wire::path(Wire::OPENAI_CHAT, base, model).replace(CHAT, COMPLETIONS);
        let url = format!("{base}{path}");
        let request = json!({
            "model": model,
            "prompt": prompt,
            "max_tokens": 1,
            "temperature": 0,
            "echo": true,
            "logprobs": 1,
            "prompt_logprobs": 0,
        });
        let response = self
            .post(url.clone(), request.to_string(), "application/json")
            .await
            .map_err(|error| refused_to_echo(&url, error))?;
        let body = body::whole(response, self.timeouts, MAX_BYTES).await?;
        let parsed: Option<Value> = serde_json::from_str(&body).ok();
        match parsed.as_ref().and_then(tokens).filter(|tokens| !tokens.is_empty()) {
            Some(tokens) => Ok(tokens),
            None => Err(CallError::NoLogprobs { url, body }),
        }
    }
}

/// Some servers reject `echo`. They have no log-probabilities of the prompt either.
fn refused_to_echo(url: &str, error: CallError) -> CallError {
    if error.overflow().is_some() {
        return error;
    }
    match error {
        CallError::Refused(refused)
            if matches!(refused.status, 400 | 422 | 500 | 501)
                && ["echo", "logprobs"].iter().any(|name| refused.body.contains(name)) =>
        {
            CallError::NoLogprobs { url: url.to_owned(), body: refused.body }
        }
        other => other,
    }
}

/// Finds the tokens of the prompt in a response, in any of the known forms.
fn tokens(response: &Value) -> Option<Vec<PromptToken>> {
    let choice = response.pointer("/choices/0")?;
    let prompt = choice.get("prompt_logprobs").and_then(Value::as_array);
    if let Some(tokens) = prompt.and_then(|positions| of_prompt(positions)) {
        return Some(tokens);
    }
    let logprobs = choice.get("logprobs")?;
    let mut tokens = match logprobs.get("content").and_then(Value::as_array) {
        Some(content) => of_content(content)?,
        None => of_lists(logprobs)?,
    };
    // The generated token follows the prompt.
    let reported = response.pointer("/usage/completion_tokens").and_then(Value::as_u64);
    let generated = usize::try_from(reported.unwrap_or(1)).unwrap_or(1);
    tokens.truncate(tokens.len().saturating_sub(generated));
    Some(tokens)
}

/// Reads vLLM's form: for each position, an object with the token's id as the key.
fn of_prompt(positions: &[Value]) -> Option<Vec<PromptToken>> {
    let token = |position: &Value| {
        let Some(position) = position.as_object() else {
            return Some(PromptToken { text: String::new(), logprob: None });
        };
        // Only the prompt's own token was requested; among several there is no telling which it is.
        let only = position.values().next().filter(|_| position.len() == 1)?;
        let text = only.get("decoded_token")?.as_str()?.to_owned();
        Some(PromptToken { text, logprob: only.get("logprob").and_then(Value::as_f64) })
    };
    positions.iter().map(token).collect()
}

/// Reads the form of OpenAI's first completions: one list of texts and one of numbers.
fn of_lists(logprobs: &Value) -> Option<Vec<PromptToken>> {
    let texts = logprobs.get("tokens")?.as_array()?;
    let numbers = logprobs.get("token_logprobs")?.as_array()?;
    let token = |(text, number): (&Value, &Value)| {
        Some(PromptToken { text: text.as_str()?.to_owned(), logprob: number.as_f64() })
    };
    texts.iter().zip(numbers).map(token).collect()
}

/// Reads the form of chat answers: one list of objects.
fn of_content(content: &[Value]) -> Option<Vec<PromptToken>> {
    let token = |entry: &Value| {
        let text = entry.get("token")?.as_str()?.to_owned();
        Some(PromptToken { text, logprob: entry.get("logprob").and_then(Value::as_f64) })
    };
    content.iter().map(token).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(choice: Value, generated: usize) -> Option<Vec<(String, Option<f64>)>> {
        let usage = json!({"completion_tokens": generated});
        let tokens = tokens(&json!({"choices": [choice], "usage": usage}))?;
        Some(tokens.into_iter().map(|token| (token.text, token.logprob)).collect())
    }

    #[test]
    fn every_known_form_gives_the_same_tokens() {
        let expected = Some(vec![("a".to_owned(), None), ("b".to_owned(), Some(-1.5))]);
        let lists = json!({"logprobs": {
            "tokens": ["a", "b", "!"], "token_logprobs": [null, -1.5, -9.0]
        }});
        assert_eq!(found(lists, 1), expected);
        let content = json!({"logprobs": {"content": [
            {"token": "a", "logprob": null}, {"token": "b", "logprob": -1.5}
        ]}});
        assert_eq!(found(content, 0), expected);
        let vllm = json!({"prompt_logprobs": [
            null, {"17": {"logprob": -1.5, "rank": 2, "decoded_token": "b"}}
        ], "logprobs": null});
        let hidden_first = Some(vec![(String::new(), None), ("b".to_owned(), Some(-1.5))]);
        assert_eq!(found(vllm, 1), hidden_first);
    }

    /// llama.cpp's server returns the generated token only.
    #[test]
    fn generated_tokens_are_not_the_prompt() {
        let content = json!({"logprobs": {"content": [{"token": "!", "logprob": -0.1}]}});
        assert_eq!(found(content, 1), Some(Vec::new()));
        assert_eq!(found(json!({"logprobs": null}), 1), None);
    }

    #[test]
    fn several_tokens_at_a_position_are_ambiguous() {
        let top = json!({"1": {"logprob": -1.0, "decoded_token": "a"},
            "2": {"logprob": -2.0, "decoded_token": "b"}});
        let lists = json!({"tokens": ["a", "b", "!"], "token_logprobs": [null, -2.0, -9.0]});
        let both = json!({"prompt_logprobs": [null, top], "logprobs": lists});
        let texts = found(both, 1).map(|tokens| tokens.len());
        assert_eq!(texts, Some(2), "the other form is read");
    }
}
