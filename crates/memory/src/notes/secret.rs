//! Recognizes texts that look like keys or passwords. They are not written to memory, because its
//! files are plain text that people share and put under version control.

use std::sync::LazyLock;

use regex::RegexSet;

/// The minimum length at which a mixed run of letters and digits is assumed to be a key.
const KEY_LENGTH: usize = 32;

/// Returns whether a text seems to have a key or a password in it.
#[must_use]
pub fn has_secret(text: &str) -> bool {
    #[expect(
        clippy::expect_used,
        reason = "a pattern of the program that is wrong fails every test"
    )]
    static KNOWN: LazyLock<RegexSet> = LazyLock::new(|| {
        RegexSet::new([
            r"\b(sk|pk|rk)-[A-Za-z0-9_-]{16,}",
            r"\b(ghp|gho|ghu|ghs|ghr|glpat|github_pat)[_-][A-Za-z0-9_]{16,}",
            r"\bxox[abprs]-[A-Za-z0-9-]{10,}",
            r"\b(AKIA|ASIA)[A-Z0-9]{16}\b",
            r"\bAIza[A-Za-z0-9_-]{30,}",
            r"\bhf_[A-Za-z0-9]{20,}",
            r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.",
            r"-----BEGIN [A-Z ]*PRIVATE KEY",
            concat!(
                r"(?i)\b(pass(word|phrase|wd)?|secret|api[_ -]?key|access[_ -]?token|auth[_ ",
                r"-]?token)\b\s*(is|:|=|:=)\s*\S{6,}"
            ),
            r"(密码|口令|密钥|令牌)\s*(是|为|[:：=])\s*[A-Za-z0-9]\S{5,}",
            r"[a-z][a-z0-9+.-]*://[^\s/:@]+:[^\s/@]+@",
            r"(?i)\bbearer\s+[A-Za-z0-9._~+/-]{16,}",
        ])
        .expect("the patterns of the program compile")
    });
    KNOWN.is_match(text) || text.split(is_boundary).any(is_random)
}

const fn is_boundary(c: char) -> bool {
    !(c.is_ascii_alphanumeric() || matches!(c, '+' | '='))
}

/// Whether a run of characters looks random: long, with upper and lower case and many digits. A
/// hash has one case and is not a secret.
fn is_random(run: &str) -> bool {
    let digits = run.bytes().filter(u8::is_ascii_digit).count();
    run.len() >= KEY_LENGTH
        && digits >= 4
        && run.bytes().any(|b| b.is_ascii_uppercase())
        && run.bytes().any(|b| b.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_passwords_are_recognised() {
        for text in [
            "use sk-proj-abcdefghij0123456789 for the API",
            "token ghp_abcdefghijklmnop0123456789",
            "AKIAIOSFODNN7EXAMPLE",
            "the password is hunter2hunter2",
            "api_key = 9f8e7d6c5b4a",
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
        ] {
            assert!(!has_secret(text), "{text}");
        }
    }
}
