//! Recognizes texts that look like keys or passwords. They are not written to memory, because its
//! files are plain text that people share and put under version control.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

/// What is written in place of a secret.
const LEFT_OUT: &str = "[left out: it looked like a key or a password]";

/// The minimum length at which a mixed run of letters and digits is assumed to be a key.
const KEY_LENGTH: usize = 32;

/// The length of the secret keys of AWS, which contain slashes as paths do.
const AWS_KEY_LENGTH: usize = 40;

/// The minimum number of changes between upper case, lower case and digits in a random run of that
/// length.
const AWS_KEY_CHANGES: usize = 10;

/// Forms of keys that are known, and names that are followed by a password.
const KNOWN: [&str; 14] = [
    r"\b(sk|pk|rk)-[A-Za-z0-9_-]{16,}",
    r"\b(sk|pk|rk|whsec)_((live|test)_)?[A-Za-z0-9]{16,}",
    r"\b(ghp|gho|ghu|ghs|ghr|glpat|github_pat)[_-][A-Za-z0-9_]{16,}",
    r"\bxox[abprs]-[A-Za-z0-9-]{10,}",
    r"\b(AKIA|ASIA)[A-Z0-9]{16}\b",
    r"\bAIza[A-Za-z0-9_-]{30,}",
    r"\bhf_[A-Za-z0-9]{20,}",
    r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.",
    r"-----BEGIN [A-Z ]*PRIVATE KEY",
    // A name may have a prefix: `DB_PASSWORD=`, `AWS_SECRET_ACCESS_KEY=`.
    concat!(
        r"(?i)(\b|_)(pass(word|phrase|wd)|secret([_ -]?access)?([_ -]?key)?|api[_ -]?key|",
        r#"(access|auth|private)[_ -]?(key|token))["']?\s*(is|:|=|:=)\s*["']?[^\s$<{"']\S{5,}"#
    ),
    r#"(?i)(\b|_)pass["']?\s*(:|=|:=)\s*["']?[^\s$<{"']\S{5,}"#,
    r"(密码|口令|密钥|令牌)\s*(是|为|[:：=])\s*[A-Za-z0-9]\S{5,}",
    r"[a-z][a-z0-9+.-]*://[^\s/:@]+:[^\s/@]+@",
    r"(?i)\bbearer\s+[A-Za-z0-9._~+/-]{16,}",
];

/// A token and its value. The word has other meanings, so the value decides.
const TOKEN: &str = r#"(?i)(?:\b|_)token["']?\s*(?:is|:|=|:=)\s*["']?([^\s"',;]+)"#;

/// The first and the last line of a private key.
const KEY_START: &str = "PRIVATE KEY";
const KEY_END: &str = "-----END";

/// Returns whether a text seems to have a key or a password in it.
#[must_use]
pub fn has_secret(text: &str) -> bool {
    #[expect(
        clippy::expect_used,
        reason = "a pattern of the program that is wrong fails every test"
    )]
    static PATTERNS: LazyLock<(RegexSet, Regex)> = LazyLock::new(|| {
        let known = RegexSet::new(KNOWN).expect("the patterns of the program compile");
        (known, Regex::new(TOKEN).expect("the pattern of the program compiles"))
    });
    let (known, token) = &*PATTERNS;
    let is_token =
        |value: regex::Captures<'_>| value.get(1).is_some_and(|it| is_token(it.as_str()));
    known.is_match(text)
        || token.captures_iter(text).any(is_token)
        || text.split(is_boundary).any(is_random)
        || text.split(|c| is_boundary(c) && c != '/').any(is_aws_key)
}

/// Returns a text without the lines that look like secrets, and without private keys, which are
/// several lines long.
pub(crate) fn without_secrets(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut in_key = false;
    for line in text.lines() {
        if in_key && is_of_key(line) {
            in_key = !line.contains(KEY_END);
            continue;
        }
        in_key = line.contains("-----BEGIN") && line.contains(KEY_START) && !line.contains(KEY_END);
        lines.push(if has_secret(line) { LEFT_OUT.to_owned() } else { line.to_owned() });
    }
    lines
}

/// Whether a line continues a private key. A key that was cut short ends with the first other line.
fn is_of_key(line: &str) -> bool {
    let line = line.trim().trim_start_matches(['>', '|', ' ']);
    let is_header = line.starts_with("Proc-Type:") || line.starts_with("DEK-Info:");
    is_header || line.contains(KEY_END) || !line.contains(is_not_base64)
}

const fn is_not_base64(c: char) -> bool {
    !(c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '='))
}

const fn is_boundary(c: char) -> bool {
    !(c.is_ascii_alphanumeric() || matches!(c, '+' | '='))
}

