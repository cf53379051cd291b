//! Single flipped bits anywhere in a file: `verify` finds every one that changes what the log
//! returns, and `export` saves everything else.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use waterline::history::History;
use waterline::message::{Message, Part, Role};
use waterline::model::Models;
use waterline::plan::{Action, Budget, Generation, Input, plan};
use waterline::policy::Policy;
use waterline::tokens::{Counter, Method};
use waterline_log::{
    Commit, ContextUpdate, EraseTarget, Fold, Incoming, Log, RewindTarget, Session, Summary, Usage,
};

use crate::reads;
use crate::writer::message;

fn counter() -> Counter {
    Counter::new(Method::Chars4, 1_000)
}

/// Appends messages to a session and stores the request context, usage and a checkpoint of each
/// call, as a turn does.
fn turns(log: &Log, id: &str, count: usize) {
    let mut session = log.create(Session::new(id)).unwrap();
    let mut history = History::new(counter());
    let mut generation = Generation::new();
    let policy = Policy::preset("auto").unwrap();
    let model = Models::builtin().unknown();
    for turn in 0..count {
        let text = format!("{id}, question {turn}: {}", "some words ".repeat(turn % 7 * 9));
        for (role, text) in [(Role::User, text.as_str()), (Role::Assistant, "It is so.")] {
            let message = Message::new(role, vec![Part::text(text)]);
            let incoming = vec![Incoming::of(&message, &counter())];
            history.append(message);
            let input = Input::new(&history, &generation, &policy, Budget::of(2_000), &model);
            let planned = plan(&input);
            let fold = matches!(planned.action, Action::Fold { .. }).then(Fold::default);
            let from = if fold.is_some() { 0 } else { generation.slots().len() };
            generation.freeze(&history, planned);
            let slots = generation.stored(&history, from);
            let head = generation.head();
            let past = history.past();
            let state = serde_json::json!({"turn": turn, "todos": ["a", "b"]});
            let commit = Commit {
                messages: incoming,
                context: Some(ContextUpdate { cleared: 0, head, past, slots, fold }),
                changes: vec![std::sync::Arc::new(move |session: &mut Session| {
                    session.state = state.as_object().cloned().unwrap_or_default();
                    session.title = format!("turn {turn}");
                    Ok(())
                })],
                usage: Some(Usage { model: "m".to_owned(), input: 10, ..Usage::default() }),
                checkpoint: Some(serde_json::json!({"step": turn})),
                tools: Some(br#"[{"name": "read_file"}]"#.to_vec()),
                ..Commit::default()
            };
            session = log.commit(&session, commit).unwrap();
        }
    }
}

/// Writes a log with rows in every table.
fn write_log(path: &Path) {
    let log = Log::open(&path.display().to_string()).unwrap();
    turns(&log, "main", 40);
    turns(&log, "other", 6);
    let fork = log.fork("main", Some(11), Some("fork".to_owned())).unwrap();
    log.append("fork", fork.tip, vec![message("another way"), message("数据库呢？")]).unwrap();
    log.clear("fork").unwrap();
    for count in 1..12 {
        log.rewind("main", RewindTarget::Messages(count % 3 + 1)).unwrap();
        log.redo("main").unwrap();
        let summary = Summary {
            version: 0,
            start: 0,
            until: count,
            target: None,
            generation: Some(1),
            text: format!("summary {count} of the beginning"),
            tokens: 4,
            original_tokens: 12,
            time: 0,
        };
        log.add_summary("main", summary).unwrap();
        let text = format!("artifact {count}: {}", "line of output\n".repeat(10));
        log.put_artifact("main", "text/plain", "artifact…", text.into_bytes()).unwrap();
        log.add_job("summary", Some("other"), &format!("{{\"job\": {count}}}")).unwrap();
        log.set_preference("ada", &format!("name {count}"), Some(&format!("value {count}")))
            .unwrap();
        let said = [Message::user(format!("hello {count}"))];
        log.note_conversation(&log.session("other").unwrap(), &said).unwrap();
        log.note_fold("other", count, count, Fold::default(), Some(1)).unwrap();
    }
    let vector = |entry: &waterline_log::Unencoded| (entry.id, vec![0.6, -0.8, 0.0]);
    let vectors: Vec<_> = log.unencoded("model-1", 50).unwrap().iter().map(vector).collect();
    log.put_vectors("model-1", &vectors).unwrap();
    log.put_note_vectors("model-1", reads::MEMORY, &[([7; 32], vec![0.0, 1.0])]).unwrap();
    let at = log.session("other").unwrap().tip;
    log.put_file_changes("other", at, b"{}".to_vec(), vec![b"a file".to_vec()]).unwrap();
    refer_to_artifacts(&log);
    erase_some(&log);
    log.take_lease("main", "holder", Duration::from_secs(60)).unwrap();
}

/// Adds a message for each artifact, through which a search finds it.
fn refer_to_artifacts(log: &Log) {
    for artifact in log.artifacts("main").unwrap() {
        let tip = log.session("other").unwrap().tip;
        let digits: String = artifact.hash.chars().take(16).collect();
        let text = format!("the whole output is artifact {digits}");
        log.append("other", tip, vec![message(&text)]).unwrap();
    }
}

/// Erases a session, so that the search index has deleted entries.
fn erase_some(log: &Log) {
    turns(log, "erased", 9);
    log.append("erased", log.session("erased").unwrap().tip, vec![message("only here")]).unwrap();
    log.erase(&EraseTarget::Session("erased".to_owned())).unwrap();
    turns(log, "later", 3);
}

/// What a user can find out about a log.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// `verify` reports a problem, or the log does not open.
    Found,
    /// `verify` reports none: what an export and all other reads return.
    Intact(Vec<u8>, Vec<String>),
}

