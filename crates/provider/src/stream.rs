//! The events of one call, and decoding them from the stream of a wire.
//!
//! This module does no I/O: [`decode`] takes the provider's events from any source.

use std::collections::VecDeque;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::stream::unfold;
use futures_util::{Stream, StreamExt};
use sse_stream::{Sse, SseStream};
use waterline::message::Wire;
use waterline::phrase;
use waterline::phrase::Phrase;

use crate::answer::{Answer, Decoder, Delta, Stop};
use crate::error::CallError;
use crate::wire;

/// An event of one call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// An event of the provider's stream, unchanged. It precedes the deltas decoded from it, so a
    /// gateway whose client speaks the same wire can pass it through and ignore the deltas.
    Raw(RawEvent),
    /// An increment of the answer.
    Delta(Delta),
    /// The complete answer. It is the last event.
    Answer(Answer),
}

/// One server-sent event.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RawEvent {
    /// The `event` field; Anthropic and OpenAI Responses set it.
    pub name: Option<String>,
    /// The `data` field.
    pub data: String,
}

impl RawEvent {
    /// Creates an event without a name.
    pub fn new(data: impl Into<String>) -> Self {
        Self { name: None, data: data.into() }
    }
}

/// The events of one call. The provider is read as fast as the stream is polled, and dropping the
/// stream cancels the call.
pub type EventStream = Pin<Box<dyn Stream<Item = Result<Event, CallError>> + Send>>;

/// Decodes the provider's events for a wire. An error among them ends the stream with
/// [`CallError::Interrupted`], which has the error's text and the partial answer.
pub fn decode<E: Into<Phrase> + Send + 'static>(
    wire: Wire,
    events: impl Stream<Item = Result<RawEvent, E>> + Send + 'static,
) -> EventStream {
    let decoding = Decoding {
        events: Box::pin(events),
        decoder: Some(wire::decoder(wire)),
        ready: VecDeque::new(),
    };
    Box::pin(unfold(decoding, Decoding::next))
}

/// Decodes the body of a response, which is a stream of server-sent events, as [`decode`] does with
/// the events. The body may be split anywhere. An error of it ends the stream.
pub fn decode_body<B, E>(
    wire: Wire,
    body: impl Stream<Item = Result<B, E>> + Send + Unpin + 'static,
) -> EventStream
where
    B: Into<Bytes> + Send + 'static,
    E: std::error::Error + Send + Sync + 'static,
{
    let bytes = body.map(|chunk| chunk.map(Into::into));
    let events = server_sent(bytes);
    decode(wire, events.map(|event| event.map_err(|error| error.to_string())))
}

/// Reads the events of a body.
pub(crate) fn server_sent<E: std::error::Error + Send + Sync + 'static>(
    body: impl Stream<Item = Result<Bytes, E>> + Send + Unpin + 'static,
) -> impl Stream<Item = Result<RawEvent, sse_stream::Error>> + Send {
    let name = |event: Sse| RawEvent { name: event.event, data: event.data.unwrap_or_default() };
    SseStream::from_bytes_stream(body).map(move |event| event.map(name))
}

struct Decoding<S> {
    events: Pin<Box<S>>,
    /// None once the stream has ended.
    decoder: Option<Box<dyn Decoder>>,
    /// Decoded events that were not yet returned.
    ready: VecDeque<Result<Event, CallError>>,
}

impl<E: Into<Phrase>, S: Stream<Item = Result<RawEvent, E>>> Decoding<S> {
    async fn next(mut self) -> Option<(Result<Event, CallError>, Self)> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some((event, self));
            }
            let decoder = self.decoder.take()?;
            match self.events.next().await {
                Some(Ok(event)) => self.read(decoder, event),
                Some(Err(error)) => {
                    let text = error.into();
                    let answer = Box::new(decoder.finish());
                    self.ready.push_back(Err(CallError::Interrupted { text, answer }));
                }
                None => self.ready.push_back(finished(decoder.finish())),
            }
        }
    }

    fn read(&mut self, mut decoder: Box<dyn Decoder>, event: RawEvent) {
        let mut deltas = Vec::new();
        let outcome = decoder.event(&event.data, &mut |delta| deltas.push(delta));
        self.ready.push_back(Ok(Event::Raw(event)));
        self.ready.extend(deltas.into_iter().map(|delta| Ok(Event::Delta(delta))));
        match outcome {
            Ok(()) => self.decoder = Some(decoder),
            Err(failure) => {
                let answer = Box::new(decoder.finish());
                self.ready.push_back(Err(CallError::Failed { body: failure.0, answer }));
            }
        }
    }
}

fn finished(answer: Answer) -> Result<Event, CallError> {
    if answer.stop == Stop::Interrupted {
        return Err(CallError::Interrupted {
            text: phrase!(
                "stream-incomplete",
                "the connection closed before the answer was complete"
            ),
            answer: Box::new(answer),
        });
    }
    Ok(Event::Answer(answer))
}
