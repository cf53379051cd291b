//! The surprise of a model at recorded answers: the negative log-likelihood per token of what the
//! agent wrote next. Lower is better. This module has the arithmetic; a server computes the
//! log-probabilities.

use crate::chatml::{ANSWER_HEADER, Prompt};
use crate::price::tokens;

/// A token of a prompt with its log-probability. The first token of a prompt has none.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    /// The text. Parts of a character may be shown as replacement characters.
    pub text: String,
    /// The natural logarithm of its probability, given the tokens before it.
    pub logprob: Option<f64>,
}

/// The score of one or more answers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// Number of answers.
    pub answers: usize,
    /// Number of tokens in them.
    pub tokens: usize,
    /// The sum of their negative log-likelihoods, in nats.
    pub nats: f64,
}

impl Score {
    /// Computes the score of the answer in a prompt. Returns `None` if the answer is not found in
    /// the tokens or has no log-probability.
    #[must_use]
    pub fn of_answer(prompt: &Prompt, all: &[Token]) -> Option<Self> {
        let text: String = all.iter().map(|token| token.text.as_str()).collect();
        // The header is searched first: tokens that are parts of a character change the text of an
        // answer. Some servers do not show the header's special tokens.
        let start = match text.rfind(ANSWER_HEADER) {
            Some(at) => at + ANSWER_HEADER.len(),
            None => text.rfind(&prompt.answer)?,
        };
        let mut position = 0;
        let mut score = Self { answers: 1, ..Self::default() };
        for token in all {
            if position >= start
                && let Some(logprob) = token.logprob
            {
                score.tokens += 1;
                score.nats -= logprob;
            }
            position += token.text.len();
        }
        (score.tokens > 0 && score.nats.is_finite()).then_some(score)
    }

    /// Adds another score.
    pub fn add(&mut self, other: &Self) {
        self.answers += other.answers;
        self.tokens += other.tokens;
        self.nats += other.nats;
    }
}

/// The scores of many sessions, as sums from which the mean and its interval follow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Surprise {
    /// Number of sessions.
    pub sessions: usize,
    /// The total of all sessions.
    pub total: Score,
    /// The sum of tokens × tokens over the sessions.
    tokens_squared: f64,
    /// The sum of tokens × nats.
    products: f64,
    /// The sum of nats × nats.
    nats_squared: f64,
}

impl Surprise {
    /// Adds the score of one session.
    pub fn add_session(&mut self, score: &Score) {
        let count = tokens(score.tokens);
        self.sessions += 1;
        self.total.add(score);
        self.tokens_squared += count * count;
        self.products += count * score.nats;
        self.nats_squared += score.nats * score.nats;
    }

    /// Adds the sessions of another sum.
    pub fn add(&mut self, other: &Self) {
        self.sessions += other.sessions;
        self.total.add(&other.total);
        self.tokens_squared += other.tokens_squared;
        self.products += other.products;
        self.nats_squared += other.nats_squared;
    }

    /// Returns the mean negative log-likelihood per token; `None` if nothing was scored.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.total.tokens > 0).then(|| self.total.nats / tokens(self.total.tokens))
    }

    /// Returns half the width of the 95% interval of the mean. It is an interval over sessions,
    /// because the answers of one session resemble each other; `None` for fewer than two sessions.
    #[must_use]
    pub fn margin(&self) -> Option<f64> {
        let mean = self.mean().filter(|_| self.sessions > 1)?;
        // The mean is a ratio of two sums. Its standard error follows from the residuals of the
        // sessions, nats - mean × tokens.
        let residuals =
            self.nats_squared - 2.0 * mean * self.products + mean * mean * self.tokens_squared;
        let sessions = tokens(self.sessions);
        let variance = residuals.max(0.0) * sessions / (sessions - 1.0);
        Some(student(self.sessions - 1) * variance.sqrt() / tokens(self.total.tokens))
    }
}

/// Returns the 97.5% quantile of Student's distribution. Between two entries of the table the
/// larger one is used.
fn student(degrees: usize) -> f64 {
    const TABLE: [(usize, f64); 16] = [
        (1, 12.706),
        (2, 4.303),
        (3, 3.182),
        (4, 2.776),
        (5, 2.571),
        (6, 2.447),
        (7, 2.365),
        (8, 2.306),
        (9, 2.262),
        (10, 2.228),
        (12, 2.179),
        (15, 2.131),
        (20, 2.086),
        (30, 2.042),
        (60, 2.000),
        (120, 1.980),
    ];
    let wider = TABLE.iter().rev().find(|(known, _)| *known <= degrees);
    wider.map_or(f64::INFINITY, |(_, quantile)| *quantile)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(text: &str, logprob: f64) -> Token {
        Token { text: text.to_owned(), logprob: Some(logprob) }
    }

    fn prompt() -> Prompt {
        Prompt {
            context: format!("<|im_start|>user\nyes sir\n{ANSWER_HEADER}"),
            answer: "yes sir".to_owned(),
        }
    }

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    #[test]
    fn only_tokens_of_the_answer_count() {
        let tokens = [
            Token { text: "<|im_start|>".to_owned(), logprob: None },
            token("user\nyes sir\n", -9.0),
            token("<|im_start|>", -9.0),
            token("assistant", -9.0),
            token("\n", -9.0),
            token("yes", -0.5),
            token(" sir", -1.0),
        ];
        let score = Score::of_answer(&prompt(), &tokens).unwrap();
        assert_eq!((score.answers, score.tokens), (1, 2));
        close(score.nats, 1.5);
    }

    /// Servers that hide special tokens show no header; then the answer's text is found.
    #[test]
    fn answer_is_found_without_special_tokens() {
        let tokens = [
            token("user\nyes sir\n", -9.0),
            token("assistant\n", -9.0),
            token("yes", -0.25),
            token(" sir", -0.25),
        ];
        let score = Score::of_answer(&prompt(), &tokens).unwrap();
        assert_eq!(score.tokens, 2);
        close(score.nats, 0.5);
        assert_eq!(Score::of_answer(&prompt(), &tokens[..2]).map(|score| score.tokens), Some(1));
        assert_eq!(Score::of_answer(&prompt(), &tokens[1..2]), None);
    }

    /// Two sessions: 10 tokens with 5 nats, 30 tokens with 25 nats. The mean is 30 / 40, the
    /// residuals are -2.5 and 2.5, the standard error is sqrt(2 × 12.5) / 40.
    #[test]
    fn mean_and_interval_follow_from_the_sessions() {
        let mut surprise = Surprise::default();
        surprise.add_session(&Score { answers: 1, tokens: 10, nats: 5.0 });
        assert_eq!(surprise.margin(), None);
        let mut other = Surprise::default();
        other.add_session(&Score { answers: 2, tokens: 30, nats: 25.0 });
        surprise.add(&other);
        close(surprise.mean().unwrap(), 0.75);
        close(surprise.margin().unwrap(), 12.706 * 5.0 / 40.0);
        assert_eq!((surprise.sessions, surprise.total.answers), (2, 3));
        assert_eq!(Surprise::default().mean(), None);
    }

    #[test]
    fn few_sessions_have_wide_intervals() {
        assert!(student(1) > student(2) && student(14) > student(15) && student(11) > student(12));
        close(student(10_000), 1.98);
    }
}
