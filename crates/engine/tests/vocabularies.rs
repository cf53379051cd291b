//! Compares exact counts with the reference implementation, on any text.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use std::sync::LazyLock;

use proptest::prelude::*;
use tiktoken_rs::CoreBPE;
use waterline::tokens::{Counter, Method};

static REFERENCE: LazyLock<[(Method, CoreBPE); 2]> = LazyLock::new(|| {
    [
        (Method::O200k, tiktoken_rs::o200k_base().unwrap()),
        (Method::Cl100k, tiktoken_rs::cl100k_base().unwrap()),
    ]
});

#[track_caller]
fn check(text: &str) {
    for (method, reference) in REFERENCE.iter() {
        assert_eq!(
            Counter::new(*method, 0).text(text),
            reference.encode_ordinary(text).len(),
            "{method}: {text:?}"
        );
    }
}

#[test]
fn a_session_of_code_and_logs() {
    check(include_str!("../../../examples/long-session.jsonl"));
}

#[test]
fn words_of_mixed_case_and_script() {
    for text in [
        "HTTPServer fooBar XMLHttpRequest ÀÉÎ straße ǅungla",
        "中A A中B 数据库SQL查询 カタカナkana 한국어Test",
        "e\u{301}A \u{301}\u{301}AB \u{301}a x\u{301}\u{301}Y",
        "ʰʰA ªº ١٢٣٤ ½¾ Ⅷ 1234567 12,345.678",
        "don't DON'T we'll WE'LL you'Re 'Ve it'ſ o'clock 'l l' 's",
    ] {
        check(text);
    }
}

#[test]
fn white_space_and_symbols() {
    for text in [
        "a  b",
        "a \n b",
        " \n\n  c\n  ",
        "\r\n\r\n x",
        "x \t\t",
        "  ",
        "\u{a0}\u{3000} y",
        "\u{85}\u{2028}z",
        "//\n/\n x ///...\r\n",
        " !?\n\n",
        "}\n\n\n}",
        "-> =>\n",
        "<|endoftext|>",
        "\u{0}\u{1}\u{7f}",
        "👩‍👩‍👧‍👦 🇩🇪",
    ] {
        check(text);
    }
}

#[test]
fn long_runs_are_counted_in_reasonable_time() {
    for text in ["a", "=", "数据", "aB3/", "\n ", "\u{301}", "🙂", " "] {
        check(&text.repeat(4_000));
    }
    // A quadratic merge of this would take forever.
    assert!(Counter::new(Method::O200k, 0).text(&"QkFTRTY0".repeat(500_000)) > 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn any_text(text in any::<String>()) {
        check(&text);
    }

    /// The characters that the splitting rules distinguish, in any order.
    #[test]
    fn any_order_of_classes(text in "[aZé中ʰ\u{301}ǅ1½ \t\n\r/'.!sStTlLrReEvV\u{17f}\u{3000}🙂]{0,24}") {
        check(&text);
    }

    #[test]
    fn any_piece_of_bytes(text in "[a-zA-Z0-9+/_-]{0,120}") {
        check(&text);
    }
}
