//! The async log: a few connections serve many callers, and work always completes.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use waterline_log::{AsyncLog, Log, LogError, Options, Session, Tip};

use crate::backend::{Backend, alternating, texts};
use crate::cases;

cases![
    a_thousand_callers_share_four_connections,
    work_completes_after_its_future_is_dropped,
    several_operations_are_one_transaction,
    a_failed_operation_is_rolled_back_without_the_others,
    blocking_threads_wait_for_a_free_connection,
    callers_wait_while_the_queue_is_full,
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
    let running = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let call =
        async |log: AsyncLog, number: usize, running: Arc<AtomicUsize>, most: Arc<AtomicUsize>| {
            let id = format!("s{number}");
            let created = id.clone();
            log.write(move |log| {
                log.append(
                    &log.create(Session::new(&created))?.id,
                    Tip::EMPTY,
                    alternating(&["hello", "yes"]),
                )
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
            .map(|n| tokio::spawn(call(log.clone(), n, Arc::clone(&running), Arc::clone(&most))))
            .collect();
        for caller in callers {
            assert_eq!(caller.await.unwrap().unwrap().len(), 2);
        }
    });
    assert!(most.load(Ordering::SeqCst) <= 4, "{most:?} callers ran at the same time");
    assert_eq!(Log::open(&url).unwrap().stats().unwrap().sessions, 1_000);
}

fn work_completes_after_its_future_is_dropped(backend: &dyn Backend) {
    let url = backend.other();
    let (start, started) = channel::<()>();
    block_on(async {
        let log = AsyncLog::open(&url, &four()).await.unwrap();
        let work = log.run(move |log| {
            started.recv().unwrap();
            log.create(Session::new("kept"))
        });
        let mut work = Box::pin(work);
        let first_poll =
            std::future::poll_fn(|context| std::task::Poll::Ready(work.as_mut().poll(context)));
        assert!(first_poll.await.is_pending());
        drop(work);
        start.send(()).unwrap();
        // Dropping the last handle waits for running work.
    });
    assert!(Log::open(&url).unwrap().session("kept").is_ok());
}

fn several_operations_are_one_transaction(backend: &dyn Backend) {
    let log = backend.open();
    block_on(async {
        let handle = log.handle();
        let refused = handle.write(|log| {
            log.create(Session::new("s"))?;
            log.append("s", Tip::EMPTY, alternating(&["hello"]))?;
            log.append("t", Tip::EMPTY, alternating(&["no such session"]))
        });
        assert!(matches!(refused.await, Err(LogError::NoSession { .. })));
        assert!(matches!(
            handle.run(|log| log.session("s")).await,
            Err(LogError::NoSession { .. })
        ));
        let tip = handle.write(|log| {
            log.create(Session::new("s"))?;
            let tip = log.append("s", Tip::EMPTY, alternating(&["hello"]))?.tip;
            assert_eq!(log.session("s")?.tip, tip, "an operation sees earlier writes");
            Ok(log.append("s", tip, alternating(&["and", "more"]))?.tip)
        });
        let tip = tip.await.unwrap();
        assert_eq!(handle.run(|log| log.session("s")).await.unwrap().tip, tip);
    });
    assert_eq!(texts(&log, "s"), ["hello", "and", "more"]);
}

fn a_failed_operation_is_rolled_back_without_the_others(backend: &dyn Backend) {
    let log = backend.open();
    block_on(log.handle().write(|log| {
        let tip =
            log.append(&log.create(Session::new("s"))?.id, Tip::EMPTY, alternating(&["one"]))?.tip;
        // A stale tip and a duplicate session: both fail, and earlier writes are kept.
        assert!(matches!(
            log.append("s", Tip::EMPTY, alternating(&["two"])),
            Err(LogError::Conflict { .. })
        ));
        assert!(matches!(log.create(Session::new("s")), Err(LogError::Exists { .. })));
        log.append("s", tip, alternating(&["three"]))
    }))
    .unwrap();
    assert_eq!(texts(&log, "s"), ["one", "three"]);
}

/// Returns whether a future is ready when it is first polled.
async fn is_ready(work: &mut (impl Future + Unpin)) -> bool {
    std::future::poll_fn(|context| {
        let poll = std::pin::Pin::new(&mut *work).poll(context);
        std::task::Poll::Ready(poll.is_ready())
    })
    .await
}

fn callers_wait_while_the_queue_is_full(backend: &dyn Backend) {
    let options = Options::default()
        .with_connections(NonZeroUsize::MIN)
        .with_queue(NonZeroUsize::new(2).unwrap());
    let log = Log::open_with(&backend.other(), &options).unwrap();
    block_on(async {
        let handle = log.handle();
        let (start, started) = channel::<()>();
        let mut running = Box::pin(handle.run(move |_| {
            let _ = started.recv();
            Ok(())
        }));
        assert!(!is_ready(&mut running).await);
        let last = handle.try_permit().unwrap();
        assert!(handle.try_permit().is_none(), "both places are taken");
        let mut waiting = Box::pin(handle.permit());
        assert!(!is_ready(&mut waiting).await);
        // A write that waits for a place is not lost while its caller waits.
        let write = handle.write(|log| log.create(Session::new("waited")).map(drop));
        handle.detach(last, |log| {
            log.create(Session::new("detached")).unwrap();
        });
        start.send(()).unwrap();
        running.await.unwrap();
        drop(waiting.await.unwrap());
        write.await.unwrap();
        let both = handle.run(|log| Ok((log.session("waited")?, log.session("detached")?)));
        both.await.unwrap();
    });
}

fn blocking_threads_wait_for_a_free_connection(backend: &dyn Backend) {
    let options = Options::default().with_connections(NonZeroUsize::MIN);
    let log = Log::open_with(&backend.other(), &options).unwrap();
    log.append(&log.create(Session::new("s")).unwrap().id, Tip::EMPTY, alternating(&["hello"]))
        .unwrap();
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| assert_eq!(texts(&log, "s"), ["hello"]));
        }
    });
}
