//! Token figures of a context, as shown to users.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod test_bed;

use test_bed::{TestBed, config, policy, silent, tokens, user, whole};
use waterline_session::{Event, LiveSession};
use waterline_testkit::scripted::Scripted;

/// The newest answer is part of the context, though it was never sent. Messages that are cleared
/// and restored count again.
#[tokio::test]
async fn unsent_messages_count_also_after_undoing_a_clear() {
    let server = Scripted::new(|_| whole(&"tide ".repeat(300), 0));
    let bed = TestBed::new();
    let mut live = bed.live(&server, 100_000).await;
    assert_eq!(live.context_tokens(), 0);
    live.call(user("how high?"), silent).await.unwrap();
    let sent = live.prompt_tokens();
    let current = live.context_tokens();
    assert!(current > sent + 200, "{sent} {current}");
    bed.log().clear("s").unwrap();
    assert_eq!(bed.live(&server, 100_000).await.context_tokens(), 0);
    bed.log().undo_clear("s").unwrap();
    assert_eq!(bed.live(&server, 100_000).await.context_tokens(), current);
}

/// If the provider counts more tokens than we do, the figures of the context change. A mark given
/// in tokens is in the provider's tokens, so it stays.
#[tokio::test]
async fn all_figures_use_the_providers_scale() {
    let server = Scripted::new(|received| whole("fine", 3 * tokens(received)));
    let bed = TestBed::new();
    let mut live =
        bed.open(config(&server, 100_000, policy("auto", &[("fold.high", "50000")]))).await;
    for _ in 0..4 {
        live.call(user("word ".repeat(500)), silent).await.unwrap();
    }
    assert!(live.corrected(1_000) > 1_000);
    assert_eq!(live.high_mark(), 50_000, "as it was set");
}

/// S1.6: a program that opens the session for each message learns too that the provider counts
/// fewer tokens than we do, but not from reports that do not follow what is sent.
#[tokio::test]
async fn s1_6_the_scale_of_the_provider_is_learned_across_processes() {
    type Report = fn(usize) -> usize;
    let reports: [(Report, usize, usize); 3] =
        [(|sent| sent, 667, 930), (|sent| sent / 5, 1_000, 2_000), (|_| 2_500, 1_000, 2_000)];
    for (report, least, most) in reports {
        let server = Scripted::new(move |received| whole("fine", report(tokens(received))));
        let bed = TestBed::new();
        let mut corrected = 0;
        for at in 0..30 {
            let mut live = bed.live(&server, 1_000_000).await;
            let text = format!("{at} {}", "word ".repeat(400 + at));
            live.call(user(text), silent).await.unwrap();
            corrected = live.corrected(1_000);
            if at < 2 {
                assert!(corrected > 900, "one report changes little: {corrected}");
            }
        }
        assert!((least..=most).contains(&corrected), "{corrected}");
    }
}

/// Sends messages of a number of words until a fold, and returns its reason.
async fn reason_of_fold(live: &mut LiveSession, words: usize) -> String {
    let mut reason = String::new();
    while reason.is_empty() {
        let keep = |event: Event| {
            if let Event::Folded { reasons, .. } = event {
                reason = reasons.to_string();
            }
        };
        live.call(user("word ".repeat(words)), keep).await.unwrap();
    }
    reason
}

/// A part of the window stays free, but the window has one value everywhere.
#[tokio::test]
async fn the_reason_for_a_fold_names_the_window_that_is_shown() {
    let server = Scripted::new(|_| whole("fine", 0));
    let bed = TestBed::new();
    let mut live = bed.live(&server, 8_000).await;
    assert_eq!((live.window(), live.high_mark()), (8_000, 8_000));
    let reason = reason_of_fold(&mut live, 50).await;
    let margin = "more than the 8000 available for the prompt less a margin of 400";
    assert!(reason.contains(margin), "{reason}");
    let bed = TestBed::new();
    let reason = reason_of_fold(&mut bed.live(&server, 8_000).await, 4_500).await;
    assert!(reason.ends_with("more than the 8000 available for the prompt"), "{reason}");
}

/// The factor of the counter changes with every report. The figure of a context that only grows
/// must not become smaller because of that.
#[tokio::test]
async fn the_figure_of_a_growing_context_grows() {
    let server = Scripted::new(|received| whole("fine", tokens(received) * 7 / 10));
    let bed = TestBed::new();
    let mut live = bed.live(&server, 100_000).await;
    let mut before = 0;
    for text in ["word ".repeat(4_000).as_str(), "hello", "hello", "hello", "hello", "hello"] {
        live.call(user(text), silent).await.unwrap();
        let now = live.context_tokens();
        assert!(now > before, "{before} {now}");
        before = now;
    }
    let again = bed.live(&server, 100_000).await;
    assert_eq!(again.context_tokens(), before, "in the next process");
}

/// After undoing a clear nothing was sent: the report of the last call is about another context.
#[tokio::test]
async fn the_last_report_is_not_added_after_undoing_a_clear() {
    let server = Scripted::new(|received| whole("fine", tokens(received)));
    let bed = TestBed::new();
    let mut live = bed.live(&server, 100_000).await;
    live.call(user("word ".repeat(1_000)), silent).await.unwrap();
    let before = live.context_tokens();
    bed.log().clear("s").unwrap();
    bed.log().undo_clear("s").unwrap();
    let after = bed.live(&server, 100_000).await.context_tokens();
    assert!(after < before * 3 / 2, "{before} {after}");
}
