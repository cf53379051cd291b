//! Forks, rewind and redo, clearing, comparing.

use waterline::message::Role;
use waterline_log::{LogError, Relation, RewindTarget};

use crate::backend::{Backend, session, text_message, texts};
use crate::cases;

cases![
    a_fork_continues_from_any_message,
    a_hundred_forks_copy_no_messages,
    forks_of_forks_read_as_one_history,
    rewind_and_forward,
    rewind_by_turns,
    redo_undoes_rewinds_one_by_one,
    a_side_branch_is_distinct_from_a_left_branch,
    a_retried_side_branch_is_stored_once,
    rewinding_too_far_is_refused,
    a_left_branch_is_listed_and_can_be_switched_to,
    compare_counts_shared_messages,
    c2_5_clearing_keeps_the_messages,
    any_range_of_a_session_can_be_read,
];

fn a_fork_continues_from_any_message(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["one", "two", "three", "four"]);
    let fork = log.fork("s", Some(2), Some("f".into())).unwrap();
    assert_eq!((fork.relation, fork.parent.as_deref()), (Relation::Fork, Some("s")));
    log.append("f", fork.tip, vec![text_message(Role::User, "other")]).unwrap();
    assert_eq!(texts(&log, "f"), ["one", "two", "other"]);
    assert_eq!(texts(&log, "s"), ["one", "two", "three", "four"]);
    assert!(matches!(log.fork("s", None, Some("f".into())), Err(LogError::Exists { .. })));
    assert!(log.fork("s", Some(5), None).is_err());
    assert_eq!(log.fork("s", Some(0), None).unwrap().tip.position(), 0);
}

fn a_hundred_forks_copy_no_messages(backend: &dyn Backend) {
    let log = backend.open();
    let lines: Vec<String> = (0..200).map(|n| format!("message {n}")).collect();
    session(&log, "s", &lines.iter().map(String::as_str).collect::<Vec<_>>());
    let before = log.stats().unwrap();
    for _ in 0..100 {
        log.fork("s", None, None).unwrap();
    }
    let after = log.stats().unwrap();
    assert_eq!(
        (after.messages, after.contents, after.branches),
        (before.messages, before.contents, before.branches)
    );
    assert_eq!(after.sessions, 101);
}

fn forks_of_forks_read_as_one_history(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "f0", &["m0"]);
    for depth in 1..40 {
        let fork = log.fork(&format!("f{}", depth - 1), None, Some(format!("f{depth}"))).unwrap();
        log.append(&fork.id, fork.tip, vec![text_message(Role::User, &format!("m{depth}"))])
            .unwrap();
        // The parent continues differently, so the next fork is a separate branch.
        let parent = log.session(&format!("f{}", depth - 1)).unwrap();
        log.append(&parent.id, parent.tip, vec![text_message(Role::User, "elsewhere")]).unwrap();
    }
    let expected: Vec<String> = (0..39).map(|n| format!("m{n}")).chain(["m39".into()]).collect();
    assert_eq!(texts(&log, "f39"), expected);
    assert_eq!(log.compare("f39", "f10").unwrap().shared, 11);
}

fn rewind_and_forward(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["one", "two", "three", "four", "five"]);
    assert_eq!(log.rewind("s", RewindTarget::Position(3)).unwrap().tip.position(), 3);
    assert_eq!(log.rewind("s", RewindTarget::Messages(2)).unwrap().tip.position(), 1);
    assert_eq!(texts(&log, "s"), ["one"]);
    assert_eq!(log.forward("s", Some(1)).unwrap().tip.position(), 2);
    assert_eq!(log.forward("s", None).unwrap().tip.position(), 5);
    assert_eq!(texts(&log, "s"), ["one", "two", "three", "four", "five"]);
    assert!(log.forward("s", None).is_err());
    let second = log.entries("s").unwrap()[1].id;
    assert_eq!(log.rewind("s", RewindTarget::Message(second)).unwrap().tip.position(), 2);
}

fn rewind_by_turns(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["one", "a", "two", "b", "three", "c"]);
    assert_eq!(log.rewind("s", RewindTarget::Turns(1)).unwrap().tip.position(), 4);
    assert_eq!(log.rewind("s", RewindTarget::Turns(2)).unwrap().tip.position(), 0);
    assert_eq!(log.forward("s", Some(3)).unwrap().tip.position(), 3);
    assert_eq!(log.forward("s", None).unwrap().tip.position(), 6);
    let refused = log.rewind("s", RewindTarget::Turns(4)).unwrap_err().to_string();
    assert_eq!(refused, "session s has only 3 turns; cannot undo 4");
}

fn redo_undoes_rewinds_one_by_one(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["one", "a", "two", "b", "three", "c"]);
    for _ in 0..3 {
        log.rewind("s", RewindTarget::Turns(1)).unwrap();
    }
    for position in [2, 4, 6] {
        assert_eq!(log.redo("s").unwrap().tip.position(), position);
    }
    assert!(log.redo("s").is_err());
    let back = log.rewind("s", RewindTarget::Turns(2)).unwrap();
    log.append("s", back.tip, vec![text_message(Role::User, "other")]).unwrap();
    assert!(log.redo("s").is_err(), "after appending there is nothing to redo");
    log.rewind("s", RewindTarget::Turns(1)).unwrap();
    log.redo("s").unwrap();
    assert_eq!(texts(&log, "s"), ["one", "a", "other"], "only the newest rewind is undone");
}

