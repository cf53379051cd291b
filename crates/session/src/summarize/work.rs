//! Makes one summary: one request, one more if the result is unusable, and in parts if the material
//! is too large.

use std::sync::Arc;

use waterline::message::Message;
use waterline::summary::{Language, Schema, Wording};
use waterline::tokens::Counter;
use waterline_provider::answer::Answer;
use waterline_provider::retry::Retry;
use waterline_provider::wire::{self, Options, Tool};
use waterline_provider::{CallError, Model, Request, ask};

use super::gate::{self, Made};

/// The smallest token limit of a summary, whatever the policy allows.
const MIN_TOKENS: usize = 256;

/// Additional tokens for a model that reasons.
const REASONING_TOKENS: usize = 4_000;

/// How often a summary is requested before the digest is used.
const MAX_ATTEMPTS: usize = 2;

/// A summary to make, with everything it needs: it can be made before a call or in the background.
#[derive(Debug)]
pub(crate) struct Work {
    pub(super) name: String,
    pub(super) model: Arc<dyn Model>,
    pub(super) has_fixed_temperature: bool,
    pub(super) max_completion_tokens: bool,
    pub(super) retry: Retry,
    pub(super) counter: Counter,
    pub(super) session: String,
    pub(super) cache_key: String,
    pub(super) schema: Arc<Schema>,
    pub(super) max_tokens: usize,
    /// Tokens of the messages it replaces.
    pub(super) replaced_tokens: usize,
    /// The last context sent, with its tools, which the provider has cached. `None` if it cannot be
    /// sent.
    pub(super) prefix: Option<(Vec<Message>, Vec<Tool>)>,
    /// The messages as text.
    pub(super) parts: Vec<String>,
    /// The previous summary, which the new one absorbs.
    pub(super) earlier: Option<String>,
    /// The request text for the model.
    pub(super) request: String,
}

/// Why a summary failed.
#[derive(Debug)]
enum Failure {
    /// The prompt was too long.
    TooLong,
    /// The call failed, or the summary was unusable.
    Rejected(String),
}

impl Work {
    /// Makes the summary, or returns the reason for the failure.
    pub(crate) async fn run(self) -> Result<Made, String> {
        if let Some((messages, tools)) = &self.prefix {
            match self.attempt(messages, tools, &self.request, self.replaced_tokens).await {
                Ok(made) => return Ok(made),
                Err(Failure::Rejected(why)) => return Err(why),
                Err(Failure::TooLong) => {}
            }
        }
        self.in_parts().await
    }

    /// Summarizes each part together with the summary of the parts before it.
    async fn in_parts(&self) -> Result<Made, String> {
        let count = self.parts.len();
        let mut earlier = self.earlier.clone().unwrap_or_default();
        // The previous summary stays if there is nothing new worth keeping.
        let mut made = match &self.earlier {
            Some(text) => Ok(Made { text: text.clone(), ..Made::default() }),
            None => Err("nothing to summarize".to_owned()),
        };
        // The next part does not repeat the rules of this one.
        let mut rules = Vec::new();
        for (at, part) in self.parts.iter().enumerate() {
            let before = if earlier.is_empty() {
                String::new()
            } else {
                format!("<earlier_summary>\n{earlier}\n</earlier_summary>\n\n")
            };
            let heading = Wording::of(self.schema.language).conversation(at + 1, count);
            let text = format!(
                "{before}{heading}\n<conversation>\n{part}\n</conversation>\n\n{}",
                self.request
            );
            let replaced_tokens =
                if at + 1 == count { self.replaced_tokens } else { self.counter.text(&text) };
            match self.attempt(&[], &[], &text, replaced_tokens).await {
                Ok(one) if one.text.is_empty() => made = made.or(Ok(one)),
                Ok(one) => {
                    earlier.clone_from(&one.text);
                    rules.extend(one.rules.iter().cloned());
                    made = Ok(one);
                }
                Err(Failure::TooLong) => {
                    return Err("the conversation is too long to summarize".to_owned());
                }
                Err(Failure::Rejected(why)) => return Err(why),
            }
        }
        made.map(|made| Made { rules, ..made })
    }

    async fn attempt(
        &self,
        before: &[Message],
        tools: &[Tool],
        request: &str,
        replaced_tokens: usize,
    ) -> Result<Made, Failure> {
        let language = self.schema.language;
        // A word has about one and a half tokens, and so has a Chinese character.
        let limit = Wording::of(language).limit(self.max_tokens.max(MIN_TOKENS) * 2 / 3);
        let mut why = String::new();
        let mut feedback = String::new();
        for attempt in 1..=MAX_ATTEMPTS {
            let question = Message::user(format!("{request}\n\n{limit}{feedback}"));
            match self.ask(before, tools, &question).await {
                Ok(answer) => {
                    let tokens = answer
                        .messages
                        .iter()
                        .map(|message| self.counter.text(&message.text()))
                        .sum();
                    match gate::check(&answer, &self.schema, replaced_tokens, tokens) {
                        Ok(made) => return Ok(made),
                        Err(rejection) => {
                            why = rejection.text(Language::default());
                            let reason = rejection.text(language);
                            feedback = format!("\n\n{}", Wording::of(language).feedback(&reason));
                        }
                    }
                }
                Err(error) if error.overflow().is_some() => return Err(Failure::TooLong),
                Err(error) => {
                    why = error.to_string();
                    match self.retry.wait(&error, attempt, 0.0).filter(|_| attempt < MAX_ATTEMPTS) {
                        Some(wait) => tokio::time::sleep(wait).await,
                        None => break,
                    }
                }
            }
        }
        Err(Failure::Rejected(why))
    }

    /// S1.21: the same model, a token limit, and temperature 0 if it can be set.
    async fn ask(
        &self,
        before: &[Message],
        tools: &[Tool],
        question: &Message,
    ) -> Result<Answer, CallError> {
        let messages: Vec<&Message> = before.iter().chain([question]).collect();
        let context = wire::render(self.model.wire(), &messages);
        // A model with a fixed temperature reasons before it answers, and its reasoning counts.
        let fixed = self.has_fixed_temperature;
        let reasoning = if fixed { REASONING_TOKENS } else { 0 };
        let options = Options {
            max_tokens: Some(self.max_tokens.max(MIN_TOKENS) + reasoning),
            max_completion_tokens: Some(self.max_completion_tokens),
            temperature: (!fixed).then_some(0.0),
            cache_key: Some(self.cache_key.clone()),
            ..Options::default()
        };
        let request = Request::new(&self.name, &messages, &context).tools(tools).options(&options);
        ask(&*self.model, request.session(&self.session), |_| ()).await
    }
}
