//! Token figures of a context, as shown to users.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod test_bed;

use test_bed::{TestBed, config, policy, silent, tokens, user, whole};
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
    let high = live.high_mark();
    assert!((49_990..=50_000).contains(&high), "{high}");
}
