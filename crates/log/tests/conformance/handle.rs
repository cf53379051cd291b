//! The log for async programs: few connections serve many callers, and work is done to its end.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use waterline_log::{AsyncLog, Log, LogError, Options, Session, Tip};

use crate::backend::{Backend, said, texts};
use crate::cases;

cases![
    a_thousand_callers_share_four_connections,
    work_that_was_given_up_is_done_to_its_end,
    several_operations_are_one_transaction,
    a_step_that_fails_is_taken_back_alone,
    threads_that_block_wait_for_a_free_connection,
];

fn four() -> Options {
    Options::default().with_connections(NonZeroUsize::new(4).unwrap()).with_cache(1024)
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(work)
}

fn a_thousand_callers_share_four_connections(backend: &dyn Backend) {
    let url = backend.other();
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let one = async |log: AsyncLog,
                     number: usize,
                     running: Arc<AtomicUsize>,
                     most: Arc<AtomicUsize>| {
        let id = format!("s{number}");
        let made = id.clone();
        log.write(move |log| {
            log.append(&log.create(Session::new(&made))?.id, Tip::EMPTY, said(&["hello", "yes"]))
        })
        .await?;
        log.run(move |log| {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let read = log.entries(&id);
            running.fetch_sub(1, Ordering::SeqCst);
            read
        })
        .await
    };
    block_on(async {
        let log = AsyncLog::open(&url, &four()).await.unwrap();
        let callers: Vec<_> = (0..1_000)
            .map(|n| tokio::spawn(one(log.clone(), n, Arc::clone(&running), Arc::clone(&most))))
            .collect();
        for caller in callers {
            assert_eq!(caller.await.unwrap().unwrap().len(), 2);
        }
    });
    assert!(most.load(Ordering::SeqCst) <= 4, "{most:?} callers were served at a time");
    assert_eq!(Log::open(&url).unwrap().stats().unwrap().sessions, 1_000);
}

fn work_that_was_given_up_is_done_to_its_end(backend: &dyn Backend) {
    let url = backend.other();
    let (go, waits) = channel::<()>();
    block_on(async {
        let log = AsyncLog::open(&url, &four()).await.unwrap();
        let given_up = log.run(move |log| {
            waits.recv().unwrap();
            log.create(Session::new("kept"))
        });
        let mut given_up = Box::pin(given_up);
        let started =
            std::future::poll_fn(|context| std::task::Poll::Ready(given_up.as_mut().poll(context)));
        assert!(started.await.is_pending());
        drop(given_up);
        go.send(()).unwrap();
        // The last handle waits for what is under way.
    });
    assert!(Log::open(&url).unwrap().session("kept").is_ok());
}

fn several_operations_are_one_transaction(backend: &dyn Backend) {
    let log = backend.open();
    block_on(async {
        let handle = log.handle();
        let refused = handle.write(|log| {
            log.create(Session::new("s"))?;
            log.append("s", Tip::EMPTY, said(&["hello"]))?;
            log.append("t", Tip::EMPTY, said(&["nobody there"]))
        });
        assert!(matches!(refused.await, Err(LogError::NoSession { .. })));
        assert!(matches!(
            handle.run(|log| log.session("s")).await,
            Err(LogError::NoSession { .. })
        ));
        let tip = handle.write(|log| {
            log.create(Session::new("s"))?;
            let tip = log.append("s", Tip::EMPTY, said(&["hello"]))?.tip;
            assert_eq!(log.session("s")?.tip, tip, "a step sees what the steps before it wrote");
            Ok(log.append("s", tip, said(&["and", "more"]))?.tip)
        });
        let tip = tip.await.unwrap();
        assert_eq!(handle.run(|log| log.session("s")).await.unwrap().tip, tip);
    });
    assert_eq!(texts(&log, "s"), ["hello", "and", "more"]);
}

fn a_step_that_fails_is_taken_back_alone(backend: &dyn Backend) {
    let log = backend.open();
    block_on(log.handle().write(|log| {
        let tip = log.append(&log.create(Session::new("s"))?.id, Tip::EMPTY, said(&["one"]))?.tip;
        // Behind a tip that has moved on, and twice the same session: both fail, and what was
        // before stays.
        assert!(matches!(
            log.append("s", Tip::EMPTY, said(&["two"])),
            Err(LogError::Conflict { .. })
        ));
        assert!(matches!(log.create(Session::new("s")), Err(LogError::Exists { .. })));
        log.append("s", tip, said(&["three"]))
    }))
    .unwrap();
    assert_eq!(texts(&log, "s"), ["one", "three"]);
}

fn threads_that_block_wait_for_a_free_connection(backend: &dyn Backend) {
    let options = Options::default().with_connections(NonZeroUsize::MIN);
    let log = Log::open_with(&backend.other(), &options).unwrap();
    log.append(&log.create(Session::new("s")).unwrap().id, Tip::EMPTY, said(&["hello"])).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| assert_eq!(texts(&log, "s"), ["hello"]));
        }
    });
}
