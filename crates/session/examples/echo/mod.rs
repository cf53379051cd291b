//! A model that echoes the newest message, one word at a time.

use futures_util::stream;
use waterline::Message;
use waterline_provider::{Answer, Delta, Event, EventStream, Model, Request, Stop};

/// Echoes the newest message.
pub(crate) struct Echo;

impl Model for Echo {
    fn call(&self, request: Request<'_>) -> EventStream {
        let input = request.messages.last().map(|message| message.text()).unwrap_or_default();
        let text = format!("You said: {input}");
        let words: Vec<_> = text
            .split_inclusive(' ')
            .map(|word| Ok(Event::Delta(Delta::Text(word.into()))))
            .collect();
        let messages = vec![Message::assistant(text)];
        let answer = Answer { messages, stop: Stop::End, ..Answer::default() };
        Box::pin(stream::iter(words.into_iter().chain([Ok(Event::Answer(answer))])))
    }
}
