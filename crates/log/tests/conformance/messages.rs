//! Appending and reading.

use std::sync::Arc;

use waterline::message::{Form, Message, Raw, Role, Wire};
use waterline_log::{Encoding, Filter, Id, Incoming, LogError, Session, Tip};

use crate::backend::{Backend, alternating, counter, parse, session, text_message, texts};
use crate::cases;

cases![
    s0_9_s3_38_append_keeps_existing_messages,
    s0_2_s2_26_sessions_survive_a_restart,
    an_id_depends_on_all_earlier_messages,
    formatting_does_not_change_an_id,
    raw_bytes_are_returned_unchanged,
    a_wire_without_a_number_is_stored_by_name,
    nul_bytes_and_invalid_utf8_are_kept,
    the_same_message_is_stored_once,
    a_resent_history_adds_only_what_is_new,
    concurrent_appends_conflict_and_lose_nothing,
    a_late_reply_is_kept_in_a_fork,
    repeating_an_append_is_safe,
    the_same_bytes_with_two_roles_are_two_messages,
    many_writers_on_many_sessions_lose_nothing,
    eight_writers_on_one_session_lose_nothing,
    invalid_ids_are_refused,
    a_very_large_message_is_stored,
    sessions_share_a_common_prefix,
];

fn s0_9_s3_38_append_keeps_existing_messages(backend: &dyn Backend) {
    let log = backend.open();
    let first = session(&log, "s", &["one", "two"]);
    let before = log.entries("s").unwrap();
    let added = log.append("s", first.tip, vec![text_message(Role::User, "three")]).unwrap();
    assert_eq!((added.new, added.tip.position()), (1, 3));
    let after = log.entries("s").unwrap();
    assert_eq!(texts(&log, "s"), ["one", "two", "three"]);
    for (old, new) in before.iter().zip(&after) {
        assert_eq!((old.id, &old.bytes, old.position), (new.id, &new.bytes, new.position));
    }
    assert!(after.iter().all(|entry| entry.tokens > 0 && entry.counter == counter().name()));
}

fn s0_2_s2_26_sessions_survive_a_restart(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["one", "two"]);
    drop(log);
    let log = backend.open();
    assert_eq!(texts(&log, "s"), ["one", "two"]);
    assert_eq!(log.session("s").unwrap().tip.position(), 2);
}

fn an_id_depends_on_all_earlier_messages(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "a", &["one", "yes"]);
    session(&log, "b", &["two", "yes"]);
    let (a, b) = (log.entries("a").unwrap(), log.entries("b").unwrap());
    assert_ne!(a[1].id, b[1].id);
    assert_eq!(a[1].id, Id::of(Some(a[0].id), a[1].role, a[1].encoding, &a[1].bytes));
    assert_eq!(log.entry(b[1].id).unwrap().bytes, b[1].bytes);
}

fn wire(text: &str) -> Incoming {
    let source = Arc::new(text.to_owned());
    let message = Message {
        raw: Raw::new(Wire::OPENAI_CHAT, Arc::clone(&source), 0..source.len()),
        form: Form::AsReceived,
        ..Message::user("hi")
    };
    Incoming::of(&message, &counter())
}

