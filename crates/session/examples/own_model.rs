//! A custom model: a router that sends short questions to a small model and long ones to a large
//! one. Anything that can answer a request can be a model: a cloud SDK, a cache, a mock.
//!
//! `cargo run -p waterline-session --example own_model`
#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use std::sync::Arc;

use futures_util::stream;
use waterline::{Message, Wire};
use waterline_provider::{Answer, Event, EventStream, Model, Request, Stop};
use waterline_session::{LiveSession, Log};

/// Routes by the length of the newest message.
struct Router {
    small: Arc<dyn Model>,
    large: Arc<dyn Model>,
}

impl Model for Router {
    fn call(&self, request: Request<'_>) -> EventStream {
        let length = request.messages.last().map_or(0, |message| message.text().len());
        let model = if length < 40 { &self.small } else { &self.large };
        model.call(request)
    }

    fn wire(&self) -> Wire {
        self.large.wire()
    }
}

/// Always gives the same answer.
struct Fixed(&'static str);

impl Model for Fixed {
    fn call(&self, _: Request<'_>) -> EventStream {
        let messages = vec![Message::assistant(self.0)];
        let answer = Answer { messages, stop: Stop::End, ..Answer::default() };
        Box::pin(stream::iter([Ok(Event::Answer(answer))]))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let log = Log::open(&directory.path().join("log.db").display().to_string())?;
    let router = Router {
        small: Arc::new(Fixed("a quick answer")),
        large: Arc::new(Fixed("a careful answer")),
    };
    let mut session = LiveSession::builder("router", router).open(log, "routed").await?;
    println!("{}", session.ask("What time is it?").await?.text());
    println!(
        "{}",
        session.ask("Why does the build fail when the tests run in parallel?").await?.text()
    );
    Ok(())
}
