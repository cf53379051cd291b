//! Counting tokens, compared with `tiktoken` (the Rust port of OpenAI's library) on the same texts.
#![allow(clippy::unwrap_used, reason = "a benchmark fails loudly")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use waterline::tokens::{Counter, Method};

/// About a megabyte each: our example session (code, logs, English), and Chinese.
fn texts() -> [(&'static str, String); 2] {
    let session = include_str!("../../../examples/long-session.jsonl");
    let chinese = "数据库管理系统把上下文保存在日志里，模型只看到它需要的部分。";
    [
        ("session", session.repeat(1_000_000 / session.len())),
        ("chinese", chinese.repeat(1_000_000 / chinese.len())),
    ]
}

fn count(c: &mut Criterion) {
    let tiktoken = tiktoken_rs::o200k_base().unwrap();
    let ours = Counter::new(Method::O200k, 0);
    let estimate = Counter::new("estimate".parse().unwrap(), 0);
    let mut group = c.benchmark_group("count");
    group.sample_size(10);
    for (name, text) in texts() {
        assert_eq!(ours.text(&text), tiktoken.encode_ordinary(&text).len(), "both count the same");
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_with_input(BenchmarkId::new("waterline o200k", name), &text, |b, text| {
            b.iter(|| ours.text(text))
        });
        group.bench_with_input(BenchmarkId::new("tiktoken o200k", name), &text, |b, text| {
            b.iter(|| tiktoken.encode_ordinary(text).len())
        });
        group.bench_with_input(BenchmarkId::new("waterline estimate", name), &text, |b, text| {
            b.iter(|| estimate.text(text))
        });
    }
    group.finish();
}

criterion_group!(benches, count);
criterion_main!(benches);
