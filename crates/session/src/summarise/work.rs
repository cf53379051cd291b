//! Making one summary: asked for once, once more if it cannot be believed, and in parts where it
//! must be.

use std::sync::Arc;

use waterline::message::Message;
use waterline::summary::Schema;
use waterline::tokens::Counter;
use waterline_provider::answer::Answer;
use waterline_provider::retry::Retry;
use waterline_provider::wire::{self, Options, Tool};
use waterline_provider::{CallError, Model, Request, ask};

use super::gate::{self, Made};

/// A summary shorter than this says nothing, whatever the policy allows.
const LEAST_TOKENS: usize = 256;

/// What a model that reasons may take on top.
const REASONING_TOKENS: usize = 4_000;

/// How often a summary is asked for before the digest serves.
const TRIES: usize = 2;

/// A summary to be made, with everything it takes: it can be made before a call, or beside the next
/// ones.
#[derive(Debug)]
pub(crate) struct Work {
    pub(super) name: String,
    pub(super) model: Arc<dyn Model>,
    pub(super) has_fixed_temperature: bool,
    pub(super) retry: Retry,
    pub(super) counter: Counter,
    pub(super) cache_key: String,
    pub(super) schema: Arc<Schema>,
    pub(super) max_tokens: usize,
    /// Tokens of what it stands for.
    pub(super) replaces: usize,
    /// The conversation as it was sent last, with its tools: the provider's cache serves it. None
    /// where it cannot be sent.
    pub(super) prefix: Option<(Vec<Message>, Vec<Tool>)>,
    /// The messages as text.
    pub(super) parts: Vec<String>,
    /// The summary that there was before; it is absorbed.
    pub(super) earlier: Option<String>,
    /// What it is asked with.
    pub(super) request: String,
}

/// Why there is no summary.
#[derive(Debug)]
enum Failure {
    /// What was sent was too long.
    TooLong,
    /// It could not be had, or not be believed.
    Rejected(String),
}

impl Work {
    /// Makes the summary, or says why there is none.
    pub(crate) async fn run(self) -> Result<Made, String> {
        if let Some((messages, tools)) = &self.prefix {
            match self.attempt(messages, tools, &self.request, self.replaces).await {
                Ok(made) => return Ok(made),
                Err(Failure::Rejected(why)) => return Err(why),
                Err(Failure::TooLong) => {}
            }
        }
        self.in_parts().await
    }

    /// Each part is summed up together with the summary of those before it.
    async fn in_parts(&self) -> Result<Made, String> {
        let count = self.parts.len();
        let mut earlier = self.earlier.clone().unwrap_or_default();
        // What was summed up before stays, if nothing worth while comes to it.
        let mut made = match &self.earlier {
            Some(text) => Ok(Made { text: text.clone(), ..Made::default() }),
            None => Err("there is nothing to sum up".to_owned()),
        };
        for (at, part) in self.parts.iter().enumerate() {
            let before = if earlier.is_empty() {
                String::new()
            } else {
                format!("<earlier_summary>\n{earlier}\n</earlier_summary>\n\n")
            };
            let of =
                if count > 1 { format!(", part {} of {count}", at + 1) } else { String::new() };
            let text = format!(
                "{before}The conversation{of}:\n<conversation>\n{part}\n</conversation>\n\n{}",
                self.request
            );
            let replaces = if at + 1 == count { self.replaces } else { self.counter.text(&text) };
            match self.attempt(&[], &[], &text, replaces).await {
                Ok(one) if one.text.is_empty() => made = made.or(Ok(one)),
                Ok(one) => {
                    earlier.clone_from(&one.text);
                    made = Ok(one);
                }
                Err(Failure::TooLong) => {
                    return Err("the conversation is too long to be summed up".to_owned());
                }
                Err(Failure::Rejected(why)) => return Err(why),
            }
        }
        made
    }

    async fn attempt(
        &self,
        before: &[Message],
        tools: &[Tool],
        request: &str,
        replaces: usize,
    ) -> Result<Made, Failure> {
        let mut why = String::new();
        for attempt in 1..=TRIES {
            let again = if why.is_empty() {
                String::new()
            } else {
                format!("\n\nThe last answer was not taken: {why}.")
            };
            // A word is about a token and a half, to be on the safe side.
            let words = self.max_tokens.max(LEAST_TOKENS) * 2 / 3;
            let question = Message::user(format!("{request}\n\nAt most {words} words.{again}"));
            match self.ask(before, tools, &question).await {
                Ok(answer) => {
                    let tokens = answer
                        .messages
                        .iter()
                        .map(|message| self.counter.text(&message.text()))
                        .sum();
                    match gate::check(&answer, &self.schema, replaces, tokens) {
                        Ok(made) => return Ok(made),
                        Err(reason) => why = reason,
                    }
                }
                Err(error) if error.overflow().is_some() => return Err(Failure::TooLong),
                Err(error) => {
                    why = error.to_string();
                    match self.retry.wait(&error, attempt, 0.0).filter(|_| attempt < TRIES) {
                        Some(wait) => tokio::time::sleep(wait).await,
                        None => break,
                    }
                }
            }
        }
        Err(Failure::Rejected(why))
    }

    /// S1.21: the same model, at most so many tokens, temperature 0 where it may be set.
    async fn ask(
        &self,
        before: &[Message],
        tools: &[Tool],
        question: &Message,
    ) -> Result<Answer, CallError> {
        let messages: Vec<&Message> = before.iter().chain([question]).collect();
        let context = wire::render(self.model.wire(), &messages);
        // A model whose temperature is fixed reasons before it answers, and what it reasons counts.
        let fixed = self.has_fixed_temperature;
        let reasoning = if fixed { REASONING_TOKENS } else { 0 };
        let options = Options {
            max_tokens: Some(self.max_tokens.max(LEAST_TOKENS) + reasoning),
            temperature: (!fixed).then_some(0.0),
            cache_key: Some(self.cache_key.clone()),
            ..Options::default()
        };
        let request = Request::new(&self.name, &messages, &context).tools(tools).options(&options);
        ask(&*self.model, request.session(&self.cache_key), |_| ()).await
    }
}
