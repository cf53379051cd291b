//! Reads the bytes of a response with timeouts, and limits how much of an error body is kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::unfold;
use futures_util::{Stream, StreamExt};
use waterline::phrase;
use waterline::phrase::Phrase;

use super::Timeouts;
use crate::connect::connection_cause;
use crate::error::CallError;

/// Maximum number of bytes of an error body that are kept.
const MAX_ERROR_BYTES: usize = 1 << 20;

/// Why reading a response failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum BytesError {
    #[error("connection lost")]
    Connection(#[source] reqwest::Error),
    #[error("timed out")]
    Timeout(#[source] NoData),
}

#[derive(Debug, thiserror::Error)]
#[error("no data from the server for {} s", .0.as_secs_f64())]
pub(super) struct NoData(Duration);

impl BytesError {
    fn cause(&self) -> Phrase {
        match self {
            Self::Connection(error) => {
                phrase!("stream-lost", "connection lost: {cause}", cause = connection_cause(error))
            }
            Self::Timeout(silence) => phrase!(
                "stream-silence",
                "timed out: no data from the server for {seconds} s",
                seconds = silence.0.as_secs_f64().to_string()
            ),
        }
    }
}

/// Returns why a stream of events broke off. The error's own text is omitted: it may contain an
/// address with a key in it.
pub(super) fn stream_cause(error: &(dyn std::error::Error + 'static)) -> Phrase {
    let sources: Vec<_> =
        std::iter::successors(error.source(), |&source| source.source()).collect();
    match sources.iter().find_map(|source| source.downcast_ref::<BytesError>()) {
        Some(known) => known.cause(),
        None => sources.last().map_or_else(
            || phrase!("connection-unknown", "unknown cause"),
            |cause| cause.to_string().into(),
        ),
    }
}

/// Streams the bytes of a response. A silence may be longer until `has_started` is set: some
/// servers send a first event at once and read the prompt only then. Any byte resets the timeout,
/// including those that a server sends only as a keep-alive.
pub(super) fn with_timeouts(
    response: reqwest::Response,
    timeouts: Timeouts,
    has_started: Arc<AtomicBool>,
) -> impl Stream<Item = Result<Bytes, BytesError>> + Send + Unpin {
    let chunks = Some(Box::pin(response.bytes_stream()));
    Box::pin(unfold((chunks, has_started), move |(chunks, has_started)| async move {
        let mut chunks = chunks?;
        let wait = match has_started.load(Ordering::Relaxed) {
            true => timeouts.silence,
            false => timeouts.first_token,
        };
        match tokio::time::timeout(wait, chunks.next()).await {
            Ok(None) => None,
            Ok(Some(Ok(chunk))) => Some((Ok(chunk), (Some(chunks), has_started))),
            Ok(Some(Err(error))) => Some((Err(BytesError::Connection(error)), (None, has_started))),
            Err(_) => Some((Err(BytesError::Timeout(NoData(wait))), (None, has_started))),
        }
    }))
}

/// Reads the whole text of a response of at most `limit` bytes.
pub(super) async fn whole(
    response: reqwest::Response,
    timeouts: Timeouts,
    limit: usize,
) -> Result<String, CallError> {
    let broken = |text: Phrase| CallError::Interrupted { text, answer: Box::default() };
    let mut bytes = Vec::new();
    let mut chunks = with_timeouts(response, timeouts, Arc::default());
    while let Some(chunk) = chunks.next().await {
        bytes.extend_from_slice(&chunk.map_err(|error| broken(error.cause()))?);
        if bytes.len() > limit {
            return Err(broken(phrase!(
                "stream-too-long",
                "the response has more than {limit} bytes",
                limit = limit
            )));
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads the text of a response, up to [`MAX_ERROR_BYTES`] or a timeout.
pub(super) async fn text(response: reqwest::Response, timeouts: Timeouts) -> String {
    let mut bytes = Vec::new();
    let mut chunks = with_timeouts(response, timeouts, Arc::default());
    while let Some(Ok(chunk)) = chunks.next().await {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MAX_ERROR_BYTES {
            bytes.truncate(MAX_ERROR_BYTES);
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
