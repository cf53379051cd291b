//! The time that a session adds to a call: from the new message to the request, and from the answer
//! to the stored message. The same request without a session is measured next to it.
//!
//! The model is in this process and answers at once, so that no network is in the figures. The log
//! is in memory if the system has such a directory, so that no disk flush is in them either.
#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark fails loudly")]

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use futures_util::stream;
use waterline::message::{Message, Wire};
use waterline::policy::Policy;
use waterline_log::{Log, RewindTarget, Session};
use waterline_provider::answer::{Answer, Delta, Stop};
use waterline_provider::{Event, EventStream, Model, Request, ask, wire};
use waterline_session::{LiveSession, ModelTarget, SessionConfig};

/// Builds the request body, as a model on a server does, and answers at once.
struct Immediate;

impl Model for Immediate {
    fn call(&self, request: Request<'_>) -> EventStream {
        black_box(request.body(Wire::OPENAI_CHAT));
        let messages = vec![Message::assistant("noted")];
        let answer = Answer { messages, stop: Stop::End, ..Answer::default() };
        let delta = Event::Delta(Delta::Text("noted".to_owned()));
        Box::pin(stream::iter([Ok(delta), Ok(Event::Answer(answer))]))
    }
}

fn message(n: usize) -> Message {
    let words = "some words of a conversation that is neither short nor long; ".repeat(8);
    let text = format!("message {n}: {words}");
    if n.is_multiple_of(2) { Message::user(text) } else { Message::assistant(text) }
}

/// Creates a log with a session of this many messages, all of which were sent.
async fn create(directory: &Path, messages: usize) -> Log {
    let log = Log::open(&directory.join(format!("{messages}.db")).display().to_string()).unwrap();
    log.create(Session::new("s")).unwrap();
    let mut live = open(&log).await;
    live.call((0..messages - 1).map(message).collect(), |_| ()).await.unwrap();
    log
}

async fn open(log: &Log) -> LiveSession {
    let model = ModelTarget::new("gpt-4o", Immediate);
    let config = SessionConfig::new(model, Policy::preset("auto").unwrap());
    LiveSession::open(log.clone(), "s", config).await.unwrap()
}

/// Measures the second call of a session that was resumed at this length.
async fn time_call(log: &Log, messages: usize) -> Duration {
    log.rewind("s", RewindTarget::Position(messages as u64)).unwrap();
    let mut live = open(log).await;
    let new = || vec![Message::user("and now?")];
    live.call(new(), |_| ()).await.unwrap();
    let started = Instant::now();
    live.call(new(), |_| ()).await.unwrap();
    started.elapsed()
}

fn calls(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let memory = Path::new("/dev/shm");
    let directory =
        if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    let mut group = criterion.benchmark_group("call");
    group.sample_size(50).measurement_time(Duration::from_secs(8));
    for messages in [10, 10_000] {
        let log = runtime.block_on(create(directory.path(), messages));
        group.bench_function(format!("session/{messages}"), |bencher| {
            bencher.iter_custom(|times| {
                runtime.block_on(async {
                    let mut total = Duration::ZERO;
                    for _ in 0..times {
                        total += time_call(&log, messages).await;
                    }
                    total
                })
            });
        });
        let live = runtime.block_on(open(&log));
        let context: Vec<&Message> = live.generation().context(live.history()).collect();
        let rendered = wire::render(Wire::OPENAI_CHAT, &context);
        group.bench_function(format!("direct/{messages}"), |bencher| {
            bencher.iter(|| {
                let request = Request::new("gpt-4o", &context, &rendered);
                runtime.block_on(ask(&Immediate, request, |_| ())).unwrap()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, calls);
criterion_main!(benches);
