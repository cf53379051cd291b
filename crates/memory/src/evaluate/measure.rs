//! The measures of a ranking: how many of the messages that answer a question come first.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::script::is_cjk;

/// The budget in tokens, and how many of the first messages may fill it.
const BUDGET: f64 = 2_000.0;
const CONSIDERED: usize = 200;

/// The means over the questions of a set, in percent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// The share of the messages that answer a question among the first 5.
    #[serde(rename = "recall@5")]
    pub recall_5: f64,
    /// The share of these messages among the first 10.
    #[serde(rename = "recall@10")]
    pub recall_10: f64,
    /// The share of these messages among the first 20.
    #[serde(rename = "recall@20")]
    pub recall_20: f64,
    /// Questions with at least one such message among the first 10.
    #[serde(rename = "hit@10")]
    pub hit_10: f64,
    /// The mean of 1 / the position of the first such message.
    pub mrr: f64,
    /// The share of the messages that answer a question in 2,000 tokens: whole messages, the best
    /// first, as many as fit.
    pub recall_2k_tokens: f64,
    /// `recall@10` by kind of question. It is not part of the JSON form.
    #[serde(skip)]
    pub categories: BTreeMap<String, f64>,
}

/// The sums over questions.
#[derive(Default)]
pub(super) struct Sums {
    questions: usize,
    sums: Figures,
    counts: BTreeMap<String, usize>,
}

impl Sums {
    /// Adds the order of messages for one question. `relevant` are the messages that answer it,
    /// `expected` is their number in the set, and `tokens` the size of each message.
    pub(super) fn add(
        &mut self,
        order: &[usize],
        relevant: &BTreeSet<usize>,
        expected: usize,
        tokens: &[f64],
        category: &str,
    ) {
        let found = |count: usize| {
            let among = order.iter().take(count).filter(|at| relevant.contains(at)).count();
            share(among, expected)
        };
        let first = order.iter().position(|at| relevant.contains(at));
        self.questions += 1;
        self.sums.recall_5 += found(5);
        self.sums.recall_10 += found(10);
        self.sums.recall_20 += found(20);
        self.sums.hit_10 += f64::from(first.is_some_and(|at| at < 10));
        self.sums.mrr += first.map_or(0.0, |at| share(1, at + 1));
        self.sums.recall_2k_tokens += share(in_budget(order, relevant, tokens), expected);
        *self.sums.categories.entry(category.to_owned()).or_default() += found(10);
        *self.counts.entry(category.to_owned()).or_default() += 1;
    }

    pub(super) const fn questions(&self) -> usize {
        self.questions
    }

    /// Returns the means, in percent with two digits after the point.
    pub(super) fn figures(self) -> Figures {
        let mean = |sum: f64, count: usize| (sum * share(10_000, count)).round() / 100.0;
        let all = |sum| mean(sum, self.questions);
        let Figures { recall_5, recall_10, recall_20, hit_10, mrr, recall_2k_tokens, .. } =
            self.sums;
        let by_category = self.sums.categories.into_iter().zip(self.counts.into_values());
        Figures {
            recall_5: all(recall_5),
            recall_10: all(recall_10),
            recall_20: all(recall_20),
            hit_10: all(hit_10),
            mrr: all(mrr),
            recall_2k_tokens: all(recall_2k_tokens),
            categories: by_category.map(|((name, sum), count)| (name, mean(sum, count))).collect(),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are small")]
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// Returns how many relevant messages are among those that fit into the budget.
fn in_budget(order: &[usize], relevant: &BTreeSet<usize>, tokens: &[f64]) -> usize {
    let mut spent = 0.0;
    let mut found = 0;
    for message in order.iter().take(CONSIDERED) {
        let size = tokens.get(*message).copied().unwrap_or(0.0);
        if spent + size <= BUDGET {
            spent += size;
            found += usize::from(relevant.contains(message));
        }
    }
    found
}

/// Returns the tokens of a text: one for each Chinese character, one for four others.
#[expect(clippy::cast_precision_loss, reason = "texts have fewer than 2^52 characters")]
pub(super) fn tokens(text: &str) -> f64 {
    let all = text.chars().count();
    let cjk = text.chars().filter(|&character| is_cjk(character)).count();
    cjk as f64 + (all - cjk) as f64 / 4.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_the_six_figures() {
        let mut sums = Sums::default();
        sums.add(&[1, 0], &BTreeSet::from([0]), 1, &[1.0, 1.0], "fact");
        let figures = sums.figures();
        assert_eq!(figures.categories.len(), 1);
        let json = serde_json::to_value(&figures).unwrap();
        let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
        let expected = ["recall@5", "recall@10", "recall@20", "hit@10", "mrr", "recall_2k_tokens"];
        assert_eq!(keys, expected);
        assert_eq!((figures.recall_5, figures.mrr), (100.0, 50.0));
    }
}
