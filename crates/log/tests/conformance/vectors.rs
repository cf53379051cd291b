//! Vectors of messages and of the lines of memories.

use std::collections::{BTreeMap, BTreeSet};

use waterline::message::Role;
use waterline_log::{EraseTarget, Id, Log, NoteHash};

use crate::backend::{Backend, parse, session, text_message};
use crate::cases;

cases![
    messages_without_a_vector_are_listed_until_they_have_one,
    vectors_are_returned_by_encoder_and_message,
    more_messages_than_a_batch_have_vectors,
    a_second_vector_does_not_replace_the_first,
    erasing_deletes_the_vectors_that_no_session_shares,
    the_vectors_of_an_encoder_can_be_deleted,
    lines_of_a_memory_have_vectors,
];

fn unencoded(log: &Log, model: &str) -> Vec<String> {
    let found = log.unencoded(model, 10).unwrap();
    found.iter().map(|found| found.entry.as_ref().unwrap().message(parse).text()).collect()
}

fn id(log: &Log, session: &str, position: usize) -> Id {
    log.entries(session).unwrap()[position - 1].id
}

fn messages_without_a_vector_are_listed_until_they_have_one(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["one", "an answer", "two", "another", "three"]);
    // The same words in another session are the same content.
    session(&log, "t", &["zero", "an answer", "two"]);
    let all = unencoded(&log, "m");
    assert_eq!(all[0], "zero", "what was stored last comes first");
    assert_eq!(
        BTreeSet::from_iter(all),
        BTreeSet::from(["one", "two", "three", "zero"].map(String::from))
    );
    assert_eq!(log.unencoded("m", 2).unwrap().len(), 2);
    log.put_vectors("m", &[(id(&log, "s", 3), vec![1.0]), (id(&log, "s", 5), Vec::new())]).unwrap();
    assert_eq!(unencoded(&log, "m"), ["zero", "one"]);
    assert_eq!(unencoded(&log, "other").len(), 4);
    let tip = log.session("s").unwrap().tip;
    log.append("s", tip, vec![text_message(Role::User, "four")]).unwrap();
    assert_eq!(unencoded(&log, "m"), ["four", "zero", "one"]);
}

fn vectors_are_returned_by_encoder_and_message(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["one", "an answer", "two"]);
    log.fork("s", None, Some("f".into())).unwrap();
    session(&log, "t", &["else", "an answer", "two"]);
    let (one, two) = (id(&log, "s", 1), id(&log, "s", 3));
    log.put_vectors("a", &[(one, vec![0.6, -0.8]), (two, Vec::new())]).unwrap();
    log.put_vectors("b", &[(two, vec![0.0, 1.0, 0.0])]).unwrap();
    let found = log.vectors(&[one, two, id(&log, "t", 3), id(&log, "s", 2)]).unwrap();
    assert_eq!(found.keys().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!((found["a"].len(), found["b"].len()), (3, 2));
    let near = |stored: &[f32], expected: &[f32]| {
        assert_eq!(stored.len(), expected.len());
        assert!(stored.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-4), "{stored:?}");
    };
    near(&found["a"][&one], &[0.6, -0.8]);
    near(&found["a"][&two], &[]);
    near(&found["b"][&id(&log, "t", 3)], &[0.0, 1.0, 0.0]);
    assert_eq!(log.vectors(&[]).unwrap().len(), 0);
    assert_eq!(log.vector_counts().unwrap(), BTreeMap::from([("a".into(), 2), ("b".into(), 1)]));
}

