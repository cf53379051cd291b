//! The bytes of a response, with patience: how long a server may be silent, and how much of an
//! error is kept.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::unfold;
use futures_util::{Stream, StreamExt};

use super::Timeouts;

/// The most bytes of an error that are kept.
const MOST: usize = 1 << 20;

/// Why the bytes of an answer end.
#[derive(Debug, thiserror::Error)]
pub(super) enum BytesError {
    #[error("the connection broke")]
    Connection(#[source] reqwest::Error),
    #[error("the server is silent")]
    Silent(#[source] Silence),
}

#[derive(Debug, thiserror::Error)]
#[error("nothing came for {0:?}")]
pub(super) struct Silence(Duration);

/// The bytes of an answer, as long as they come: the first may take its time, the others less. Any
/// byte counts, also those by which a server only says that it is still there.
pub(super) fn patient(
    response: reqwest::Response,
    timeouts: Timeouts,
) -> impl Stream<Item = Result<Bytes, BytesError>> + Send + Unpin {
    let chunks = Box::pin(response.bytes_stream());
    Box::pin(unfold((Some(chunks), timeouts.first_byte), move |(chunks, wait)| async move {
        let mut chunks = chunks?;
        match tokio::time::timeout(wait, chunks.next()).await {
            Ok(None) => None,
            Ok(Some(Ok(chunk))) => Some((Ok(chunk), (Some(chunks), timeouts.silence))),
            Ok(Some(Err(error))) => Some((Err(BytesError::Connection(error)), (None, wait))),
            Err(_) => Some((Err(BytesError::Silent(Silence(wait))), (None, wait))),
        }
    }))
}

/// The text of a response, up to a limit and as long as bytes come.
pub(super) async fn text(response: reqwest::Response, timeouts: Timeouts) -> String {
    let mut bytes = Vec::new();
    let mut chunks = patient(response, timeouts);
    while let Some(Ok(chunk)) = chunks.next().await {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MOST {
            bytes.truncate(MOST);
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
