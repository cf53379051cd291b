//! Very long sessions.

use waterline::message::Role;
use waterline::tokens::{Counter, Method};
use waterline_log::{Incoming, Log, RewindTarget, Session};

fn message(number: u64) -> Incoming {
    let text = format!("m{number}");
    let mut incoming =
        Incoming::unread(Role::User, text.clone().into_bytes(), &Counter::new(Method::Chars4, 0));
    incoming.text = text;
    incoming.time = Some(1);
    incoming
}

/// The number of messages is a million in a long run.
pub(crate) fn a_very_long_session_works() {
    let count = waterline_testkit::effort(50_000, 1_000_000);
    let directory = tempfile::tempdir().unwrap();
    let log = Log::open(&directory.path().join("log.db").display().to_string()).unwrap();
    let mut tip = log.create(Session::new("s")).unwrap().tip;
    for part in 0..20 {
        let incoming = (0..count / 20).map(|n| message(part * (count / 20) + n)).collect();
        tip = log.append("s", tip, incoming).unwrap().tip;
    }
    assert_eq!(tip.position(), count);
    let texts = |range| -> Vec<String> {
        let entries = log.entries_in(tip, range).unwrap();
        entries.into_iter().map(|entry| String::from_utf8(entry.bytes).unwrap()).collect()
    };
    assert_eq!(texts(0..2), ["m0", "m1"]);
    assert_eq!(texts(count / 2..count / 2 + 1), [format!("m{}", count / 2)]);
    assert_eq!(texts(count - 1..count), [format!("m{}", count - 1)]);
    let fork = log.fork("s", Some(count / 10 * 7), None).unwrap();
    log.append(&fork.id, fork.tip, vec![message(1)]).unwrap();
    assert_eq!(log.compare("s", &fork.id).unwrap().shared, count / 10 * 7);
    assert_eq!(
        log.rewind("s", RewindTarget::Turns(count / 10 * 9)).unwrap().tip.position(),
        count / 10
    );
    assert_eq!(log.forward("s", None).unwrap().tip.position(), count);
    assert_eq!(log.search("m12345", Some("s"), 3).unwrap().len(), 1);
    assert_eq!(log.stats().unwrap().messages, count + 1);
}
