//! Very long sessions.

use waterline::message::Role;
use waterline_log::{Encoding, Incoming, Log, Session, To};

fn message(number: u64) -> Incoming {
    let text = format!("m{number}");
    Incoming {
        role: Role::User,
        encoding: Encoding::Bytes,
        bytes: text.clone().into_bytes(),
        tokens: 2,
        counter: "chars/4".into(),
        text,
        time: Some(1),
    }
}

/// A million messages in a long run.
pub(crate) fn a_very_long_session() {
    let many = waterline_testkit::effort(50_000, 1_000_000);
    let folder = tempfile::tempdir().unwrap();
    let log = Log::open(&folder.path().join("log.db").display().to_string()).unwrap();
    let mut tip = log.create(Session::new("s")).unwrap().tip;
    for part in 0..20 {
        let incoming = (0..many / 20).map(|n| message(part * (many / 20) + n)).collect();
        tip = log.append("s", tip, incoming).unwrap().tip;
    }
    assert_eq!(tip.position(), many);
    let texts = |range| -> Vec<String> {
        let entries = log.entries_in(tip, range).unwrap();
        entries.into_iter().map(|entry| String::from_utf8(entry.bytes).unwrap()).collect()
    };
    assert_eq!(texts(0..2), ["m0", "m1"]);
    assert_eq!(texts(many / 2..many / 2 + 1), [format!("m{}", many / 2)]);
    assert_eq!(texts(many - 1..many), [format!("m{}", many - 1)]);
    let fork = log.fork("s", Some(many / 10 * 7), None).unwrap();
    log.append(&fork.id, fork.tip, vec![message(1)]).unwrap();
    assert_eq!(log.compare("s", &fork.id).unwrap().shared, many / 10 * 7);
    assert_eq!(log.rewind("s", To::Turns(many / 10 * 9)).unwrap().tip.position(), many / 10);
    assert_eq!(log.forward("s", None).unwrap().tip.position(), many);
    assert_eq!(log.search("m12345", Some("s"), 3).unwrap().len(), 1);
    assert_eq!(log.stats().unwrap().messages, many + 1);
}
