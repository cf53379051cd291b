//! Single flipped bits anywhere in a file: `verify` finds every one that changes what the log
//! returns, and `export` saves everything else.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use waterline::history::History;
use waterline::message::{Message, Part, Role};
use waterline::model::Models;
use waterline::phrase::Phrase;
use waterline::plan::{Action, Budget, Generation, Input, plan};
use waterline::policy::Policy;
use waterline::tokens::{Counter, Method};
use waterline_log::{
    Commit, ContextUpdate, EraseTarget, Exported, Fold, Incoming, Log, LogError, Options,
    RewindTarget, Session, Summary, Usage,
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
    fill(&Log::open(&path.display().to_string()).unwrap());
}

/// Adds rows to every table.
pub(crate) fn fill(log: &Log) {
    turns(log, "main", 40);
    turns(log, "other", 6);
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
        let kind = format!("kind {count}");
        log.replace_jobs(&kind, "other", &format!("{{\"job\": {count}}}")).unwrap();
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
    refer_to_artifacts(log);
    erase_some(log);
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

/// Opens a log for `verify` and `export`.
fn open(path: &Path) -> Result<Log, LogError> {
    Log::open_with(&path.display().to_string(), &Options::default().with_salvage(true))
}

/// What a user can find out about a log.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// `verify` reports a problem, or the log does not open.
    Found,
    /// `verify` reports none: what an export and all other reads return.
    Intact(Vec<u8>, Vec<String>),
}

/// An export: its lines, and whether it names damage.
type Saved = (Vec<u8>, bool);

/// Returns what a user can find out about a log, and its export, unless the log does not open.
fn examine(path: &Path) -> (Outcome, Option<Saved>) {
    let Ok(log) = open(path) else { return (Outcome::Found, None) };
    let verified = log.verify(|_, _| ());
    let mut out = Vec::new();
    let exported = log.export(&[], &mut out).unwrap();
    let outcome = match verified {
        Ok(verified) if verified.problems.is_empty() => {
            assert_eq!(exported.damaged, [], "verify finds what export finds");
            Outcome::Intact(out.clone(), reads::everything(&log))
        }
        _ => Outcome::Found,
    };
    (outcome, Some((out, !exported.damaged.is_empty())))
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

/// Examines a copy of a log in which bits of one byte are flipped.
fn flipped(directory: &Path, intact: &[u8], at: usize, bits: u8) -> (Outcome, Option<Saved>) {
    examine(&damaged_copy(directory, intact, at, bits))
}

/// Writes a copy of a log in which bits of one byte are flipped.
fn damaged_copy(directory: &Path, intact: &[u8], at: usize, bits: u8) -> PathBuf {
    let mut bytes = intact.to_vec();
    bytes[at] ^= bits;
    ["", "-wal", "-shm"].iter().for_each(|suffix| {
        drop(std::fs::remove_file(directory.join(format!("copy.db{suffix}"))));
    });
    let copy = directory.join("copy.db");
    std::fs::write(&copy, bytes).unwrap();
    copy
}

/// Returns whether a flipped bit was found. Fails if it was not and something differs, or if an
/// export lacks something without naming it.
fn is_found(flipped: (Outcome, Option<Saved>), expected: &Outcome, place: &str) -> bool {
    let Outcome::Intact(expected, expected_reads) = expected else { panic!("the log is intact") };
    let (outcome, saved) = flipped;
    if let Some((saved, names_damage)) = saved {
        assert!(names_damage || saved == *expected, "{place}: the export is silently incomplete");
    }
    let Outcome::Intact(exported, read) = outcome else { return true };
    assert!(exported == *expected, "{place}: the export differs");
    for (read, expected) in read.iter().zip(expected_reads) {
        assert_eq!(read, expected, "{place}: not found");
    }
    false
}

pub(crate) fn every_flipped_bit_that_matters_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.db");
    write_log(&path);
    let (expected, _) = examine(&path);
    let intact = std::fs::read(&path).unwrap();
    let flips = waterline_testkit::effort(8, 100);
    let mut random = Random(16);
    let mut found = 0;
    let mut total = 0;
    for (name, pages) in pages(&path) {
        for flip in 0..flips {
            let page = pages[random.below(pages.len())] * 4_096;
            // Most unused bytes are zero: three of four flips hit bytes that are not.
            let mut at = page + random.below(4_096);
            while flip % 4 > 0 && intact[at] == 0 {
                at = page + random.below(4_096);
            }
            let outcome = flipped(directory.path(), &intact, at, 1 << random.below(8));
            total += 1;
            found += usize::from(is_found(outcome, &expected, &format!("byte {at}, in {name}")));
        }
    }
    assert!(found * 2 > total, "{found} of {total}");
    println!("{total} flips, {found} found");
}

/// Returns the values of each row of each table that are long enough to be recognized in the file.
fn values(path: &Path) -> BTreeMap<String, Vec<Vec<u8>>> {
    use rusqlite::types::ValueRef;
    let connection = rusqlite::Connection::open(path).unwrap();
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0";
    let mut statement = connection.prepare(sql).unwrap();
    let names = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let of_table = |name: String| {
        let mut statement = connection.prepare(&format!("SELECT * FROM \"{name}\"")).unwrap();
        let columns = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        let mut values = Vec::new();
        let mut count = 0;
        while let Some(row) = rows.next().unwrap() {
            count += 1;
            values.extend((0..columns).filter_map(|column| match row.get_ref(column).unwrap() {
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) if bytes.len() >= 8 => {
                    Some(bytes.to_vec())
                }
                _ => None,
            }));
        }
        assert!(count > 0, "{name} has no rows: every table must be tried");
        (name, values)
    };
    names.map(|name| of_table(name.unwrap())).collect()
}

