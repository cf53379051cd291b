//! Searching and growing an index of 100,000 passages, compared with reading every message again.
//! With an encoder's directory in WATERLINE_ENCODER, search with that encoder is measured too.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a benchmark fails loudly")]

use std::collections::BTreeSet;
use std::hint::black_box;
use std::path::Path;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use jiff::civil::date;
use waterline_memory::{Encoder, Index, Message, TextKind, encoder, terms, to_unit};

const MESSAGES: usize = 100_000;
const WORDS: usize = 40;
const VOCABULARY: f64 = 60_000.0;
/// A question of usual length, for the encoder; the words of the messages are not of a language.
const QUESTION: &str = "Which port did we choose for the staging database, and why?";

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
}

struct Owned {
    session: String,
    speaker: &'static str,
    text: String,
}

impl Owned {
    fn message(&self) -> Message<'_> {
        let date = Some(date(2024, 1, 1));
        Message::new(&self.session, self.speaker, &self.text).with_date(date)
    }
}

fn messages(count: usize) -> Vec<Owned> {
    let mut random = Random(7);
    let message = |at: usize| Owned {
        session: (at / 50).to_string(),
        speaker: if at.is_multiple_of(2) { "user" } else { "assistant" },
        text: random.text(WORDS),
    };
    (0..count).map(message).collect()
}

fn index(messages: &[Owned]) -> Index {
    let mut index = Index::new();
    for message in messages {
        index.add(&message.message());
    }
    index
}

/// Returns the messages with the most words of a question, without an index.
fn scan(messages: &[Owned], question: &str) -> Vec<usize> {
    let question: BTreeSet<String> = terms(question).into_iter().collect();
    let count = |message: &Owned| {
        terms(&message.text).iter().filter(|term| question.contains(*term)).count()
    };
    let mut found: Vec<(usize, usize)> = messages.iter().map(count).zip(0..).collect();
    found.sort_by_key(|(count, at)| (std::cmp::Reverse(*count), *at));
    found.into_iter().take(10).map(|(_, at)| at).collect()
}

/// Returns a vector of length 1 for each message. Their values do not matter for the time.
fn vectors(count: usize, length: usize) -> Vec<Vec<f32>> {
    let mut random = Random(13);
    let vector = |_| {
        #[expect(clippy::cast_possible_truncation, reason = "the value is at most 1")]
        let mut vector: Vec<f32> = (0..length).map(|_| random.next() as f32 - 0.5).collect();
        to_unit(&mut vector);
        vector
    };
    (0..count).map(vector).collect()
}

/// Encodes a question, finds messages by its words, and re-ranks them by vectors.
fn search_with(
    encoder: &dyn Encoder,
    index: &Index,
    vectors: &[Vec<f32>],
    words: &str,
) -> Vec<usize> {
    let question = encoder.encode(&[QUESTION], TextKind::Question).unwrap().pop().unwrap();
    let mut ranking = index.rank(words, |_| true);
    ranking.rerank(&question, &encoder.weights(), |at| vectors.get(at));
    ranking.order(10)
}

fn search(c: &mut Criterion) {
    let messages = messages(MESSAGES);
    let index = index(&messages);
    let mut random = Random(11);
    let questions: Vec<String> = (0..50).map(|_| random.text(10)).collect();
    let mut group = c.benchmark_group("100,000 passages");
    let mut asked = questions.iter().cycle();
    group.bench_function("search", |b| {
        b.iter(|| black_box(index.search(asked.next().unwrap(), 10)));
    });
    if let Ok(directory) = std::env::var("WATERLINE_ENCODER") {
        let encoder = encoder::open(Path::new(&directory)).unwrap();
        let length = encoder.encode(&[QUESTION], TextKind::Question).unwrap()[0].len();
        let vectors = vectors(MESSAGES, length);
        let mut asked = questions.iter().cycle();
        group.bench_function("search with an encoder", |b| {
            b.iter(|| black_box(search_with(&*encoder, &index, &vectors, asked.next().unwrap())));
        });
    }
    let mut asked = questions.iter().cycle();
    group.sample_size(10).bench_function("read every message", |b| {
        b.iter(|| black_box(scan(&messages, asked.next().unwrap())));
    });
    group.finish();
}

fn grow(c: &mut Criterion) {
    let some = messages(5_000);
    let mut group = c.benchmark_group("index");
    group.sample_size(10).throughput(Throughput::Elements(5_000));
    group.bench_function("5,000 passages", |b| {
        b.iter_batched(|| (), |()| index(&some), BatchSize::LargeInput);
    });
    group.bench_function("split 5,000 passages into terms", |b| {
        b.iter(|| some.iter().map(|message| terms(&message.text).len()).sum::<usize>());
    });
    group.finish();
}

criterion_group!(benches, search, grow);
criterion_main!(benches);
