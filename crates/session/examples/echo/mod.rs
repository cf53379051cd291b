//! A model that repeats the newest message, a word at a time.

use futures_util::stream;
use waterline::message::Message;
use waterline_provider::answer::{Answer, Delta, Stop};
use waterline_provider::{Event, EventStream, Model, Request};

/// Repeats what it hears.
pub(crate) struct Echo;

impl Model for Echo {
    fn call(&self, request: Request<'_>) -> EventStream {
        let heard = request.messages.last().map(|message| message.text()).unwrap_or_default();
        let text = format!("You said: {heard}");
        let words: Vec<_> = text
            .split_inclusive(' ')
            .map(|word| Ok(Event::Delta(Delta::Text(word.into()))))
            .collect();
        let messages = vec![Message::assistant(text)];
        let answer = Answer { messages, stop: Stop::End, ..Answer::default() };
        Box::pin(stream::iter(words.into_iter().chain([Ok(Event::Answer(answer))])))
    }
}