fn more_messages_than_a_batch_have_vectors(backend: &dyn Backend) {
    let log = backend.open();
    let texts: Vec<String> = (0..250).map(|number| format!("message {number}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    session(&log, "s", &texts);
    let of_user = log.unencoded("m", 1_000).unwrap();
    let vectors: Vec<_> = of_user.iter().map(|found| (found.id, vec![1.0])).collect();
    log.put_vectors("m", &vectors).unwrap();
    let all: Vec<Id> = log.entries("s").unwrap().iter().map(|entry| entry.id).collect();
    assert_eq!(log.vectors(&all).unwrap()["m"].len(), 125);
    assert_eq!(log.verify(|_, _| ()).unwrap().problems, []);
}

/// Two processes may encode the same message.
fn a_second_vector_does_not_replace_the_first(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["one"]);
    let one = id(&log, "s", 1);
    log.put_vectors("m", &[(one, vec![1.0])]).unwrap();
    log.put_vectors("m", &[(one, vec![-1.0])]).unwrap();
    assert_eq!(log.vectors(&[one]).unwrap()["m"][&one], [1.0]);
}

fn erasing_deletes_the_vectors_that_no_session_shares(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["shared", "answer", "own"]);
    session(&log, "t", &["shared"]);
    let (shared, own) = (id(&log, "s", 1), id(&log, "s", 3));
    log.put_vectors("m", &[(shared, vec![1.0]), (own, vec![1.0])]).unwrap();
    log.erase(&EraseTarget::Session("s".into())).unwrap();
    assert_eq!(log.vector_counts().unwrap()["m"], 1);
    assert_eq!(log.vectors(&[shared, own]).unwrap()["m"].len(), 1);
    // The message was erased while it was being encoded.
    log.put_vectors("m", &[(own, vec![1.0])]).unwrap();
    assert_eq!(log.vector_counts().unwrap()["m"], 1);
    log.erase(&EraseTarget::Session("t".into())).unwrap();
    assert_eq!(log.vector_counts().unwrap().len(), 0);
    assert_eq!(log.verify(|_, _| ()).unwrap().problems, []);
}

fn the_vectors_of_an_encoder_can_be_deleted(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["one", "answer", "two"]);
    let (one, two) = (id(&log, "s", 1), id(&log, "s", 3));
    log.put_vectors("old", &[(one, vec![1.0]), (two, vec![1.0])]).unwrap();
    log.put_vectors("new", &[(one, vec![1.0])]).unwrap();
    assert_eq!(log.delete_vectors("old").unwrap(), 2);
    assert_eq!(log.vector_counts().unwrap(), BTreeMap::from([("new".into(), 1)]));
}

fn lines_of_a_memory_have_vectors(backend: &dyn Backend) {
    let log = backend.open();
    let lines: Vec<NoteHash> = (0..150).map(|number| [number; 32]).collect();
    let vectors: Vec<_> = lines.iter().map(|line| (*line, vec![1.0, 0.0])).collect();
    assert_eq!(log.unencoded_notes("a", "/m", &lines).unwrap(), lines);
    log.put_note_vectors("a", "/m", &vectors[..140]).unwrap();
    log.put_note_vectors("a", "/m", &[(lines[0], vec![0.0, 1.0]), (lines[140], vec![])]).unwrap();
    log.put_note_vectors("b", "/m", &[(lines[1], vec![0.0, 1.0])]).unwrap();
    assert_eq!(log.unencoded_notes("a", "/m", &lines).unwrap(), lines[141..]);
    assert_eq!(log.unencoded_notes("a", "/other", &lines).unwrap().len(), 150);
    let found = log.note_vectors("/m", &lines).unwrap();
    assert_eq!((found["a"].len(), found["b"].len()), (141, 1));
    assert_eq!(found["a"][&lines[0]], [1.0, 0.0], "a second vector does not replace the first");
    assert_eq!(found["a"][&lines[140]], [0.0_f32; 0]);
    assert!(log.note_vectors("/other", &lines).unwrap().is_empty());
    assert_eq!(log.verify(|_, _| ()).unwrap().problems, []);
    // What is no longer in the files goes.
    assert_eq!(log.delete_other_note_vectors("/m", &lines[..2]).unwrap(), 139);
    assert_eq!(log.note_vectors("/m", &lines).unwrap()["a"].len(), 2);
    log.delete_vectors("a").unwrap();
    assert_eq!(log.note_vectors("/m", &lines).unwrap().keys().collect::<Vec<_>>(), ["b"]);
}
