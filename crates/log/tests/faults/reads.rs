//! Everything that a log returns, as text, so that two logs can be compared.

use std::fmt::Debug;

use waterline::message::Message;
use waterline::tokens::{Counter, Method};
use waterline_log::{EraseTarget, Log, Session};

/// A directory of memory files.
pub(crate) const MEMORY: &str = "/memory";

/// Terms of messages, artifacts and erased messages, alone and together, and prefixes.
const QUERIES: &[&str] = &[
    "main",
    "other",
    "later",
    "erased",
    "question",
    "some",
    "words",
    "it",
    "is",
    "so",
    "another",
    "way",
    "数据库",
    "库",
    "artifact",
    "line",
    "of",
    "output",
    "the",
    "whole",
    "only here",
    "17",
    "3",
    "qu*",
    "art* 5",
    "question 33",
    "main question some words",
    "line of output 7",
];

/// Returns the result of every operation that reads.
pub(crate) fn everything(log: &Log) -> Vec<String> {
    let mut reads = vec![
        read("sessions", log.sessions(&Default::default())),
        read("latest", log.latest()),
        read("stats", log.stats()),
        read("jobs", log.jobs(None)),
        read("preferences", log.preferences("ada")),
        read("vector counts", log.vector_counts()),
        read("unencoded", log.unencoded("model-1", 1_000)),
        read("note vectors", log.note_vectors(MEMORY, &[[7; 32]])),
        read("unencoded notes", log.unencoded_notes("model-1", MEMORY, &[[7; 32], [8; 32]])),
        read("erase", log.would_erase(&EraseTarget::User("ada".to_owned()))),
    ];
    for session in log.sessions(&Default::default()).unwrap_or_default() {
        of_session(log, &session, &mut reads);
    }
    for query in QUERIES {
        reads.push(read(query, log.search(query, None, 200)));
        reads.push(read(query, log.search(query, Some("fork"), 200)));
        reads.push(read(query, log.search_of_user(query, None, 200)));
    }
    for count in 1..12 {
        let said = [Message::user(format!("hello {count}"))];
        reads.push(read("conversation", log.find_conversation(None, &said, |_, _, _| None)));
    }
    reads
}

fn of_session(log: &Log, session: &Session, reads: &mut Vec<String>) {
    let id = session.id.as_str();
    let counter = Counter::new(Method::Chars4, 1_000);
    let entries = log.entries(id);
    let ids: Vec<_> = entries.iter().flatten().map(|entry| entry.id).collect();
    reads.extend([
        read(id, &entries),
        read(id, log.detail(session.clone(), 0..1_000)),
        read(id, log.branches(id)),
        read(id, log.checkpoints(id)),
        read(id, log.generations(id)),
        read(id, log.summaries(id)),
        read(id, log.usage(id)),
        read(id, log.usage_below(id)),
        read(id, log.artifacts(id)),
        read(id, log.cleared(id)),
        read(id, log.numbering(session)),
        read(id, log.request_context(id)),
        read(id, log.resume(id, &counter, |_, _, _| None).map(|resumed| resumed.session)),
        read(id, log.file_version_bytes(id)),
        read(id, session.tools.as_ref().map(|tools| log.tools(tools))),
        read(id, log.would_erase(&EraseTarget::Session(id.to_owned()))),
    ]);
    if let Some(&first) = ids.first() {
        reads.push(read(id, log.file_changes_since(id, first)));
    }
    for artifact in log.artifacts(id).unwrap_or_default() {
        reads.push(read(id, log.artifact(&artifact.hash)));
    }
    let vectors = log.vectors(&ids).map(|found| {
        let encoders = found.into_iter();
        let sorted = |vectors: waterline_log::Vectors| {
            vectors.into_iter().collect::<std::collections::BTreeMap<_, _>>()
        };
        encoders.map(|(model, vectors)| (model, sorted(vectors))).collect::<Vec<_>>()
    });
    reads.push(read(id, vectors));
}

fn read(what: &str, result: impl Debug) -> String {
    format!("{what}: {result:?}")
}
