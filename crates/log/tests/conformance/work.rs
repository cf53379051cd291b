//! Jobs, concurrent opening and imports, and usage of sub-agents.

use waterline_log::{Fold, Log, LogError, Relation, Session, Summary, Usage};

use crate::backend::{Backend, record_usage, session};
use crate::cases;

cases![
    a_job_is_replaced_and_claimed_once,
    opening_concurrently_creates_one_log,
    concurrent_imports_add_nothing_twice,
    usage_below_includes_sub_agents_and_roles,
];

/// S3.11: a session has one job of a kind, and of several processes that did its work, one claims
/// it.
fn a_job_is_replaced_and_claimed_once(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["one"]);
    session(&log, "t", &["one"]);
    log.replace_jobs("summary", "s", "first").unwrap();
    let other = log.replace_jobs("memory", "s", "other").unwrap();
    log.replace_jobs("summary", "t", "of t").unwrap();
    let key = log.replace_jobs("summary", "s", "second").unwrap();
    drop(log);
    let log = backend.open();
    let jobs = log.jobs(Some("s")).unwrap();
    let found: Vec<(i64, &str)> = jobs.iter().map(|job| (job.key, job.payload.as_str())).collect();
    assert_eq!(found, [(other, "other"), (key, "second")]);
    assert_eq!(log.jobs(None).unwrap().len(), 3);
    assert_eq!([log.claim_job(key).unwrap(), log.claim_job(key).unwrap()], [true, false]);
    assert_eq!(log.jobs(Some("s")).unwrap().len(), 1);
    let missing = log.replace_jobs("summary", "missing", "");
    assert!(matches!(missing, Err(LogError::NoSession { .. })));
}

fn opening_concurrently_creates_one_log(backend: &dyn Backend) {
    let url = backend.other();
    let open = |number: usize| {
        let url = url.clone();
        std::thread::spawn(move || {
            let log = Log::open(&url)?;
            log.create(waterline_log::Session::new(format!("s{number}")))?;
            Ok::<_, LogError>(log)
        })
    };
    let opened: Vec<Log> = (0..6)
        .map(open)
        .collect::<Vec<_>>()
        .into_iter()
        .map(|t| t.join().unwrap().unwrap())
        .collect();
    assert_eq!(opened[0].sessions(&Default::default()).unwrap().len(), 6);
}

/// Several threads import the same data at the same time.
fn concurrent_imports_add_nothing_twice(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["one", "two", "three"]);
    let note = |_| {
        let log = log.clone();
        std::thread::spawn(move || {
            let usage = |position| Usage { position, output: 7, ..Usage::default() };
            log.note_usage("s", vec![usage(1), usage(2), usage(3)]).unwrap();
            log.note_fold("s", 2, 1, Fold::default(), Some(1)).unwrap();
            let summary = Summary {
                version: 0,
                start: 0,
                until: 2,
                target: None,
                generation: Some(1),
                text: "both".into(),
                tokens: 1,
                original_tokens: 2,
                time: 9,
            };
            log.add_summary("s", summary).unwrap();
            log.checkpoint("s", serde_json::json!({})).unwrap();
        })
    };
    for thread in (0..8).map(note).collect::<Vec<_>>() {
        thread.join().unwrap();
    }
    let stats = log.stats().unwrap();
    assert_eq!((stats.calls, stats.generations, stats.summaries, stats.checkpoints), (3, 1, 1, 8));
    assert_eq!(log.summary("s").unwrap().unwrap().time, 9);
    // A call with more output than before is updated; one with less is not.
    log.note_usage(
        "s",
        vec![
            Usage { position: 2, output: 9, ..Usage::default() },
            Usage { position: 3, ..Usage::default() },
        ],
    )
    .unwrap();
    assert_eq!(
        log.usage("s").unwrap().iter().map(|usage| usage.output).collect::<Vec<_>>(),
        [7, 9, 7]
    );
}

fn usage_below_includes_sub_agents_and_roles(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["one", "two"]);
    let below = log.create_sub_agent("s").unwrap().id;
    let deeper = log.create_sub_agent(&below).unwrap().id;
    let role =
        log.create(Session { parent: Some("s".to_owned()), ..Session::new("role") }).unwrap().id;
    let fork = log.fork("s", None, Some("fork".to_owned())).unwrap().id;
    for (id, output) in [
        ("s", 1),
        (below.as_str(), 2),
        (deeper.as_str(), 4),
        (role.as_str(), 8),
        (fork.as_str(), 16),
    ] {
        record_usage(&log, id, Usage { position: 1, output, ..Usage::default() }).unwrap();
    }
    let mut reported: Vec<_> =
        log.usage_below("s").unwrap().into_iter().map(|(of, call)| (call.output, of)).collect();
    reported.sort_by_key(|(output, _)| *output);
    assert_eq!(
        reported,
        [(2, Relation::SubAgent), (4, Relation::SubAgent), (8, Relation::Main)],
        "forks are not included"
    );
    assert_eq!(log.usage_below(&deeper).unwrap().len(), 0);
}
