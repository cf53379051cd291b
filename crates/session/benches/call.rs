//! What our side adds to a call: from the new message to the request, and from the answer to the stored message. The same call
//! made without a session stands beside it, so that the difference is ours; what the database's flush takes is measured too.
#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark fails loudly")]

use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use waterline::message::{Message, Role, Wire};
use waterline::policy::Policy;
use waterline_log::{Incoming, Log, Session};
use waterline_provider::http::{Endpoint, Request, Timeouts};
use waterline_provider::wire::{self, Options};
use waterline_session::{Candidate, Live, Setup};
use waterline_testkit::server::{Reply, Server};
use waterline_testkit::spoken::Spoken;

/// A model that answers at once.
async fn server() -> Server {
    Server::start(|_| Reply::Stream { events: Spoken::text("noted", 0).events(Wire::OpenaiChat), piece: 0 })
        .await
        .unwrap()
}

fn endpoint(server: &Server) -> Endpoint {
    Endpoint::new(Wire::OpenaiChat, Some(&server.url), None, Timeouts::default()).unwrap()
}

fn said(n: usize) -> Message {
    let role = if n.is_multiple_of(2) { Role::User } else { Role::Assistant };
    Message::text_of(role, format!("message {n}: {}", "some words of a conversation, neither few nor many; ".repeat(8)))
}

/// A session of so many messages, taken up.
async fn live(folder: &std::path::Path, server: &Server, messages: usize) -> (Log, Live) {
    let log = Log::open(&folder.join(format!("{messages}.db")).display().to_string()).unwrap();
    log.create(Session::new("s")).unwrap();
    let setup = Setup::new(Candidate::new("gpt-4o", endpoint(server)), Policy::preset("auto").unwrap());
    let mut live = Live::open(log.clone(), "s", setup).await.unwrap();
    live.call((0..messages - 1).map(said).collect(), |_| ()).await.unwrap();
    (log, live)
}

fn calls(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let server = runtime.block_on(server());
    let folder = tempfile::tempdir().unwrap();
    let mut group = criterion.benchmark_group("call");
    group.sample_size(60).measurement_time(Duration::from_secs(6));
    for messages in [10, 10_000] {
        let (log, mut live) = runtime.block_on(live(folder.path(), &server, messages));
        group.bench_function(format!("session/{messages}"), |bencher| {
            bencher.iter_custom(|times| {
                runtime.block_on(async {
                    let mut total = Duration::ZERO;
                    for _ in 0..times {
                        let new = vec![Message::text_of(Role::User, "and now?")];
                        let started = Instant::now();
                        live.call(new, |_| ()).await.unwrap();
                        total += started.elapsed();
                    }
                    total
                })
            });
        });
        // The same bytes, sent by hand.
        let context: Vec<&Message> = live.generation().context(live.history()).collect();
        let rendered = wire::render(Wire::OpenaiChat, &context);
        let (options, endpoint) = (Options::default(), endpoint(&server));
        group.bench_function(format!("bare/{messages}"), |bencher| {
            bencher.iter(|| {
                let request = Request { model: "gpt-4o", context: &rendered, tools: &[], options: &options };
                runtime.block_on(endpoint.call(request, |_| ())).unwrap()
            });
        });
        // What a call writes durably: the message, what was sent, the answer, what it took.
        let counter = *live.history().counter();
        group.bench_function(format!("flushes/{messages}"), |bencher| {
            let append = |log: &Log| {
                let tip = log.session("s").unwrap().tip;
                log.append("s", tip, vec![Incoming::of(&said(0), &counter)]).unwrap();
            };
            bencher.iter_batched(|| (), |()| (0..4).for_each(|_| append(&log)), BatchSize::SmallInput);
        });
    }
    group.finish();
}

criterion_group!(benches, calls);
criterion_main!(benches);