/// Whether a run of characters looks random: long, with upper and lower case and many digits. A
/// hash has one case and is not a secret.
fn is_random(run: &str) -> bool {
    let digits = run.bytes().filter(u8::is_ascii_digit).count();
    run.len() >= KEY_LENGTH && digits >= 4 && has_both_cases(run)
}

/// Whether a run that may contain slashes looks random and has the length of a key of AWS. A path
/// changes less often between upper case, lower case and digits.
fn is_aws_key(run: &str) -> bool {
    // The key may follow a name: `KEY=…`.
    let run = run.rsplit('=').next().unwrap_or(run);
    let class = |b: &u8| (b.is_ascii_uppercase(), b.is_ascii_lowercase(), b.is_ascii_digit());
    let pairs = run.as_bytes().windows(2);
    let changes = pairs.filter(|pair| match pair {
        [a, b] => *a != b'/' && *b != b'/' && class(a) != class(b),
        _ => false,
    });
    run.len() == AWS_KEY_LENGTH
        && !run.starts_with('/')
        && has_both_cases(run)
        && changes.count() >= AWS_KEY_CHANGES
}

fn has_both_cases(run: &str) -> bool {
    run.bytes().any(|b| b.is_ascii_uppercase()) && run.bytes().any(|b| b.is_ascii_lowercase())
}

/// Whether the value of something called a token is one: long, with letters and digits, and neither
/// code nor a path.
fn is_token(value: &str) -> bool {
    let value = value.trim_end_matches(['.', '!', '?']);
    let is_of_token = |c: char| c.is_ascii_alphanumeric() || "-_.~+/=".contains(c);
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    let is_path = value.contains('/') && value.contains('.');
    value.len() >= 8 && digits >= 2 && letters >= 2 && value.chars().all(is_of_token) && !is_path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_passwords_are_recognized() {
        for text in [
            "use sk-proj-abcdefghij0123456789 for the API",
            "the key of the shop is sk_live_4eC39HqLyjWDarjtT1zdp7dc",
            "token ghp_abcdefghijklmnop0123456789",
            "AKIAIOSFODNN7EXAMPLE",
            "the password is hunter2hunter2",
            "DB_PASSWORD=swordfish",
            "export DB_PASS='swordfish'",
            "\"db_password\": \"swordfish\"",
            "AWS_SECRET_ACCESS_KEY=aaaabbbbccccdddd",
            "the key is wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "api_key = 9f8e7d6c5b4a",
            "the token is 9f8e7d6c5b4a.",
            "X_TOKEN=9f8e7d6c5b4a",
            "GITHUB_TOKEN: \"abcdef012345\"",
            "密码是abc123xyz",
            "postgres://ada:lovelace@db.example/prod",
            "Zx8Kq2Lm9Pw4Rt7Yv3Bn6Hc1Jd5Fg0Sa",
            "-----BEGIN OPENSSH PRIVATE KEY-----",
        ] {
            assert!(has_secret(text), "{text}");
        }
    }

    #[test]
    fn ordinary_facts_are_not_secrets() {
        for text in [
            "The staging database is on port 5433.",
            "commit 3f786850e387550fdab836ed7e6dc881de23001b broke the build",
            "always write tests before the password screen changes",
            "see https://example.com/a/b?c=d",
            "session 550e8400-e29b-41d4-a716-446655440000",
            "the door code is 4711",
            "token: 4 chars",
            "tokens are counted",
            "the token is expired",
            "max_tokens = 200000",
            "token = lexer.next(2)",
            "token: src/parser/token2.rs",
            "DB_PASSWORD=${DB_PASSWORD}",
            "the second pass is slower",
            "crates/memory/src/Notes2/Secret/WithinTest",
            "/home/Ada/Projects/Waterline2/Crates/Memo",
            "the index pk_order_item_customer_by_created_at",
        ] {
            assert!(!has_secret(text), "{text}");
        }
    }

    #[test]
    fn private_key_is_left_out_to_its_end() {
        let text = "- before\n-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\
                    MIIEowIBAAKCAQEA\nabcd\n-----END RSA PRIVATE KEY-----\n- after";
        assert_eq!(without_secrets(text), ["- before", LEFT_OUT, "- after"]);
        let cut = "-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n- the next entry";
        assert_eq!(without_secrets(cut), [LEFT_OUT, "- the next entry"]);
        let one_line = "-----BEGIN PRIVATE KEY----- MIIE -----END PRIVATE KEY-----\nplain";
        assert_eq!(without_secrets(one_line), [LEFT_OUT, "plain"]);
    }
}