/// The bits are in stored values. Flips anywhere in a page often hit a header, which the database
/// itself checks.
pub(crate) fn a_flipped_bit_in_any_value_is_found_or_has_no_effect() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.db");
    write_log(&path);
    let (expected, _) = examine(&path);
    let intact = std::fs::read(&path).unwrap();
    let pages = pages(&path);
    let mut random = Random(17);
    let mut tried = 0;
    let mut found = 0;
    for (name, values) in values(&path).into_iter().filter(|(_, values)| !values.is_empty()) {
        for _ in 0..waterline_testkit::effort(6, 60) {
            let value = &values[random.below(values.len())];
            let start = random.below(value.len() - 7);
            let piece = &value[start..value.len().min(start + 40)];
            // A piece that continues on another page is not found.
            let place = pages[&name].iter().find_map(|page| {
                let content = &intact[page * 4_096..(page + 1) * 4_096];
                let at = content.windows(piece.len()).position(|window| window == piece)?;
                Some(page * 4_096 + at)
            });
            let Some(place) = place else { continue };
            let at = place + random.below(piece.len());
            let outcome = flipped(directory.path(), &intact, at, 1 << random.below(8));
            tried += 1;
            found += usize::from(is_found(outcome, &expected, &format!("byte {at}, in {name}")));
        }
    }
    assert!(tried > 50 && found * 4 > tried * 3, "{found} of {tried}");
    println!("{tried} flips in values, {found} found");
}

/// A damaged row is left out of the export and named; everything else is exported.
pub(crate) fn a_damaged_row_does_not_stop_an_export() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.db");
    write_log(&path);
    let (Outcome::Intact(expected, _), _) = examine(&path) else { panic!("the log is intact") };
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

/// Exports a log with a damaged byte. It must open.
fn saved(directory: &Path, intact: &[u8], at: usize, bits: u8) -> (Vec<u8>, Exported) {
    let copy = damaged_copy(directory, intact, at, bits);
    let log = open(&copy).unwrap_or_else(|error| panic!("byte {at}: {error}"));
    let mut out = Vec::new();
    let exported = log.export(&[], &mut out).unwrap_or_else(|error| panic!("byte {at}: {error}"));
    (out, exported)
}

/// Returns the places of the bytes of a table's rows. The table must fit on one page.
fn bytes_of_rows(intact: &[u8], pages: &BTreeMap<String, Vec<usize>>, table: &str) -> Vec<usize> {
    assert_eq!(pages[table].len(), 1, "{table}");
    let page = pages[table][0] * 4_096;
    let rows = usize::from(u16::from_be_bytes([intact[page + 5], intact[page + 6]]));
    (page + rows..page + 4_096).collect()
}

/// What a branch starts with can be found from the ids of messages, and what an index has is in its
/// table, so damage there costs nothing. A damaged session costs its own settings.
pub(crate) fn damage_costs_no_more_than_what_it_hits() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.db");
    write_log(&path);
    let (Outcome::Intact(expected, _), _) = examine(&path) else { panic!("the log is intact") };
    let intact = std::fs::read(&path).unwrap();
    let pages = pages(&path);
    let count = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
    // Of each table, how many lines one flipped bit may cost.
    let cases = [
        ("format", 0),
        ("branch", 0),
        ("sqlite_autoindex_cut_1", 0),
        ("sqlite_autoindex_move_1", 0),
        ("sqlite_autoindex_preference_1", 0),
        ("sqlite_autoindex_session_1", 0),
        ("session_active", 0),
        ("preference", 1),
        ("cut", 0),
        ("move", 0),
    ];
    for (table, most_lost) in cases {
        let places = bytes_of_rows(&intact, &pages, table);
        for &at in places.iter().step_by(waterline_testkit::effort(11, 1)) {
            let bits = 1 << (at % 8);
            let (out, exported) = saved(directory.path(), &intact, at, bits);
            let place = format!("byte {at} of {table}: {:?}", exported.damaged);
            assert!(out == expected || !exported.damaged.is_empty(), "{place}");
            assert_eq!(exported.messages, 111, "{place}");
            let lost = count(&expected) - count(&out);
            assert!(lost <= most_lost, "{lost} lines are missing: {place}");
        }
    }
}

/// An older program must not be told to migrate, and a newer one is not needed.
pub(crate) fn a_damaged_format_is_named_and_the_log_exported() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.db");
    write_log(&path);
    let (Outcome::Intact(expected, _), _) = examine(&path) else { panic!("the log is intact") };
    for version in [71, 6, 0, -57] {
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.execute("UPDATE format SET version = ?1", [version]).unwrap();
        drop(connection);
        let refused = Log::open(&path.display().to_string()).unwrap_err();
        let is_older = matches!(refused, LogError::Damaged { .. });
        assert!(is_older || version == 71, "{version}: {refused}");
        let log = open(&path).unwrap();
        let mut out = Vec::new();
        let damaged = log.export(&[], &mut out).unwrap().damaged;
        assert!(out == expected, "{version}");
        let names_it = |texts: &[Phrase]| texts.iter().any(|text| text.as_str().contains("format"));
        assert!(names_it(&damaged), "{version}: {damaged:?}");
        assert!(names_it(&log.verify(|_, _| ()).unwrap().problems), "{version}");
        let written = log.set_preference("ada", "a", Some("b"));
        assert!(matches!(written, Err(LogError::Damaged { .. })), "{version}: {written:?}");
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
