//! The time of a search in a session of 100,000 messages whose vectors are in the log, from the
//! question to the passages. With an encoder's directory in WATERLINE_ENCODER the question is
//! encoded by that encoder, otherwise by one that takes no time.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    missing_docs,
    reason = "a benchmark fails loudly"
)]

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use waterline::message::Message;
use waterline::tokens::{Counter, Method};
use waterline_log::{Id, Incoming, Log, Session};
use waterline_memory::{EncodeError, Encoder, TextKind, Weights, encoder, to_unit};
use waterline_session::{Encoders, LoadEncoder, Recall, RecallRequest};

const MESSAGES: usize = 100_000;
const WORDS: usize = 40;
const VOCABULARY: f64 = 60_000.0;

/// A small generator of numbers, so that every run has the same texts.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        f64::from(u32::try_from(self.0 >> 32).unwrap()) / f64::from(u32::MAX)
    }

    /// Returns words as frequent as in a language: the n-th has a share of about 1/n.
    fn text(&mut self, words: usize) -> String {
        let word = |share: f64| format!("w{}x ", VOCABULARY.powf(share).floor());
        (0..words).map(|_| word(self.next())).collect()
    }

    fn vector(&mut self, length: usize) -> Vec<f32> {
        #[expect(clippy::cast_possible_truncation, reason = "the value is at most 1")]
        let mut vector: Vec<f32> = (0..length).map(|_| self.next() as f32 - 0.5).collect();
        to_unit(&mut vector);
        vector
    }
}

/// Returns the same vector for every text, at once.
struct Immediate;

impl Encoder for Immediate {
    fn name(&self) -> &str {
        "immediate"
    }

    fn weights(&self) -> Weights {
        Weights::SENTENCE_VECTORS
    }

    fn understands(&self, _: &str) -> bool {
        true
    }

    fn encode(&self, texts: &[&str], _: TextKind) -> Result<Vec<Vec<f32>>, EncodeError> {
        Ok(texts.iter().map(|_| Random(3).vector(384)).collect())
    }
}

/// Appends the messages to a session and stores a vector for each message of the user.
fn fill(log: &Log, encoder: &dyn Encoder) {
    let length = encoder.encode(&["a question"], TextKind::Question).unwrap()[0].len();
    let counter = Counter::new(Method::Chars4, 1_000);
    let mut random = Random(7);
    let mut message = |at: usize| match at % 2 {
        0 => Message::user(random.text(WORDS)),
        _ => Message::assistant(random.text(WORDS)),
    };
    let mut numbers = Random(13);
    for start in (0..MESSAGES).step_by(1_000) {
        let batch: Vec<Incoming> =
            (start..start + 1_000).map(|at| Incoming::of(&message(at), &counter)).collect();
        log.append("s", log.session("s").unwrap().tip, batch).unwrap();
        let tip = log.session("s").unwrap().tip;
        let entries = log.entries_in(tip, start as u64..start as u64 + 1_000).unwrap();
        let vectors: Vec<(Id, Vec<f32>)> =
            entries.iter().step_by(2).map(|entry| (entry.id, numbers.vector(length))).collect();
        log.put_vectors(encoder.name(), &vectors).unwrap();
    }
}

fn search(criterion: &mut Criterion) {
    let directory = tempfile::tempdir().unwrap();
    let log = Log::open(&directory.path().join("log.db").display().to_string()).unwrap();
    log.create(Session::new("s")).unwrap();
    let encoder: Arc<dyn Encoder> = match std::env::var("WATERLINE_ENCODER") {
        Ok(directory) => Arc::from(encoder::open(Path::new(&directory)).unwrap()),
        Err(_) => Arc::new(Immediate),
    };
    fill(&log, &*encoder);
    let load: LoadEncoder = Box::new(move || Ok(Arc::clone(&encoder)));
    let encoders = Arc::new(Encoders::new(vec![load]).with_timeout(Duration::from_secs(5)));
    let keywords = Recall::new(|text| text);
    let vectors = Recall::new(|text| text).with_encoders(Some(encoders));
    let mut random = Random(11);
    // As long as a usual question: an encoder splits each of these words into several tokens.
    let question = |_| format!("What did we say about {}?", random.text(4));
    let questions: Vec<String> = (0..50).map(question).collect();
    let mut group = criterion.benchmark_group("100,000 messages in the log");
    for (name, recall) in [("keywords", keywords), ("vectors", vectors)] {
        recall.prepare(&log, "s").unwrap();
        let mut asked = questions.iter().cycle();
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let question = asked.next().unwrap();
                let request = RecallRequest::new(question, 5, 400);
                black_box(recall.search(&log, "s", &request).unwrap())
            });
        });
    }
    group.finish();
}

criterion_group!(benches, search);
criterion_main!(benches);
