//! Killed writers and concurrent writers.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::time::Duration;

use waterline_log::Log;

use crate::writer::{command, texts};

/// The number of kills; a thousand in a long run.
fn kills() -> u64 {
    waterline_testkit::effort(60, 1_000)
}

/// Returns the last acknowledged number of each session, from a writer's output.
fn acknowledged(out: impl BufRead) -> HashMap<String, usize> {
    let mut last = HashMap::new();
    for line in out.lines() {
        let line = line.unwrap();
        // The kill may truncate the last line.
        if let Some((id, number)) =
            line.split_once(' ').and_then(|(id, n)| Some((id, n.parse::<usize>().ok()?)))
        {
            last.insert(id.to_owned(), number);
        }
    }
    last
}

/// Every acknowledged append and every checkpoint is stored (E.21).
pub(crate) fn every_acknowledged_append_survives_kills() {
    let kills = kills();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("log.db").display().to_string();
    drop(Log::open(&file).unwrap());
    let mut random = 0x2545_F491_4F6C_DD1D_u64;
    let mut max_messages = 0;
    let mut hits = 0;
    for kill in 0..kills {
        // Two new sessions every hundred kills, so that each check stays small.
        let ids = [format!("a{}", kill / 100), format!("b{}", kill / 100)];
        let mut child = command(&format!("append {file} {} {}", ids[0], ids[1])).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        // One in four may be killed while it starts, the others only while they write.
        if kill % 4 > 0 {
            out.read_line(&mut first).unwrap();
        }
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_micros(random >> 50));
        child.kill().unwrap();
        child.wait().unwrap();
        let log = Log::open(&file).unwrap();
        let acknowledged = acknowledged(std::io::Cursor::new(first).chain(out));
        hits += usize::from(!acknowledged.is_empty());
        for (id, number) in acknowledged {
            let stored = texts(&log, &id).unwrap();
            assert!(
                stored.len() >= number,
                "kill {kill}: {number} acknowledged, {} stored",
                stored.len()
            );
            // Every message is complete and in order.
            assert!(
                stored.iter().zip(1..).all(|(text, n)| *text == format!("{id} {n}")),
                "kill {kill}"
            );
            // E.21: the newest checkpoint is complete and refers to a stored message.
            if let Some(newest) = log.checkpoints(&id).unwrap().last() {
                let message = newest.checkpoint.message.as_ref().unwrap().parse().unwrap();
                assert_eq!(
                    log.entry(message).unwrap().position,
                    newest.metadata["step"],
                    "kill {kill}"
                );
            }
            max_messages = max_messages.max(number);
        }
        if kill % 100 == 99 || kill + 1 == kills {
            assert_eq!(log.verify(|_, _| ()).unwrap().problems, []);
        }
    }
    eprintln!(
        "{kills} kills, {hits} of them while writing; up to {max_messages} messages per session"
    );
    assert!(hits as u64 > kills / 2, "most writers were killed before they wrote: {hits}");
}

pub(crate) fn several_processes_write_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("log.db").display().to_string();
    let mut children: Vec<_> =
        (0..4).map(|n| command(&format!("append {file} p{n}")).spawn().unwrap()).collect();
    // No writer may starve: wait until each has written fifty messages.
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
    assert_eq!(log.verify(|_, _| ()).unwrap().problems, []);
}