fn a_side_branch_is_distinct_from_a_left_branch(backend: &dyn Backend) {
    let log = backend.open();
    let start = session(&log, "s", &["one", "a", "two"]);
    log.append_to_side_branch("s", start.tip, vec![text_message(Role::Assistant, "half an ans")])
        .unwrap();
    let branches = log.branches("s").unwrap();
    let listed = branches
        .iter()
        .map(|branch| (branch.tip.position(), branch.is_current, branch.is_side_branch));
    assert_eq!(listed.collect::<Vec<_>>(), [(3, true, false), (4, false, true)]);
    assert!(log.redo("s").is_err(), "there was no rewind");
    log.rewind("s", RewindTarget::Turns(1)).unwrap();
    assert_eq!(log.redo("s").unwrap().tip.position(), 3);
}

fn rewinding_too_far_is_refused(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["one", "two"]);
    session(&log, "t", &["other"]);
    assert!(log.rewind("s", RewindTarget::Messages(3)).is_err());
    assert!(log.rewind("s", RewindTarget::Position(3)).is_err());
    let foreign = log.entries("t").unwrap()[0].id;
    assert!(log.rewind("s", RewindTarget::Message(foreign)).is_err());
    assert_eq!(log.session("s").unwrap().tip.position(), 2);
}

fn a_left_branch_is_listed_and_can_be_switched_to(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["one", "two", "three"]);
    let left = log.entries("s").unwrap()[2].id;
    let back = log.rewind("s", RewindTarget::Position(1)).unwrap();
    log.append("s", back.tip, vec![text_message(Role::Assistant, "otherwise")]).unwrap();
    assert!(log.forward("s", None).is_err());
    let branches = log.branches("s").unwrap();
    assert_eq!(branches.len(), 2);
    assert_eq!(
        (branches[1].id, branches[1].shared, branches[1].is_current),
        (Some(left), 1, false)
    );
    log.switch("s", left).unwrap();
    assert_eq!(texts(&log, "s"), ["one", "two", "three"]);
    assert_eq!(log.branches("s").unwrap().len(), 2);
}

fn compare_counts_shared_messages(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["one", "two", "three"]);
    let fork = log.fork("s", Some(2), Some("f".into())).unwrap();
    log.append(
        "f",
        fork.tip,
        vec![text_message(Role::User, "x"), text_message(Role::Assistant, "y")],
    )
    .unwrap();
    let comparison = log.compare("s", "f").unwrap();
    assert_eq!(
        (comparison.shared, comparison.left.position(), comparison.right.position()),
        (2, 3, 4)
    );
    session(&log, "t", &["unlike"]);
    assert_eq!(log.compare("s", "t").unwrap().shared, 0);
    assert_eq!(log.compare("s", "s").unwrap().shared, 3);
}

/// C2.5: a mark in the log, from which a restored session starts; rows stay.
fn c2_5_clearing_keeps_the_messages(backend: &dyn Backend) {
    let log = backend.open();
    let before = session(&log, "s", &["one", "two"]);
    log.clear("s").unwrap();
    let tip = log.append("s", before.tip, vec![text_message(Role::User, "three")]).unwrap().tip;
    assert_eq!(log.cleared("s").unwrap(), 2);
    assert_eq!(texts(&log, "s"), ["one", "two", "three"]);
    log.clear("s").unwrap();
    log.append("s", tip, vec![text_message(Role::User, "four")]).unwrap();
    assert_eq!(log.cleared("s").unwrap(), 3);
    // A fork inherits the marks of its parent. Before a mark, the older one applies.
    assert_eq!(log.cleared(&log.fork("s", None, None).unwrap().id).unwrap(), 3);
    log.rewind("s", RewindTarget::Position(2)).unwrap();
    assert_eq!(log.cleared("s").unwrap(), 2);
    log.undo_clear("s").unwrap();
    assert_eq!(log.cleared("s").unwrap(), 0);
    assert!(log.undo_clear("s").is_err());
}

fn any_range_of_a_session_can_be_read(backend: &dyn Backend) {
    let log = backend.open();
    let tip = session(&log, "s", &["one", "two", "three", "four"]).tip;
    let positions = |range| {
        log.entries_in(tip, range).unwrap().iter().map(|entry| entry.position).collect::<Vec<_>>()
    };
    assert_eq!(positions(0..2), [1, 2]);
    assert_eq!(positions(1..3), [2, 3]);
    assert_eq!(positions(3..100), [4]);
    assert!(positions(4..9).is_empty());
}

/// A writer retries if it never received the reply.
fn a_retried_side_branch_is_stored_once(backend: &dyn Backend) {
    let log = backend.open();
    let start = session(&log, "s", &["one"]);
    let partial = || vec![text_message(Role::Assistant, "half an ans")];
    for _ in 0..3 {
        let kept = log.append_to_side_branch("s", start.tip, partial()).unwrap();
        assert_eq!(kept.tip, start.tip);
    }
    assert_eq!(log.branches("s").unwrap().len(), 2);
    // If the session has moved on, the messages are stored in a fork, also once.
    log.append("s", start.tip, vec![text_message(Role::Assistant, "whole")]).unwrap();
    let other = || vec![text_message(Role::Assistant, "another ans")];
    for _ in 0..3 {
        log.append_to_side_branch("s", start.tip, other()).unwrap();
    }
    assert_eq!(log.stats().unwrap().sessions, 2, "the session and one fork");
    assert_eq!(texts(&log, "s"), ["one", "whole"]);
}
