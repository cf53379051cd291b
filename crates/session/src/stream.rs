//! A call as a stream: events are read only as fast as the caller polls.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use futures_util::Stream;
use futures_util::stream::poll_fn;
use waterline::message::Message;
use waterline_provider::answer::Answer;

use crate::error::SessionError;
use crate::event::Event;
use crate::live::LiveSession;

/// An item of the stream of a call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Streamed {
    /// An event during the call.
    Event(Event),
    /// The answer, already stored. It is the last item.
    Answer(Answer),
}

impl LiveSession {
    /// Sends a user message and waits for the answer. [`LiveSession::call`] and
    /// [`LiveSession::stream`] also report events.
    ///
    /// # Errors
    /// As [`LiveSession::call`].
    pub async fn ask(&mut self, text: impl Into<String>) -> Result<Answer, SessionError> {
        self.call(vec![Message::user(text)], |_| ()).await
    }

    /// Makes a call like [`LiveSession::call`], and yields its events as they arrive. While the
    /// caller does not poll, nothing is read from the provider. Dropping the stream cancels the
    /// call and leaves a valid log.
    pub fn stream(
        &mut self,
        new: Vec<Message>,
    ) -> impl Stream<Item = Result<Streamed, SessionError>> + Send + Unpin {
        let events: Arc<Mutex<VecDeque<Event>>> = Arc::default();
        let queue = Arc::clone(&events);
        let emit =
            move |event| queue.lock().unwrap_or_else(PoisonError::into_inner).push_back(event);
        let started: Pin<Box<dyn Future<Output = _> + Send + '_>> = Box::pin(self.call(new, emit));
        let mut call = Some(started);
        let mut outcome = None;
        poll_fn(move |context| {
            let next = || events.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            if let Some(event) = next() {
                return Poll::Ready(Some(Ok(Streamed::Event(event))));
            }
            if let Some(running) = &mut call
                && let Poll::Ready(ended) = running.as_mut().poll(context)
            {
                call = None;
                outcome = Some(ended.map(Streamed::Answer));
            }
            match next() {
                Some(event) => Poll::Ready(Some(Ok(Streamed::Event(event)))),
                None if call.is_some() => Poll::Pending,
                None => Poll::Ready(outcome.take()),
            }
        })
    }
}
