//! What a context takes, as people are shown it.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod test_bed;

use test_bed::{TestBed, config, policy, silent, tokens, user, whole};
use waterline_testkit::scripted::Scripted;

/// The newest answer is part of the context though it was never sent; and what is cleared and
/// brought back counts again.
#[tokio::test]
async fn what_was_not_sent_yet_counts_also_after_a_clearing_was_taken_back() {
    let server = Scripted::new(|_| whole(&"tide ".repeat(300), 0));
    let bed = TestBed::new();
    let mut live = bed.live(&server, 100_000).await;
    assert_eq!(live.context_tokens(), 0);
    live.call(user("how high?"), silent).await.unwrap();
    let (sent, stands) = (live.prompt_tokens(), live.context_tokens());
    assert!(stands > sent + 200, "{sent} {stands}");
    bed.log().cut("s").unwrap();
    assert_eq!(bed.live(&server, 100_000).await.context_tokens(), 0);
    bed.log().uncut("s").unwrap();
    assert_eq!(bed.live(&server, 100_000).await.context_tokens(), stands);
}

/// A provider that counts more than we do moves every figure, the high mark too.
#[tokio::test]
async fn every_figure_is_on_the_scale_of_the_provider() {
    let server = Scripted::new(|received| whole("fine", 3 * tokens(received)));
    let bed = TestBed::new();
    let mut live =
        bed.open(config(&server, 100_000, policy("auto", &[("fold.high", "50000")]))).await;
    let before = live.high_mark();
    for _ in 0..4 {
        live.call(user("word ".repeat(500)), silent).await.unwrap();
    }
    assert!(live.corrected(1_000) > 1_000);
    assert_eq!(live.high_mark(), live.corrected(before));
}
