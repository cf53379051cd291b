//! Writers that are killed, and writers beside each other.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::time::Duration;

use waterline_log::Log;

use crate::writer::{command, texts};

/// A thousand kills in a long run.
fn kills() -> u64 {
    waterline_testkit::effort(60, 1_000)
}

/// The numbers that a writer said were acknowledged, by session.
fn acknowledged(out: impl BufRead) -> HashMap<String, usize> {
    let mut last = HashMap::new();
    for line in out.lines() {
        let line = line.unwrap();
        // The last line may be cut off by the kill.
        if let Some((id, number)) =
            line.split_once(' ').and_then(|(id, n)| Some((id, n.parse::<usize>().ok()?)))
        {
            last.insert(id.to_owned(), number);
        }
    }
    last
}

/// Every append that was acknowledged is there, and so is every checkpoint (E.21).
pub(crate) fn every_acknowledged_append_survives_kills() {
    let kills = kills();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.db").display().to_string();
    drop(Log::open(&file).unwrap());
    let (mut random, mut most, mut hit) = (0x2545_F491_4F6C_DD1D_u64, 0, 0);
    for kill in 0..kills {
        // Every hundred kills two new sessions, so that what is checked each time stays small.
        let ids = [format!("a{}", kill / 100), format!("b{}", kill / 100)];
        let mut child = command(&format!("append {file} {} {}", ids[0], ids[1])).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        // One in four may be killed while it starts, the others while they write, however long the
        // start takes here.
        if kill % 4 > 0 {
            out.read_line(&mut first).unwrap();
        }
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_micros(random >> 50));
        child.kill().unwrap();
        child.wait().unwrap();
        let log = Log::open(&file).unwrap();
        let said = acknowledged(std::io::Cursor::new(first).chain(out));
        hit += usize::from(!said.is_empty());
        for (id, number) in said {
            let said = texts(&log, &id).unwrap();
            assert!(
                said.len() >= number,
                "kill {kill}: {number} were acknowledged, {} are there",
                said.len()
            );
            // Nothing half-written: every message is whole and in its place.
            assert!(
                said.iter().zip(1..).all(|(text, n)| *text == format!("{id} {n}")),
                "kill {kill}"
            );
            // E.21: the newest checkpoint is whole, and leads to a message that is there.
            if let Some(newest) = log.checkpoints(&id).unwrap().last() {
                let message = newest.checkpoint.message.as_ref().unwrap().parse().unwrap();
                assert_eq!(
                    log.entry(message).unwrap().position,
                    newest.metadata["step"],
                    "kill {kill}"
                );
            }
            most = most.max(number);
        }
        if kill % 100 == 99 || kill + 1 == kills {
            assert_eq!(log.verify(|_, _| ()).unwrap().problems, Vec::<String>::new());
        }
    }
    eprintln!(
        "{kills} kills, {hit} of them while it was writing; up to {most} messages in a session"
    );
    assert!(hit as u64 > kills / 2, "the writers were killed before they wrote: {hit}");
}

pub(crate) fn several_processes_write_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.db").display().to_string();
    let mut children: Vec<_> =
        (0..4).map(|n| command(&format!("append {file} p{n}")).spawn().unwrap()).collect();
    // Each must get its turn: every one is listened to until it has written fifty.
    for child in &mut children {
        let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
        assert!((0..50).all(|_| lines.next().is_some_and(|line| line.is_ok())));
    }
    for mut child in children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let log = Log::open(&file).unwrap();
    for n in 0..4 {
        assert!(texts(&log, &format!("p{n}")).unwrap().len() >= 50);
    }
    assert_eq!(log.verify(|_, _| ()).unwrap().problems, Vec::<String>::new());
}
