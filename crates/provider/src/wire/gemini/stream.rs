//! Decodes Gemini's stream: each event has more parts of one content.

use waterline::json::{self, Fields};
use waterline::message::Wire;

use crate::answer::{Answer, Decoder, Delta, Failure, Stop, Usage};
use crate::wire::answered;
use crate::wire::read::{number, string_field};

#[derive(Default)]
pub(super) struct Stream {
    parts: Vec<Part>,
    answer: Answer,
}

enum Part {
    /// Text or thinking that may continue.
    Text { text: String, thought: bool },
    /// Anything else, and signed text: unchanged.
    Whole { json: String, call: bool },
}

/// The reason for an answer without content: the model wrote a call that Gemini could not parse.
const MALFORMED_CALL: &str = "MALFORMED_FUNCTION_CALL";

/// Returns the error of a candidate whose call could not be parsed.
fn malformed_call(candidate: &Fields<'_>) -> String {
    let message = match string_field(candidate, "finishMessage") {
        text if text.is_empty() => "malformed function call".to_owned(),
        text => text,
    };
    let error =
        json::object([("status", json::quote(MALFORMED_CALL)), ("message", json::quote(&message))]);
    json::object([("error", error)])
}

impl Decoder for Stream {
    fn event(&mut self, data: &str, emit: &mut dyn FnMut(Delta)) -> Result<(), Failure> {
        let Some(fields) = Fields::parse(data) else { return Ok(()) };
        if fields.get("error").is_some_and(|error| !json::is_null(error)) {
            return Err(Failure(data.to_owned()));
        }
        if let Some(name) =
            Some(string_field(&fields, "modelVersion")).filter(|name| !name.is_empty())
        {
            self.answer.model = Some(name);
        }
        self.count(&fields);
        let feedback = fields.get("promptFeedback").and_then(Fields::parse).unwrap_or_default();
        if !string_field(&feedback, "blockReason").is_empty() {
            self.answer.stop = Stop::Refused;
        }
        let candidates = fields.get("candidates").and_then(json::elements).unwrap_or_default();
        let Some(candidate) = candidates.first().copied().and_then(Fields::parse) else {
            return Ok(());
        };
        let content = candidate.get("content").and_then(Fields::parse).unwrap_or_default();
        for part in content.get("parts").and_then(json::elements).unwrap_or_default() {
            self.take(part, emit);
        }
        let reason = string_field(&candidate, "finishReason");
        if reason == MALFORMED_CALL {
            return Err(Failure(malformed_call(&candidate)));
        }
        if !reason.is_empty() {
            self.answer.stop = self.stop(&reason);
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Answer {
        let parts = json::array(self.parts.iter().map(Part::json));
        let json = json::object([("role", json::quote("model")), ("parts", parts)]);
        Answer { messages: answered(Wire::GEMINI, json), ..self.answer }
    }
}

impl Stream {
    fn count(&mut self, fields: &Fields<'_>) {
        let Some(usage) = fields.get("usageMetadata").and_then(Fields::parse) else { return };
        let of = |name: &str| number(&usage, name).unwrap_or_default();
        let prompt = of("promptTokenCount");
        let cache_read = of("cachedContentTokenCount").min(prompt);
        let output = of("candidatesTokenCount") + of("thoughtsTokenCount");
        self.answer.usage =
            Usage { input: prompt - cache_read, cache_read, cache_write: 0, output };
    }

    fn take(&mut self, json: &str, emit: &mut dyn FnMut(Delta)) {
        let Some(fields) = Fields::parse(json) else { return };
        if let Some(call) = fields.get("functionCall").and_then(Fields::parse) {
            let at = self
                .parts
                .iter()
                .filter(|part| matches!(part, Part::Whole { call: true, .. }))
                .count();
            emit(Delta::Call {
                at,
                id: string_field(&call, "id"),
                name: string_field(&call, "name"),
            });
            emit(Delta::Arguments { at, json: call.get("args").unwrap_or("{}").to_owned() });
            self.parts.push(Part::Whole { json: json.to_owned(), call: true });
            return;
        }
        let text = string_field(&fields, "text");
        let thought = fields.get("thought") == Some("true");
        if !text.is_empty() {
            emit(if thought { Delta::Thinking(text.clone()) } else { Delta::Text(text.clone()) });
        }
        let is_plain = fields.get("text").is_some()
            && fields.iter().all(|(name, _)| matches!(name, "text" | "thought"));
        match self.parts.last_mut() {
            Some(Part::Text { text: known, thought: before }) if is_plain && *before == thought => {
                known.push_str(&text)
            }
            _ if is_plain => self.parts.push(Part::Text { text, thought }),
            _ => self.parts.push(Part::Whole { json: json.to_owned(), call: false }),
        }
    }

    fn stop(&self, reason: &str) -> Stop {
        let calls = self.parts.iter().any(|part| matches!(part, Part::Whole { call: true, .. }));
        match reason {
            "STOP" if calls => Stop::Calls,
            "STOP" => Stop::End,
            "MAX_TOKENS" => Stop::Length,
            "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" => Stop::Refused,
            other => Stop::Other(other.to_owned()),
        }
    }
}

impl Part {
    fn json(&self) -> String {
        match self {
            Self::Text { text, thought } => {
                let thought = thought.then(|| ("thought", "true".to_owned()));
                json::object([("text", json::quote(text))].into_iter().chain(thought))
            }
            Self::Whole { json, .. } => json.clone(),
        }
    }
}
