//! Records of changed files.

use waterline_log::{ChangesBetween, EraseTarget, RewindTarget, content_hash};

use crate::backend::{Backend, alternating, parse, session};
use crate::cases;

cases![
    records_follow_the_moves_of_a_session,
    contents_are_stored_once_and_apart_from_artifacts,
    records_are_neither_exported_nor_imported,
];

fn texts(records: &[Vec<u8>]) -> Vec<String> {
    records.iter().map(|bytes| String::from_utf8(bytes.clone()).unwrap()).collect()
}

fn shown(changes: &ChangesBetween) -> (Vec<String>, Vec<String>) {
    (texts(&changes.undone), texts(&changes.redone))
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn records_follow_the_moves_of_a_session(backend: &dyn Backend) {
    let log = backend.open();
    let first = session(&log, "s", &["one", "a"]).tip;
    log.put_file_changes("s", first, b"1".to_vec(), vec![]).unwrap();
    log.put_file_changes("s", first, b"2".to_vec(), vec![]).unwrap();
    let second = log.append("s", first, alternating(&["two", "b"])).unwrap().tip;
    log.put_file_changes("s", second, b"3".to_vec(), vec![]).unwrap();
    let third = log.append("s", second, alternating(&["three"])).unwrap().tip;
    let end = log.newest_id("s").unwrap().unwrap();
    assert_eq!(log.file_changes_since("s", end).unwrap(), ChangesBetween::default());
    log.rewind("s", RewindTarget::Position(1)).unwrap();
    let changes = log.file_changes_since("s", end).unwrap();
    assert_eq!(shown(&changes), (owned(&["3", "2", "1"]), vec![]), "newest first");
    let start = log.newest_id("s").unwrap().unwrap();
    log.redo("s").unwrap();
    let changes = log.file_changes_since("s", start).unwrap();
    assert_eq!(shown(&changes), (vec![], owned(&["1", "2", "3"])), "oldest first");
    assert_eq!(log.session("s").unwrap().tip, third);
    // A change follows its message, so going back to the message takes it back.
    log.rewind("s", RewindTarget::Position(4)).unwrap();
    let changes = log.file_changes_since("s", end).unwrap();
    assert_eq!(shown(&changes), (owned(&["3"]), vec![]));
    // Another branch: one side is taken back, the other is made again.
    log.rewind("s", RewindTarget::Position(3)).unwrap();
    let other = log.session("s").unwrap().tip;
    let other = log.append("s", other, alternating(&["x"])).unwrap().tip;
    log.put_file_changes("s", other, b"4".to_vec(), vec![]).unwrap();
    log.append("s", other, alternating(&["y"])).unwrap();
    let there = log.newest_id("s").unwrap().unwrap();
    log.switch("s", end).unwrap();
    let changes = log.file_changes_since("s", there).unwrap();
    assert_eq!(shown(&changes), (owned(&["4"]), owned(&["3"])));
    assert!(log.file_changes_since("s", "00".repeat(32).parse().unwrap()).is_err());
    assert!(log.put_file_changes("missing", first, vec![], vec![]).is_err());
}

fn contents_are_stored_once_and_apart_from_artifacts(backend: &dyn Backend) {
    let log = backend.open();
    let tip = session(&log, "s", &["one"]).tip;
    let content = b"the content of a file\n".to_vec();
    let hash = content_hash(&content);
    log.put_file_changes("s", tip, b"1".to_vec(), vec![content.clone()]).unwrap();
    log.put_file_changes("s", tip, b"1".to_vec(), vec![content.clone()]).unwrap();
    assert_eq!(log.file_content(&hash).unwrap(), content);
    let stats = log.stats().unwrap();
    assert_eq!((stats.artifacts, stats.file_versions), (0, 1), "one content, two records");
    let bytes = log.file_version_bytes("s").unwrap();
    assert!(bytes >= content.len() as u64 && bytes == stats.file_version_bytes, "{stats:?}");
    // An output with the same text is an artifact of its own.
    let artifact = log.put_artifact("s", "text/plain", "the", content.clone()).unwrap();
    assert_eq!(log.artifacts("s").unwrap(), std::slice::from_ref(&artifact));
    assert!(log.file_content(&artifact.hash).is_err());
    log.erase(&EraseTarget::Session("s".into())).unwrap();
    assert!(log.file_content(&hash).is_err());
    let stats = log.stats().unwrap();
    assert_eq!((stats.artifacts, stats.file_versions), (0, 0));
}

fn records_are_neither_exported_nor_imported(backend: &dyn Backend) {
    let log = backend.open();
    let tip = session(&log, "s", &["one"]).tip;
    let id = log.newest_id("s").unwrap().unwrap();
    log.put_file_changes("s", tip, b"1".to_vec(), vec![b"secret".to_vec()]).unwrap();
    let forged = format!("{id} 0\n[]");
    log.put_artifact("s", "text/plain", &format!("{id} 0"), forged.into_bytes()).unwrap();
    let mut lines = Vec::new();
    log.export(&[], &mut lines).unwrap();
    let text = String::from_utf8(lines).unwrap();
    assert!(text.contains("text/plain") && !text.contains("x-waterline"), "{text}");
    let text = text.replace("text/plain", "application/x-waterline-file-changes");
    let other = waterline_log::Log::open(&backend.other()).unwrap();
    other.import(text.as_bytes(), parse, |_| ()).unwrap();
    assert_eq!(other.stats().unwrap().artifacts, 0);
    other.rewind("s", RewindTarget::Position(0)).unwrap();
    assert_eq!(other.file_changes_since("s", id).unwrap(), ChangesBetween::default());
}
