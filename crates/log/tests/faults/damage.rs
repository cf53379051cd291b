//! Damaged database files.

use std::io::{BufRead as _, BufReader};
use std::path::Path;

use waterline_log::{EraseTarget, Log, LogError, Session};

use crate::writer::{command, filled, message, message_text, texts};

fn with_suffix(path: &Path, suffix: &str) -> std::path::PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The writer is killed, so that the newest appends are only in the write-ahead log.
pub(crate) fn a_torn_write_ahead_log_loses_no_complete_append() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("log.db");
    let mut child = command(&format!("append {} s", file.display())).spawn().unwrap();
    // The writer prints each append when it is acknowledged.
    let acknowledged = BufReader::new(child.stdout.take().unwrap()).lines().take(40).count();
    assert_eq!(acknowledged, 40);
    child.kill().unwrap();
    child.wait().unwrap();
    let data = std::fs::read(&file).unwrap();
    let wal = std::fs::read(with_suffix(&file, "-wal")).unwrap();
    assert!(wal.len() > 50_000, "{}", wal.len());
    let mut before = 0;
    for part in 0..40 {
        let torn = directory.path().join(format!("torn-{part}.db"));
        let mut rest = wal[..wal.len() * (part + 1) / 40].to_vec();
        if part % 2 == 0 {
            // Torn in the middle of a page: old bytes follow.
            rest.extend(std::iter::repeat_n(0xA5, 3_000));
        }
        std::fs::write(&torn, &data).unwrap();
        std::fs::write(with_suffix(&torn, "-wal"), rest).unwrap();
        let log = Log::open(&torn.display().to_string()).unwrap();
        let stored = match log.session("s") {
            Ok(_) => texts(&log, "s").unwrap(),
            Err(_) => Vec::new(),
        };
        assert!(stored.iter().zip(1..).all(|(text, n)| *text == format!("s {n}")));
        assert!(stored.len() >= before, "a longer file holds at least the same appends");
        before = stored.len();
        assert_eq!(log.verify(|_, _| ()).unwrap().problems, []);
    }
    assert!(before > 10, "{before}");
}

pub(crate) fn a_damaged_page_is_reported_and_the_rest_is_readable() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("log.db");
    drop(filled(&file, 40, 100));
    let intact = std::fs::read(&file).unwrap();
    let pages = intact.len() / 4_096;
    let mut reported = 0;
    let mut readable = 0;
    for round in 0..30 {
        let page = 20 + round * (pages - 20) / 30;
        let mut damaged = intact.clone();
        damaged[page * 4_096..(page + 1) * 4_096].iter_mut().for_each(|byte| *byte ^= 0x5A);
        let path = directory.path().join(format!("damaged-{round}.db"));
        std::fs::write(&path, damaged).unwrap();
        match Log::open(&path.display().to_string()) {
            Err(error) => {
                assert!(matches!(error, LogError::Damaged { .. }), "{error}");
                reported += 1;
            }
            Ok(log) => {
                let mut all = true;
                for session in 0..40 {
                    match texts(&log, &format!("s{session}")) {
                        // A session that can be read has the right messages.
                        Ok(read) => {
                            let right = read.len() == 100
                                && read
                                    .iter()
                                    .zip(0..)
                                    .all(|(text, n)| *text == message_text(session, n));
                            assert!(right || read.len() < 100, "round {round}");
                            readable += usize::from(right);
                            all &= right;
                        }
                        Err(error) => {
                            let text = error.to_string();
                            assert!(
                                text.contains("verify")
                                    || matches!(error, LogError::NoSession { .. }),
                                "{text}"
                            );
                            all = false;
                        }
                    }
                }
                let found = log.verify(|_, _| ()).map_or(1, |found| found.problems.len());
                assert!(
                    all || found > 0,
                    "round {round}: verify finds all damage that reading finds"
                );
                reported += usize::from(found > 0);
            }
        }
    }
    // Some pages are free, and some hold only the search index, which verify does not check.
    assert!(reported >= 20, "{reported} of 30");
    assert!(readable > 30 * 40 / 2, "{readable}");
}

