//! A model with a limited window, on one of the four wires: it rejects a prompt that is too long,
//! with its provider's error message, or silently truncates it.

use serde_json::json;
use waterline::message::Wire;

use crate::server::{Received, Reply};
use crate::spoken::Spoken;

/// A model with a limited window.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// The format of its requests and answers.
    pub wire: Wire,
    /// The largest prompt in tokens.
    pub window: usize,
    /// Whether it rejects a larger prompt.
    pub refuses: bool,
}

impl Model {
    /// Returns the tokens of a request, as the model counts them.
    #[must_use]
    pub fn tokens(received: &Received) -> usize {
        received.body.len() / 4
    }

    /// Answers a request, or rejects it.
    #[must_use]
    pub fn reply(&self, received: &Received, spoken: Spoken) -> Reply {
        let prompt = Self::tokens(received);
        if prompt > self.window && self.refuses {
            return Reply::status(400, self.refusal(prompt));
        }
        let spoken = Spoken { prompt: prompt.min(self.window), ..spoken };
        Reply::Stream { events: spoken.events(self.wire), piece: 0 }
    }

    fn refusal(&self, prompt: usize) -> String {
        let window = self.window;
        let body = match self.wire.name() {
            "anthropic" => {
                let message = format!("prompt is too long: {prompt} tokens > {window} maximum");
                let error = json!({"type": "invalid_request_error", "message": message});
                json!({"type": "error", "error": error})
            }
            "openai-chat" | "openai-responses" => {
                let message = format!(
                    "This model's maximum context length is {window} tokens. However, your \
                     messages resulted in {prompt} tokens. Please reduce the length of the \
                     messages."
                );
                json!({"error": {"message": message, "code": "context_length_exceeded"}})
            }
            _ => {
                let message = format!(
                    "The input token count ({prompt}) exceeds the maximum number of tokens \
                     allowed ({window})."
                );
                json!({"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}})
            }
        };
        body.to_string()
    }
}
