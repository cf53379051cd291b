//! The HTTP client of MCP servers. It does what the SDK's client does, and limits the size of every
//! answer: the SDK's client limits events only and reads a JSON answer to its end.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt as _};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    HttpStatusError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use rmcp_sse_stream::{Error as SseError, Sse, SseStream};

/// Maximum number of bytes of a message.
pub(super) const MAX_BYTES: usize = 16 << 20;

const SESSION: &str = "mcp-session-id";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

type HttpError = StreamableHttpError<reqwest::Error>;

/// Sends messages to a server over HTTP.
#[derive(Clone)]
pub(super) struct HttpClient(pub(super) reqwest::Client);

impl StreamableHttpClient for HttpClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let expects_answer = matches!(message, ClientJsonRpcMessage::Request(_));
        let mut headers: HeaderMap = headers.into_iter().collect();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        let body = serde_json::to_vec(&message)?;
        let mut request = self.0.post(uri.as_ref()).headers(headers).body(body);
        if let Some(session) = session.as_deref() {
            request = request.header(SESSION, session);
        }
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let response = request.send().await.map_err(StreamableHttpError::Client)?;
        match response.status() {
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => {
                Ok(StreamableHttpPostResponse::Accepted)
            }
            StatusCode::NOT_FOUND if session.is_some() => Err(StreamableHttpError::SessionExpired),
            status if status.is_success() => answer(response, expects_answer).await,
            _ => refusal(response).await,
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), HttpError> {
        self.0.delete_session(uri, session, token, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, HttpError> {
        self.0.get_stream(uri, session, last_event, token, headers).await
    }
}

/// Reads the answer to a message. Some servers answer a notification with an empty body, or with
/// JSON that is not an answer.
async fn answer(
    response: Response,
    is_expected: bool,
) -> Result<StreamableHttpPostResponse, HttpError> {
    let session = text(response.headers(), SESSION);
    let kind = text(response.headers(), CONTENT_TYPE.as_str());
    let is = |expected: &str| kind.as_deref().is_some_and(|kind| kind.starts_with(expected));
    if response.content_length() == Some(0) && !is_expected {
        return Ok(StreamableHttpPostResponse::Accepted);
    }
    if is(EVENTS) {
        let bytes = limited(response.bytes_stream(), MAX_BYTES);
        let events = SseStream::from_bytes_stream(bytes).boxed();
        return Ok(StreamableHttpPostResponse::Sse(events, session));
    }
    let is_json = is(JSON);
    let body = whole(response).await?;
    if !is_json && (is_expected || !body.is_empty()) {
        return Err(StreamableHttpError::UnexpectedContentType(kind));
    }
    match serde_json::from_slice(&body) {
        Ok(message) => Ok(StreamableHttpPostResponse::Json(message, session)),
        Err(_) if !is_expected => Ok(StreamableHttpPostResponse::Accepted),
        Err(error) => Err(unexpected(format!("the answer is not a message: {error}"))),
    }
}

/// Reads a response with an error status. Its body may be an error of the protocol.
async fn refusal(response: Response) -> Result<StreamableHttpPostResponse, HttpError> {
    let status = response.status();
    let session = text(response.headers(), SESSION);
    let retry_after = text(response.headers(), RETRY_AFTER.as_str());
    let failed = |retry_after| HttpStatusError::new(status.as_u16(), retry_after).into();
    let is_json =
        text(response.headers(), CONTENT_TYPE.as_str()).is_some_and(|kind| kind.starts_with(JSON));
    // Their bodies say nothing and may have no end.
    if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() && !is_json {
        return Err(failed(retry_after));
    }
    let body = whole(response).await?;
    let needs_key = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    match serde_json::from_slice(&body) {
        Ok(error @ ServerJsonRpcMessage::Error(_)) if !needs_key => {
            Ok(StreamableHttpPostResponse::Json(error, session))
        }
        _ if status.is_server_error() => Err(failed(retry_after)),
        _ => Err(unexpected(format!("HTTP {status}: {}", String::from_utf8_lossy(&body)))),
    }
}

/// Reads a whole body of at most [`MAX_BYTES`].
async fn whole(mut response: Response) -> Result<Vec<u8>, HttpError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(StreamableHttpError::Client)? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_BYTES {
            return Err(unexpected(too_large()));
        }
    }
    Ok(body)
}

/// Passes bytes through until an event has more than `max` bytes. An empty line ends an event.
fn limited<B: AsRef<[u8]>, E: std::error::Error + Send + Sync + 'static>(
    chunks: impl Stream<Item = Result<B, E>>,
    max: usize,
) -> impl Stream<Item = Result<B, std::io::Error>> {
    let mut event = 0;
    let mut line = 0;
    let mut previous = 0;
    chunks.map(move |chunk| {
        let chunk = chunk.map_err(std::io::Error::other)?;
        for &byte in chunk.as_ref() {
            match byte {
                b'\n' if previous == b'\r' => {}
                b'\n' | b'\r' => {
                    event = if line == 0 { 0 } else { event + 1 };
                    line = 0;
                }
                _ => {
                    event += 1;
                    line += 1;
                }
            }
            previous = byte;
            if event > max {
                return Err(std::io::Error::other(too_large()));
            }
        }
        Ok(chunk)
    })
}

fn too_large() -> String {
    format!("a message has more than {} MB", MAX_BYTES >> 20)
}

fn unexpected(text: String) -> HttpError {
    StreamableHttpError::UnexpectedServerResponse(Cow::Owned(text))
}

/// Returns the text of a header.
fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream::iter;

    use super::*;

    /// Returns whether all chunks pass with a limit of eight bytes.
    async fn pass(chunks: &[&'static str]) -> bool {
        let chunks: Vec<Result<_, Infallible>> = chunks.iter().map(|&chunk| Ok(chunk)).collect();
        limited(iter(chunks), 8).all(|chunk| async move { chunk.is_ok() }).await
    }

    #[tokio::test]
    async fn an_event_is_limited_and_a_stream_is_not() {
        assert!(
            pass(&["data:1\n\n", "data:2\r\n\r\n", "data:3\n", "\n", "data:4\r\rdata:5\n\n"]).await
        );
        assert!(!pass(&["data:", "1234"]).await);
        // Several lines are one event.
        assert!(!pass(&["a:1\r\n", "b:2\r\n", "c:3\r\n"]).await);
        assert!(!pass(&["a:1\nb:2\nc:3\n"]).await);
    }
}