fn examine(path: &Path) -> Outcome {
    let Ok(log) = Log::open(&path.display().to_string()) else { return Outcome::Found };
    let verified = log.verify(|_, _| ());
    let mut out = Vec::new();
    // Even a damaged log is exported without a panic.
    let exported = log.export(&[], &mut out);
    match (verified, exported) {
        (Ok(verified), Ok(exported)) if verified.problems.is_empty() => {
            assert_eq!(exported.damaged, [], "verify finds what export finds");
            Outcome::Intact(out, reads::everything(&log))
        }
        (Ok(verified), Err(error)) if verified.problems.is_empty() => {
            panic!("verify found nothing, and export failed: {error}")
        }
        _ => Outcome::Found,
    }
}

/// Returns the pages of each table and index.
fn pages(path: &Path) -> BTreeMap<String, Vec<usize>> {
    let connection = rusqlite::Connection::open(path).unwrap();
    let mut statement = connection.prepare("SELECT name, pageno FROM dbstat").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?))).unwrap();
    let mut pages: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for row in rows {
        let (name, page) = row.unwrap();
        pages.entry(name).or_default().push(usize::try_from(page).unwrap() - 1);
    }
    pages
}

/// A generator of the same numbers in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        usize::try_from((self.0 >> 33) % limit as u64).unwrap()
    }
}

pub(crate) fn every_flipped_bit_that_matters_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.db");
    write_log(&path);
    let Outcome::Intact(expected, expected_reads) = examine(&path) else {
        panic!("the log is intact")
    };
    let intact = std::fs::read(&path).unwrap();
    let flips = waterline_testkit::effort(8, 100);
    let mut random = Random(16);
    let mut found = 0;
    let mut total = 0;
    let copy = directory.path().join("copy.db");
    for (name, pages) in pages(&path) {
        for flip in 0..flips {
            let page = pages[random.below(pages.len())] * 4_096;
            // Most unused bytes are zero: three of four flips hit bytes that are not.
            let mut at = page + random.below(4_096);
            while flip % 4 > 0 && intact[at] == 0 {
                at = page + random.below(4_096);
            }
            let mut bytes = intact.clone();
            bytes[at] ^= 1 << random.below(8);
            ["", "-wal", "-shm"].iter().for_each(|suffix| {
                drop(std::fs::remove_file(directory.path().join(format!("copy.db{suffix}"))));
            });
            std::fs::write(&copy, bytes).unwrap();
            total += 1;
            match examine(&copy) {
                Outcome::Found => found += 1,
                Outcome::Intact(exported, read) => {
                    assert!(exported == expected, "byte {at}, in {name}: the export differs");
                    for (read, expected) in read.iter().zip(&expected_reads) {
                        assert_eq!(read, expected, "byte {at}, in {name}: not found");
                    }
                }
            }
        }
    }
    assert!(found * 2 > total, "{found} of {total}");
    println!("{total} flips, {found} found");
}

