//! Very long sessions.

use waterline::message::Role;
use waterline_log::{Encoding, Incoming, Log, Session, To};

const MILLION: u64 = 1_000_000;

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

pub(crate) fn a_million_messages() {
    let folder = tempfile::tempdir().unwrap();
    let log = Log::open(&folder.path().join("log.db").display().to_string()).unwrap();
    let mut tip = log.create(Session::new("s")).unwrap().tip;
    for part in 0..20 {
        let incoming = (0..MILLION / 20).map(|n| message(part * (MILLION / 20) + n)).collect();
        tip = log.append("s", tip, incoming).unwrap().tip;
    }
    assert_eq!(tip.position(), MILLION);
    let texts = |range| -> Vec<String> {
        let entries = log.entries_in(tip, range).unwrap();
        entries.into_iter().map(|entry| String::from_utf8(entry.bytes).unwrap()).collect()
    };
    assert_eq!(texts(0..2), ["m0", "m1"]);
    assert_eq!(texts(500_000..500_001), ["m500000"]);
    assert_eq!(texts(MILLION - 1..MILLION), ["m999999"]);
    let fork = log.fork("s", Some(700_000), None).unwrap();
    log.append(&fork.id, fork.tip, vec![message(1)]).unwrap();
    assert_eq!(log.compare("s", &fork.id).unwrap().shared, 700_000);
    assert_eq!(log.rewind("s", To::Turns(900_000)).unwrap().tip.position(), 100_000);
    assert_eq!(log.forward("s", None).unwrap().tip.position(), MILLION);
    assert_eq!(log.search("m123456", Some("s"), 3).unwrap().len(), 1);
    assert_eq!(log.stats().unwrap().messages, MILLION + 1);
}
