//! A model in the test's process: it follows the same scripts as [`crate::server::Server`], without
//! HTTP.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt, TryFutureExt, stream};
use waterline::message::Wire;
use waterline_provider::{CallError, EventStream, Model, RawEvent, Refused, Request, decode, wire};

use crate::script::{Line, player};
use crate::server::{Received, Reply, bytes};

/// Decides how to reply to each request.
type Script = Arc<dyn Fn(&Received) -> Reply + Send + Sync>;

/// A model that follows a script. Clones share the list of received requests.
#[derive(Clone)]
pub struct Scripted {
    wire: Wire,
    address: String,
    script: Script,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Scripted {
    /// Creates a model on the OpenAI chat wire. `script` decides how to reply to each request.
    pub fn new(script: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> Self {
        Self::on(Wire::OPENAI_CHAT, script)
    }

    /// Creates a model on a wire. `script` decides how to reply to each request.
    pub fn on(wire: Wire, script: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(1);
        let address = format!("scripted://{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        Self { wire, address, script: Arc::new(script), received: Arc::default() }
    }

    /// Creates a model that replies with the lines in order, then always with "done".
    #[must_use]
    pub fn lines(lines: Vec<Line>) -> Self {
        Self::new(player(lines))
    }

    /// Returns the requests received so far, with the bodies that the wire would send.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scripted({} {})", self.wire, self.address)
    }
}

impl Model for Scripted {
    fn call(&self, request: Request<'_>) -> EventStream {
        let request = Received { body: request.body(self.wire), ..Received::default() };
        let wire = self.wire;
        let script = Arc::clone(&self.script);
        let received = Arc::clone(&self.received);
        let answered = async move {
            let copy = request.clone();
            // A script may block, so it runs on a separate thread.
            let reply = tokio::task::spawn_blocking(move || script(&copy)).await;
            received.lock().unwrap_or_else(PoisonError::into_inner).push(request);
            let reply =
                reply.map_err(|error| CallError::failed(format!("the script failed: {error}")))?;
            play(wire, reply).await
        };
        Box::pin(answered.try_flatten_stream())
    }

    fn wire(&self) -> Wire {
        self.wire
    }

    fn address(&self) -> &str {
        &self.address
    }

    fn provider(&self) -> &str {
        wire::provider(self.wire)
    }

    fn takes_shape(&self, with_tools: bool) -> bool {
        !with_tools
    }
}

/// Returns a reply as the events of a call.
async fn play(wire: Wire, reply: Reply) -> Result<EventStream, CallError> {
    match reply {
        Reply::Stream { events, .. } => Ok(decode(wire, stream::iter(events).map(raw_event))),
        Reply::Slow { events, pause } => Ok(decode(wire, slowly(events, pause))),
        Reply::Cut { events, at } => {
            let mut sent = 0;
            let is_sent = |event: &String| {
                sent += bytes(std::slice::from_ref(event)).len();
                sent <= at
            };
            let events: Vec<String> = events.into_iter().take_while(is_sent).collect();
            let broken = stream::once(async { Err("the connection broke".to_owned()) });
            Ok(decode(wire, stream::iter(events).map(raw_event).chain(broken)))
        }
        Reply::Stall { events, after } => {
            let sent = stream::iter(events).take(after).map(raw_event);
            Ok(decode(wire, sent.chain(stream::pending())))
        }
        Reply::Status { status, headers, body } => {
            let headers = headers.lines().filter_map(|line| line.split_once(": "));
            let headers =
                headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            Err(CallError::Refused(Refused::new(status, headers, body)))
        }
        Reply::Stuck(_) | Reply::Hang => std::future::pending().await,
    }
}

fn raw_event(data: String) -> Result<RawEvent, String> {
    Ok(RawEvent::new(data))
}

fn slowly(
    events: Vec<String>,
    pause: Duration,
) -> impl futures_util::Stream<Item = Result<RawEvent, String>> {
    stream::iter(events).then(move |data| async move {
        tokio::time::sleep(pause).await;
        raw_event(data)
    })
}
