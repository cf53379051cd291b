//! What kind of answer a question asks for. An overview or a list needs other messages than a
//! single fact does.

use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::pattern;
use crate::weights::Weights;

/// The answer that a question asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerKind {
    /// A fact, which is in one or a few messages.
    Fact,
    /// What the program answered earlier.
    Earlier,
    /// Things that were mentioned at different times.
    List,
    /// A summary of many messages.
    Overview,
}

/// Stems of words that describe the form of the answer, not its subject.
const FORM: [&str; 26] = [
    "walk",
    "order",
    "brought",
    "bring",
    "differ",
    "aspect",
    "mention",
    "list",
    "item",
    "convers",
    "chat",
    "comprehens",
    "summari",
    "provid",
    "give",
    "complet",
    "overview",
    "throughout",
    "across",
    "session",
    "kei",
    "includ",
    "recap",
    "brief",
    "detail",
    "chronolog",
];

impl AnswerKind {
    /// Returns what a question in lower case asks for.
    pub(crate) fn of(question: &str) -> Self {
        static OVERVIEW: LazyLock<Regex> = LazyLock::new(|| {
            pattern(r"\b(?:summar(?:y|ize|ise|ies)|overview|recap|sum up)\b|总结|概括|概述|回顾")
        });
        static LIST: LazyLock<Regex> = LazyLock::new(|| {
            pattern(concat!(
                r"\b(?:in order|(?:in which|the) order|list (?:the|all|every)|throughout ",
                r"(?:our|my|the)|across (?:our|my|the|all)|how many)\b|按顺序|列出|列举|一共|哪些"
            ))
        });
        static EARLIER: LazyLock<Regex> = LazyLock::new(|| {
            pattern(concat!(
                r"\b(?:did you|you (?:had |have |just |already )?(?:said|told|suggested|",
                r"recommended|wrote|mentioned|advised|proposed|gave|explained|listed|",
                r"answered))\b|\byour (?:earlier |last |previous )(?:answers?|advice|",
                r"suggestions?|recommendations?|explanations?|proposals?|response)\b|",
                r"你(?:之前|刚才|上次|曾经?|都)?(?:说过|说的|建议过|建议的|推荐过|推荐的|告诉过|提到过|提到的|回答的)"
            ))
        });
        // The time between two events is not a list.
        static PERIOD: LazyLock<Regex> =
            LazyLock::new(|| pattern(r"\bhow many (?:minute|hour|day|week|month|year)s?\b"));
        if OVERVIEW.is_match(question) {
            Self::Overview
        } else if EARLIER.is_match(question) {
            Self::Earlier
        } else if LIST.is_match(&PERIOD.replace_all(question, " ")) {
            Self::List
        } else {
            Self::Fact
        }
    }

    /// Whether a term of the question is about the subject, so that it is searched for.
    pub(crate) fn searches(self, term: &str) -> bool {
        !self.is_broad() || !FORM.contains(&term)
    }

    /// Whether the answer is spread over many messages.
    pub(crate) const fn is_broad(self) -> bool {
        matches!(self, Self::List | Self::Overview)
    }

    /// Returns the factor for matches in messages that no human wrote.
    pub(crate) const fn program_share(self) -> f64 {
        match self {
            Self::Fact | Self::List => 0.6,
            Self::Earlier | Self::Overview => 1.0,
        }
    }

    /// Returns the weights for this kind of answer. Instructions and preferences are not part of a
    /// list or an overview. An overview includes the program's answers; these have no vectors, so
    /// vectors do not count there.
    pub(crate) const fn weights(self, weights: &Weights) -> Weights {
        match self {
            Self::Fact | Self::Earlier => *weights,
            Self::List => Weights {
                instruction: 0.0,
                preference: 0.0,
                dense: weights.dense / 2.0,
                ..*weights
            },
            Self::Overview => Weights {
                instruction: 0.0,
                preference: 0.0,
                human: 0.0,
                dense: 0.0,
                dense_near: 0.0,
                ..*weights
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_ask_for_different_answers() {
        let questions = [
            ("which port does the database use?", AnswerKind::Fact),
            ("what would you suggest for the database?", AnswerKind::Fact),
            ("what did you recommend for the database?", AnswerKind::Earlier),
            ("show me the commands you told me about", AnswerKind::Earlier),
            ("你之前推荐的餐厅是哪家？", AnswerKind::Earlier),
            ("in which order did i mention the databases?", AnswerKind::List),
            ("how many databases do i use?", AnswerKind::List),
            ("how many days are between the two trips?", AnswerKind::Fact),
            ("what did you recommend for the tests throughout the project?", AnswerKind::Earlier),
            ("列出我提到的餐厅", AnswerKind::List),
            ("can you give me a summary of our database work?", AnswerKind::Overview),
            ("总结一下我们的讨论", AnswerKind::Overview),
        ];
        for (question, kind) in questions {
            assert_eq!(AnswerKind::of(question), kind, "{question}");
        }
    }
}