pub(crate) fn a_flipped_bit_in_a_message_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("log.db");
    drop(filled(&file, 3, 10));
    let mut bytes = std::fs::read(&file).unwrap();
    let needle = b"session 1 message 4";
    let at = bytes.windows(needle.len()).position(|window| window == needle).unwrap();
    bytes[at + 10] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let log = Log::open(&file.display().to_string()).unwrap();
    let read = texts(&log, "s1");
    assert!(
        matches!(&read, Err(LogError::Damaged { text, .. }) if text.as_str().contains("message 5")),
        "{read:?}"
    );
    assert_eq!(texts(&log, "s0").unwrap().len(), 10);
    assert_eq!(texts(&log, "s2").unwrap().len(), 10);
    let problems = log.verify(|_, _| ()).unwrap().problems;
    assert!(problems.iter().any(|problem| problem.as_str().contains("message 5")), "{problems:?}");
    assert!(problems.iter().any(|problem| problem.as_str().contains("session s1")), "{problems:?}");
    // Everything before the damage can still be exported.
    let mut saved = Vec::new();
    let exported = log.export(&[], &mut saved).unwrap();
    assert_eq!((exported.sessions, exported.messages, exported.damaged.len()), (3, 24, 1));
    let other = Log::open(&directory.path().join("saved.db").display().to_string()).unwrap();
    other.import(saved.as_slice(), |_, _, _| None, |_| ()).unwrap();
    assert_eq!([0, 1, 2].map(|n| texts(&other, &format!("s{n}")).unwrap().len()), [10, 4, 10]);
}

pub(crate) fn erased_text_is_gone_from_the_files() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("log.db");
    let log = filled(&file, 5, 50);
    let created = log
        .create(Session { title: "zebraquagga title".into(), ..Session::new("secret-zebraquagga") })
        .unwrap();
    let incoming = (0..200).map(|n| message(&format!("zebraquagga {n} hippogriff{n}"))).collect();
    log.append(&created.id, created.tip, incoming).unwrap();
    log.put_artifact(&created.id, "text/plain", "zebraquagga", b"zebraquagga artifact".to_vec())
        .unwrap();
    log.checkpoint(&created.id, serde_json::json!({"note": "zebraquagga"})).unwrap();
    let erased = log.erase(&EraseTarget::Session(created.id)).unwrap();
    assert_eq!(erased.messages, 200);
    let anywhere = |needle: &[u8]| {
        std::fs::read_dir(directory.path()).unwrap().any(|entry| {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            bytes.windows(needle.len()).any(|window| window == needle)
        })
    };
    assert!(anywhere(b"session 1 message 4"), "remaining text is in the files");
    assert!(!anywhere(b"zebraquagga"));
    // The index compresses common prefixes, so the suffixes of terms are stored alone.
    assert!(!anywhere(b"hippogriff"));
    assert_eq!(log.verify(|_, _| ()).unwrap().problems, []);
}

/// Undoing a change must not follow a record that damage has changed.
pub(crate) fn a_damaged_record_of_changed_files_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.db");
    let log = Log::open(&path.display().to_string()).unwrap();
    log.create(Session::new("s")).unwrap();
    let mut ids = Vec::new();
    for text in ["one", "two", "three"] {
        let tip = log.session("s").unwrap().tip;
        log.append("s", tip, vec![message(text)]).unwrap();
        ids.push(log.newest_id("s").unwrap().unwrap());
        if text == "two" {
            let record = br#"{"path":"/srv/project/a"}"#.to_vec();
            let at = log.session("s").unwrap().tip;
            log.put_file_changes("s", at, record, Vec::new()).unwrap();
        }
    }
    assert_eq!(log.file_changes_since("s", ids[0]).unwrap().redone.len(), 1);
    drop(log);
    let mut bytes = std::fs::read(&path).unwrap();
    // The number of the record, in front of its content: damage there changes the order.
    let needle = format!("{} 0", ids[1]).into_bytes();
    let at = bytes.windows(needle.len()).position(|window| window == needle).unwrap();
    bytes[at + needle.len() - 1] = b'1';
    std::fs::write(&path, bytes).unwrap();
    let log = Log::open(&path.display().to_string()).unwrap();
    let error = log.file_changes_since("s", ids[0]).unwrap_err();
    assert!(matches!(error, LogError::Damaged { .. }), "{error}");
}
