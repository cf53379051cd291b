//! A session has one lease holder at a time, and a holder that lost its lease cannot write.

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use waterline_log::{EraseTarget, Log, LogError, Options, Session, Tip};

use crate::backend::{Backend, alternating};
use crate::cases;

cases![
    a_lease_has_one_holder,
    only_one_of_many_callers_gets_a_lease,
    an_expired_lease_is_taken_over,
    a_dead_holder_is_replaced_once,
    an_earlier_holder_cannot_write,
    erasing_a_session_deletes_its_lease,
    a_lease_needs_a_session,
];

const LONG: Duration = Duration::from_secs(600);

fn is_leased<T: std::fmt::Debug>(outcome: &Result<T, LogError>) -> bool {
    matches!(outcome, Err(LogError::Leased { .. }))
}

fn a_lease_has_one_holder(backend: &dyn Backend) {
    let (here, there) = (backend.open(), backend.open());
    here.create(Session::new("s")).unwrap();
    let lease = here.take_lease("s", "here", LONG).unwrap();
    match there.take_lease("s", "there", LONG) {
        Err(LogError::Leased { holder, token, .. }) => {
            assert_eq!((holder.as_str(), token), ("here", lease.token))
        }
        other => panic!("{other:?}"),
    }
    here.renew_lease(&lease, LONG).unwrap();
    assert!(is_leased(&there.take_lease("s", "there", LONG)));
    here.release_lease(&lease).unwrap();
    let next = there.take_lease("s", "there", LONG).unwrap();
    assert!(next.token > lease.token, "each holder gets a higher token");
    here.release_lease(&lease).unwrap();
    assert!(
        is_leased(&here.take_lease("s", "here", LONG)),
        "an earlier holder cannot release another's lease"
    );
    assert!(matches!(here.renew_lease(&lease, LONG), Err(LogError::LeaseLost { .. })));
}

fn only_one_of_many_callers_gets_a_lease(backend: &dyn Backend) {
    let log = backend.open();
    for round in 0..5 {
        let id = format!("s{round}");
        log.create(Session::new(&id)).unwrap();
        let taken = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for n in 0..8 {
                let log = backend.open();
                let id = &id;
                let taken = &taken;
                scope.spawn(move || match log.take_lease(id, &n.to_string(), LONG) {
                    Ok(_) => drop(taken.fetch_add(1, Ordering::Relaxed)),
                    Err(error) => assert!(matches!(error, LogError::Leased { .. }), "{error}"),
                });
            }
        });
        assert_eq!(taken.load(Ordering::Relaxed), 1);
    }
}

/// The clock for SQLite. PostgreSQL uses the server's clock, so the test waits for its short lease.
static TIME: AtomicI64 = AtomicI64::new(0);

fn an_expired_lease_is_taken_over(backend: &dyn Backend) {
    let now = 1_800_000_000_000;
    TIME.store(now, Ordering::SeqCst);
    let url = backend.other();
    let mut options = Options::default();
    if !url.starts_with("postgres") {
        options = options.with_clock(|| TIME.load(Ordering::SeqCst));
    }
    let log = Log::open_with(&url, &options).unwrap();
    log.create(Session::new("s")).unwrap();
    let short = Duration::from_secs(2);
    let lost = log.take_lease("s", "first", short).unwrap();
    assert!(is_leased(&log.take_lease("s", "second", short)));
    TIME.store(now + 2_001, Ordering::SeqCst);
    let next = until_taken(&log, "second", short);
    assert!(next.token > lost.token);
    // If the clock is set back, a lease blocks for at most twice its duration.
    TIME.store(now - 1_000_000, Ordering::SeqCst);
    assert!(until_taken(&log, "third", short).token > next.token);
    // Setting the clock back a little changes nothing.
    let held = log.take_lease("s", "third", short);
    assert!(is_leased(&held));
    TIME.fetch_sub(100, Ordering::SeqCst);
    assert!(is_leased(&log.take_lease("s", "fourth", short)));
}

fn until_taken(log: &Log, holder: &str, time: Duration) -> waterline_log::Lease {
    let start = std::time::Instant::now();
    loop {
        match log.take_lease("s", holder, time) {
            Err(LogError::Leased { .. }) if start.elapsed() < Duration::from_secs(20) => {
                std::thread::yield_now()
            }
            taken => return taken.unwrap(),
        }
    }
}

fn a_dead_holder_is_replaced_once(backend: &dyn Backend) {
    let log = backend.open();
    log.create(Session::new("s")).unwrap();
    let dead = log.take_lease("s", "dead", LONG).unwrap();
    let next = log.take_over("s", dead.token, "next", LONG).unwrap();
    assert!(next.token > dead.token);
    assert!(
        is_leased(&log.take_over("s", dead.token, "late", LONG)),
        "the lease no longer belongs to the dead holder"
    );
    assert!(matches!(log.renew_lease(&dead, LONG), Err(LogError::LeaseLost { .. })));
}

fn an_earlier_holder_cannot_write(backend: &dyn Backend) {
    let log = backend.open();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let tip = log.create(Session::new("s")).unwrap().tip;
    let first = log.take_lease("s", "first", LONG).unwrap();
    let append = |lease: &waterline_log::Lease, tip: Tip, text: &'static str| {
        let lease = lease.clone();
        runtime.block_on(log.handle().write(move |log| {
            log.check_lease(&lease)?;
            log.append("s", tip, alternating(&[text]))
        }))
    };
    let tip = append(&first, tip, "one").unwrap().tip;
    let second = log.take_over("s", first.token, "second", LONG).unwrap();
    assert!(matches!(append(&first, tip, "two"), Err(LogError::LeaseLost { .. })));
    assert_eq!(log.session("s").unwrap().tip, tip);
    append(&second, tip, "three").unwrap();
}

fn erasing_a_session_deletes_its_lease(backend: &dyn Backend) {
    let log = backend.open();
    log.create(Session::new("s")).unwrap();
    log.take_lease("s", "/home/ada", LONG).unwrap();
    log.erase(&EraseTarget::Session("s".to_owned())).unwrap();
    log.create(Session::new("s")).unwrap();
    log.take_lease("s", "again", LONG).unwrap();
}

fn a_lease_needs_a_session(backend: &dyn Backend) {
    let log = backend.open();
    let refused = log.take_lease("missing", "here", LONG);
    assert!(matches!(refused, Err(LogError::NoSession { .. })), "{refused:?}");
}