/// A damaged row is left out of the export and named; everything else is exported.
pub(crate) fn a_damaged_row_does_not_stop_an_export() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.db");
    write_log(&path);
    let Outcome::Intact(expected, _) = examine(&path) else { panic!("the log is intact") };
    let lines = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
    let cases: [(&[u8], usize, &str); 5] = [
        (br#"{"step":33}"#, 1, "checkpoint"),
        (b"summary 7 of the beginning", 1, "summary "),
        (br#"{"job": 4}"#, 1, "job "),
        (b"value 5", 1, "preference of user ada"),
        (b"turn 39", 10_000, "session "),
    ];
    for (needle, most_lost, named) in cases {
        let mut bytes = std::fs::read(&path).unwrap();
        let at = bytes.windows(needle.len()).position(|window| window == needle).unwrap();
        bytes[at + needle.len() - 2] ^= 2;
        let copy = directory.path().join("copy.db");
        std::fs::write(&copy, bytes).unwrap();
        let log = Log::open(&copy.display().to_string()).unwrap();
        let problems = log.verify(|_, _| ()).unwrap().problems;
        assert!(
            problems.iter().any(|problem| problem.as_str().contains(named)),
            "{named}: {problems:?}"
        );
        let mut out = Vec::new();
        let exported = log.export(&[], &mut out).unwrap();
        assert!(
            exported.damaged.iter().any(|text| text.as_str().contains(named)),
            "{:?}",
            exported.damaged
        );
        assert_eq!((exported.sessions, exported.messages), (4, 111), "{named}");
        let lost = lines(&expected) - lines(&out);
        assert!(lost <= most_lost, "{named}: {lost} lines are missing");
        let other = directory.path().join("other.db");
        drop(std::fs::remove_file(&other));
        let other = Log::open(&other.display().to_string()).unwrap();
        let imported = other.import(out.as_slice(), |_, _, _| None, |_| ()).unwrap();
        assert_eq!((imported.sessions, imported.messages), (4, 111));
    }
}

/// Returns the first place of some bytes in the pages of a table.
fn place_of(path: &Path, table: &str, needle: &[u8]) -> usize {
    let bytes = std::fs::read(path).unwrap();
    let at = pages(path)[table].iter().find_map(|page| {
        let start = page * 4_096;
        let content = &bytes[start..start + 4_096];
        let found = content.windows(needle.len()).position(|window| window == needle);
        found.map(|at| start + at)
    });
    at.unwrap_or_else(|| panic!("{table} does not have {needle:?}"))
}

/// A term that was changed in the index is still in order there, so that the database's own check
/// finds nothing; a search misses its message.
pub(crate) fn a_flipped_bit_in_the_search_index_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.db");
    let log = Log::open(&path.display().to_string()).unwrap();
    let session = log.create(Session::new("s")).unwrap();
    log.append("s", session.tip, vec![message("one"), message("the zebraquagga")]).unwrap();
    let hash = log.put_artifact("s", "text/plain", "…", b"a hippogriff".to_vec()).unwrap().hash;
    drop(log);
    let cases = [
        ("search_data", "zebraquagga", "the terms of message 2 (".to_owned()),
        ("artifact_search_data", "hippogriff", format!("the terms of artifact {hash}")),
    ];
    for (table, term, named) in cases {
        let intact = std::fs::read(&path).unwrap();
        let mut bytes = intact.clone();
        bytes[place_of(&path, table, term.as_bytes()) + term.len() - 1] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let log = Log::open(&path.display().to_string()).unwrap();
        assert!(log.search(term, None, 5).unwrap().is_empty(), "{term}");
        let problems = log.verify(|_, _| ()).unwrap().problems;
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].as_str().contains(&named), "{problems:?}");
        drop(log);
        std::fs::write(&path, intact).unwrap();
    }
}

/// The definition of a table decides how its rows are read.
pub(crate) fn a_damaged_definition_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.db");
    drop(Log::open(&path.display().to_string()).unwrap());
    let mut bytes = std::fs::read(&path).unwrap();
    let needle = b"tokenchars '_'";
    // Another character would be part of words.
    bytes[place_of(&path, "sqlite_schema", needle) + needle.len() - 2] ^= 4;
    std::fs::write(&path, bytes).unwrap();
    let log = Log::open(&path.display().to_string()).unwrap();
    let problems = log.verify(|_, _| ()).unwrap().problems;
    assert!(problems.iter().any(|text| text.as_str().contains("definition of")), "{problems:?}");
}
