//! Jobs, concurrent opening and imports, and usage of sub-agents.

use std::time::Duration;

use waterline_log::{ATTEMPTS, Fold, JobState, Log, LogError, Relation, Session, Summary, Usage};

use crate::backend::{Backend, record_usage, session};
use crate::cases;

cases![
    a_job_is_taken_by_one_worker,
    a_job_survives_its_worker,
    a_job_is_retried_up_to_the_limit,
    many_workers_share_the_work,
    opening_concurrently_creates_one_log,
    concurrent_imports_add_nothing_twice,
    usage_below_includes_sub_agents_and_roles,
];

const LONG: Duration = Duration::from_secs(600);

fn a_job_is_taken_by_one_worker(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["one"]);
    log.add_job("summary", Some("s"), "first").unwrap();
    log.add_job("summary", None, "second").unwrap();
    log.add_job("memory", None, "other").unwrap();
    let job = log.take_job("summary", "w1", LONG).unwrap().unwrap();
    assert_eq!((job.payload.as_str(), job.stage, job.attempts), ("first", JobState::Running, 1));
    let next = log.take_job("summary", "w2", LONG).unwrap().unwrap();
    assert_eq!(next.payload, "second");
    assert_eq!(log.take_job("summary", "w3", LONG).unwrap(), None);
    assert!(log.finish_job(&job, "w2").is_err());
    assert!(matches!(log.add_job("summary", Some("missing"), ""), Err(LogError::NoSession { .. })));
    log.finish_job(&job, "w1").unwrap();
    assert_eq!(log.jobs(Some("s")).unwrap().len(), 0);
    assert_eq!(log.jobs(None).unwrap().len(), 2);
}

fn a_job_survives_its_worker(backend: &dyn Backend) {
    let log = backend.open();
    log.add_job("summary", None, "x").unwrap();
    let lost = log.take_job("summary", "dies", Duration::ZERO).unwrap().unwrap();
    drop(log);
    let log = backend.open();
    let again = log.take_job("summary", "lives", LONG).unwrap().unwrap();
    assert_eq!((again.key, again.attempts), (lost.key, 2));
    assert!(log.finish_job(&lost, "dies").is_err());
    log.finish_job(&again, "lives").unwrap();
}

fn a_job_is_retried_up_to_the_limit(backend: &dyn Backend) {
    let log = backend.open();
    log.add_job("summary", None, "x").unwrap();
    for attempt in 1..=ATTEMPTS {
        let job = log.take_job("summary", "w", LONG).unwrap().unwrap();
        let stage = log.fail_job(&job, "w", "no answer", Duration::ZERO).unwrap();
        assert_eq!(stage, if attempt < ATTEMPTS { JobState::Waiting } else { JobState::Failed });
    }
    assert_eq!(log.take_job("summary", "w", LONG).unwrap(), None);
    assert_eq!(log.jobs(None).unwrap()[0].error.as_deref(), Some("no answer"));
    assert_eq!(log.stats().unwrap().failed_jobs, 1);

    // A job whose workers always die fails too. A job that is not due yet is not taken.
    log.add_job("memory", None, "y").unwrap();
    for _ in 0..ATTEMPTS {
        assert!(log.take_job("memory", "w", Duration::ZERO).unwrap().is_some());
    }
    assert_eq!(log.take_job("memory", "w", LONG).unwrap(), None);
    log.add_job("later", None, "z").unwrap();
    let job = log.take_job("later", "w", LONG).unwrap().unwrap();
    log.fail_job(&job, "w", "busy", LONG).unwrap();
    assert_eq!(log.take_job("later", "w", LONG).unwrap(), None);
}

fn many_workers_share_the_work(backend: &dyn Backend) {
    let log = backend.open();
    for number in 0..60 {
        log.add_job("k", None, &number.to_string()).unwrap();
    }
    let work = |worker: usize| {
        let log = log.clone();
        std::thread::spawn(move || {
            let name = format!("w{worker}");
            let mut done = Vec::new();
            while let Some(job) = log.take_job("k", &name, LONG).unwrap() {
                log.finish_job(&job, &name).unwrap();
                done.push(job.payload);
            }
            done
        })
    };
    let workers: Vec<_> = (0..6).map(work).collect();
    let mut done: Vec<String> =
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect();
    done.sort();
    done.dedup();
    assert_eq!(done.len(), 60);
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