fn formatting_does_not_change_an_id(backend: &dyn Backend) {
    let log = backend.open();
    let created = log.create(Session::new("s")).unwrap();
    log.append("s", created.tip, vec![wire(r#"{"role":"user","content":"hé"}"#)]).unwrap();
    let again =
        log.resend("s", vec![wire("{ \"content\": \"h\\u00e9\",\n \"role\": \"user\" }")]).unwrap();
    assert_eq!(again.new, 0);
    // The bytes that arrived first are kept.
    assert_eq!(log.entries("s").unwrap()[0].bytes, r#"{"role":"user","content":"hé"}"#.as_bytes());
}

fn raw_bytes_are_returned_unchanged(backend: &dyn Backend) {
    let log = backend.open();
    let created = log.create(Session::new("s")).unwrap();
    let odd = "{ \"role\":\"user\",  \"n\": 1.50, \"content\":\"a\\u0000\\ud800b 数据\" }";
    log.append("s", created.tip, vec![wire(odd)]).unwrap();
    let entry = log.entries("s").unwrap().remove(0);
    assert_eq!(
        (entry.encoding, entry.bytes.as_slice()),
        (Encoding::Wire(Wire::OPENAI_CHAT), odd.as_bytes())
    );
}

fn a_wire_without_a_number_is_stored_by_name(backend: &dyn Backend) {
    let log = backend.open();
    let created = log.create(Session::new("s")).unwrap();
    let telegraph = Wire::named("telegraph").unwrap();
    let text = Arc::new("{ \"say\":  \"hello\" }".to_owned());
    let raw = Raw::new(telegraph, Arc::clone(&text), 0..text.len());
    let message = Message { raw, form: Form::AsReceived, ..Message::user("hello") };
    log.append("s", created.tip, vec![Incoming::of(&message, &counter())]).unwrap();
    let entry = backend.open().entries("s").unwrap().remove(0);
    let read = entry.message(parse);
    assert_eq!(
        (entry.wire(), read.text().as_str(), read.form),
        (Some(telegraph), "hello", Form::AsReceived)
    );
    assert_eq!(read.raw.unwrap().as_str(), text.as_str(), "the original bytes are kept");
    assert_eq!(log.verify(|_, _| ()).unwrap().problems, []);
}

fn nul_bytes_and_invalid_utf8_are_kept(backend: &dyn Backend) {
    let log = backend.open();
    let created = log.create(Session { title: "a\0b".into(), ..Session::new("s") }).unwrap();
    let bytes = b"\x00\xff\xfe{\"a\":\x80}\x00".to_vec();
    let text = text_message(Role::User, "nul \0 here");
    log.append(
        "s",
        created.tip,
        vec![Incoming::unread(Role::Tool, bytes.clone(), &counter()), text],
    )
    .unwrap();
    let entries = log.entries("s").unwrap();
    assert_eq!((entries[0].encoding, &entries[0].bytes), (Encoding::Bytes, &bytes));
    assert_eq!(texts(&log, "s")[1], "nul \0 here");
    assert_eq!(log.verify(|_, _| ()).unwrap().problems, []);
    assert_eq!(log.search("here", None, 5).unwrap().len(), 1);
}

fn the_same_message_is_stored_once(backend: &dyn Backend) {
    let log = backend.open();
    let long = "the same long output ".repeat(500);
    session(&log, "s", &["a", &long, "b", &long, "c", &long]);
    session(&log, "t", &["other", &long]);
    let stats = log.stats().unwrap();
    assert_eq!((stats.messages, stats.contents), (8, 5));
    assert!(stats.stored_bytes < stats.message_bytes / 20, "{stats:?}");
    assert_eq!(texts(&log, "s")[5], long);
}

fn a_resent_history_adds_only_what_is_new(backend: &dyn Backend) {
    let log = backend.open();
    log.create(Session::new("s")).unwrap();
    let mut history = Vec::new();
    for round in 0..60 {
        history.push(text_message(Role::User, &format!("question {round}")));
        history.push(text_message(Role::Assistant, &format!("answer {round}")));
        let added = log.resend("s", history.clone()).unwrap();
        assert_eq!((added.new, added.tip.position()), (2, 2 * (round + 1)));
    }
    assert_eq!(log.resend("s", history.clone()).unwrap().new, 0);
    assert_eq!(log.stats().unwrap().messages, 120);

    // A client that goes back and continues differently starts a new branch.
    history.truncate(4);
    history.push(text_message(Role::User, "no, otherwise"));
    assert_eq!(log.resend("s", history).unwrap().new, 1);
    assert_eq!(log.session("s").unwrap().tip.position(), 5);
    assert_eq!(log.branches("s").unwrap().len(), 2);
}

fn concurrent_appends_conflict_and_lose_nothing(backend: &dyn Backend) {
    let log = backend.open();
    let start = session(&log, "s", &["one"]).tip;
    log.append("s", start, vec![text_message(Role::Assistant, "first")]).unwrap();
    let late = log.append("s", start, vec![text_message(Role::Assistant, "second")]);
    assert!(matches!(late, Err(LogError::Conflict { position: 2, .. })), "{late:?}");
    assert_eq!(texts(&log, "s"), ["one", "first"]);
    let now = log.session("s").unwrap().tip;
    log.append("s", now, vec![text_message(Role::Assistant, "second")]).unwrap();
    assert_eq!(texts(&log, "s"), ["one", "first", "second"]);
}

fn a_late_reply_is_kept_in_a_fork(backend: &dyn Backend) {
    let log = backend.open();
    let start = session(&log, "s", &["one"]).tip;
    log.append("s", start, vec![text_message(Role::Assistant, "first")]).unwrap();
    log.append_to_side_branch("s", start, vec![text_message(Role::Assistant, "second")]).unwrap();
    assert_eq!(texts(&log, "s"), ["one", "first"]);
    let forks = log.sessions(&Filter { parent: Some("s".into()), ..Filter::default() }).unwrap();
    assert_eq!(forks.len(), 1);
    assert_eq!(texts(&log, &forks[0].id), ["one", "second"]);
}

fn repeating_an_append_is_safe(backend: &dyn Backend) {
    let log = backend.open();
    let start = session(&log, "s", &["one"]).tip;
    let messages = vec![text_message(Role::Assistant, "two"), text_message(Role::User, "three")];
    let first = log.append("s", start, messages.clone()).unwrap();
    let again = log.append("s", start, messages).unwrap();
    assert_eq!((again.new, again.tip, &again.ids), (0, first.tip, &first.ids));
    assert_eq!(texts(&log, "s"), ["one", "two", "three"]);
}

fn the_same_bytes_with_two_roles_are_two_messages(backend: &dyn Backend) {
    let log = backend.open();
    let created = log.create(Session::new("s")).unwrap();
    let hello = |role| Incoming::unread(role, b"\"hello\"".to_vec(), &counter());
    log.append("s", created.tip, vec![hello(Role::System), hello(Role::User)]).unwrap();
    let roles: Vec<Role> = log.entries("s").unwrap().iter().map(|entry| entry.role).collect();
    assert_eq!(roles, [Role::System, Role::User]);
    let other = log.create(Session::new("t")).unwrap();
    log.append("t", other.tip, vec![hello(Role::User)]).unwrap();
    assert_eq!(log.entries("t").unwrap()[0].role, Role::User);
}

fn many_writers_on_many_sessions_lose_nothing(backend: &dyn Backend) {
    let log = backend.open();
    let write = |number: usize| {
        let log = log.clone();
        std::thread::spawn(move || {
            let id = format!("s{number}");
            let mut tip = log.create(Session::new(&id)).unwrap().tip;
            for round in 0..25 {
                // The shared content is stored once, whichever writer is first.
                let incoming =
                    alternating(&[&format!("shared {round}"), &format!("own {number} {round}")]);
                tip = log.append(&id, tip, incoming).unwrap().tip;
            }
        })
    };
    for thread in (0..8).map(write).collect::<Vec<_>>() {
        thread.join().unwrap();
    }
    for number in 0..8 {
        let stored = texts(&log, &format!("s{number}"));
        assert_eq!(stored.len(), 50);
        assert_eq!(stored[49], format!("own {number} 24"));
    }
    assert_eq!(log.stats().unwrap().contents, 25 + 8 * 25);
    assert_eq!(log.verify(|_, _| ()).unwrap().problems, []);
}

fn eight_writers_on_one_session_lose_nothing(backend: &dyn Backend) {
    let log = backend.open();
    log.create(Session::new("s")).unwrap();
    let write = |number: usize| {
        let log = log.clone();
        std::thread::spawn(move || {
            for round in 0..10 {
                loop {
                    let tip = log.session("s").unwrap().tip;
                    match log.append(
                        "s",
                        tip,
                        vec![text_message(Role::User, &format!("{number} {round}"))],
                    ) {
                        Ok(_) => break,
                        Err(LogError::Conflict { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            }
        })
    };
    for thread in (0..8).map(write).collect::<Vec<_>>() {
        thread.join().unwrap();
    }
    let mut stored = texts(&log, "s");
    stored.sort();
    stored.dedup();
    assert_eq!(stored.len(), 80);
    assert_eq!(log.verify(|_, _| ()).unwrap().problems, []);
}

fn invalid_ids_are_refused(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["one"]);
    for odd in ["", "zz", "0", &"f".repeat(65), "../../etc", "\0", "数据"] {
        assert!(matches!(odd.parse::<Id>(), Err(LogError::InvalidId { .. })), "{odd:?}");
        assert!(matches!(log.session(odd), Err(LogError::NoSession { .. })), "{odd:?}");
        assert!(log.artifact(odd).is_err());
    }
    let unknown: Id = "ab".repeat(32).parse().unwrap();
    assert!(matches!(log.entry(unknown), Err(LogError::Missing { .. })));
    for odd in ["", "  ", "a\nb", "\u{1b}[31m"] {
        assert!(log.create(Session::new(odd)).is_err(), "{odd:?}");
        assert!(log.fork("s", None, Some(odd.into())).is_err(), "{odd:?}");
    }
    assert!(matches!(log.find(""), Err(LogError::NoSession { .. })));
    for odd in ["%", "_", "'", "\\"] {
        assert!(matches!(log.find(odd), Err(LogError::NoSession { .. })), "{odd:?}");
    }
}

/// The message has a hundred megabytes in a long run.
fn a_very_large_message_is_stored(backend: &dyn Backend) {
    let log = backend.open();
    let created = log.create(Session::new("s")).unwrap();
    let lines: u64 = waterline_testkit::effort(300_000, 3_700_000);
    // All lines differ, so that the message does not compress to almost nothing.
    let text: String = (0..lines)
        .map(|n| format!("line {:x} of it\n", n.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
        .collect();
    assert!(text.len() as u64 > lines * 27);
    let mut message = Incoming::unread(Role::Tool, text.clone().into_bytes(), &counter());
    message.text.clone_from(&text);
    log.append("s", created.tip, vec![message, text_message(Role::User, "and?")]).unwrap();
    let entries = log.entries("s").unwrap();
    assert!(entries[0].bytes == text.as_bytes());
    assert_eq!(entries[1].message(parse).text(), "and?");
}

fn sessions_share_a_common_prefix(backend: &dyn Backend) {
    let log = backend.open();
    for number in 0..20 {
        session(
            &log,
            &format!("s{number}"),
            &["the same system prompt", "ready", &format!("task {number}")],
        );
    }
    assert_eq!(log.stats().unwrap().messages, 2 + 20);
    assert_eq!(texts(&log, "s7"), ["the same system prompt", "ready", "task 7"]);
    assert_eq!(log.compare("s7", "s8").unwrap().shared, 2);
    assert_eq!(log.session("s7").unwrap().tip.position(), 3);
    assert_eq!(Tip::EMPTY.position(), 0);
}
