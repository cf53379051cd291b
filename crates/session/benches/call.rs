//! Measures the overhead of a session: a call through it, compared with the same request sent
//! without one. The log is in memory if the system has such a directory, so that the figures do not
//! include writes to a disk.
#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark fails loudly")]

use std::path::Path;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use waterline::message::{Message, Part, Role, Wire};
use waterline::policy::Policy;
use waterline_log::{Log, RewindTarget, Session};
use waterline_provider::http::{Endpoint, Timeouts};
use waterline_provider::wire;
use waterline_provider::{Request, ask};
use waterline_session::{LiveSession, ModelTarget, SessionConfig};
use waterline_testkit::server::{Reply, Server};
use waterline_testkit::spoken::Spoken;

/// A model that answers at once.
async fn server() -> Server {
    Server::start(|_| Reply::Stream {
        events: Spoken::text("noted", 0).events(Wire::OPENAI_CHAT),
        piece: 0,
    })
    .await
    .unwrap()
}

fn endpoint(server: &Server) -> Endpoint {
    Endpoint::new(Wire::OPENAI_CHAT, Some(&server.url), None, Timeouts::default()).unwrap()
}

fn message(n: usize) -> Message {
    let role = if n.is_multiple_of(2) { Role::User } else { Role::Assistant };
    Message::new(
        role,
        vec![Part::text(format!(
            "message {n}: {}",
            "part of a message of usual length; ".repeat(8)
        ))],
    )
}

/// A log with a session of this many messages, all of which were sent.
async fn stored(directory: &Path, server: &Server, messages: usize) -> Log {
    let log = Log::open(&directory.join(format!("{messages}.db")).display().to_string()).unwrap();
    log.create(Session::new("s")).unwrap();
    let mut live = resume(&log, server).await;
    live.call((0..messages - 1).map(message).collect(), |_| ()).await.unwrap();
    log
}

async fn resume(log: &Log, server: &Server) -> LiveSession {
    let config = SessionConfig::new(
        ModelTarget::new("gpt-4o", endpoint(server)),
        Policy::preset("auto").unwrap(),
    );
    LiveSession::open(log.clone(), "s", config).await.unwrap()
}

/// Returns the duration of the second call of a session that is resumed at this length.
async fn timed(log: &Log, server: &Server, messages: usize) -> Duration {
    log.rewind("s", RewindTarget::Position(messages as u64)).unwrap();
    let mut live = resume(log, server).await;
    let new = || vec![Message::user("and now?")];
    live.call(new(), |_| ()).await.unwrap();
    let started = Instant::now();
    live.call(new(), |_| ()).await.unwrap();
    started.elapsed()
}

fn calls(criterion: &mut Criterion) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let server = runtime.block_on(server());
    let memory = Path::new("/dev/shm");
    let directory =
        if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    let mut group = criterion.benchmark_group("call");
    group.sample_size(50).measurement_time(Duration::from_secs(8));
    for messages in [10, 10_000] {
        let log = runtime.block_on(stored(directory.path(), &server, messages));
        group.bench_function(format!("session/{messages}"), |bencher| {
            bencher.iter_custom(|times| {
                runtime.block_on(async {
                    let mut total = Duration::ZERO;
                    for _ in 0..times {
                        total += timed(&log, &server, messages).await;
                    }
                    total
                })
            });
        });
        // The same bytes, sent without a session.
        let live = runtime.block_on(resume(&log, &server));
        let context: Vec<&Message> = live.generation().context(live.history()).collect();
        let rendered = wire::render(Wire::OPENAI_CHAT, &context);
        let endpoint = endpoint(&server);
        group.bench_function(format!("bare/{messages}"), |bencher| {
            bencher.iter(|| {
                let request = Request::new("gpt-4o", &context, &rendered);
                runtime.block_on(ask(&endpoint, request, |_| ())).unwrap()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, calls);
criterion_main!(benches);
