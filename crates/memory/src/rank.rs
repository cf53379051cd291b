//! Ranking the messages of an index for a question.
//!
//! The score of a message is the sum of its weighted features. One pass over all messages is cheap
//! (`docs/benchmarks.md`), and its answer is exact: a message without a word of the question is
//! still found by its date or as a standing instruction.

use std::cmp::Ordering;

use crate::answer_kind::AnswerKind;
use crate::features::{Features, Shares};
use crate::hit::{Hit, Reason};
use crate::index::Index;
use crate::question::Question;
use crate::vector::cosine;
use crate::weights::Weights;

/// Messages that vectors re-rank. More of them are not better (`docs/recall.md`), and their vectors
/// take longer to read.
const RERANKED: usize = 200;
/// Messages that a list is spread over.
const LISTED: usize = 1_000;
/// In a list, the factor for a message's score per better message of its session.
const SPREAD: f64 = 0.9;
/// The smallest share of a score that counts as a reason.
const REASON: f64 = 0.05;

/// A message with its score.
type Scored = (f64, usize);

/// The messages of an index, ordered for one question.
#[derive(Debug)]
pub struct Ranking<'a> {
    index: &'a Index,
    question: Question,
    features: Features,
    /// Messages that were re-ranked or spread, in order. They come before all others.
    reranked: Vec<Scored>,
    weights: Weights,
    /// All other messages, in no order.
    others: Vec<Scored>,
}

impl Index {
    /// Returns the `count` best messages for a question, by keywords alone.
    #[must_use]
    pub fn search(&self, question: &str, count: usize) -> Vec<Hit> {
        self.rank(question, |_| true).best(count)
    }

    /// Ranks the messages that a function allows, such as those that are no longer in the context.
    /// The others still count as neighbors.
    #[must_use]
    pub fn rank(&self, question: &str, allowed: impl Fn(usize) -> bool) -> Ranking<'_> {
        let question = Question::new(self, question);
        let features = Features::new(self, &question);
        let weights = question.weights(&Weights::KEYWORD);
        let scores = features.scores(self, &weights).into_iter().zip(0..);
        let others = scores.filter(|&(_, message)| allowed(message)).collect();
        let reranked = Vec::new();
        let mut ranking = Ranking { index: self, question, features, reranked, weights, others };
        if ranking.question.kind == AnswerKind::List {
            let best = ranking.first(LISTED);
            ranking.put_first(best);
        }
        ranking
    }
}

impl Ranking<'_> {
    /// Returns the numbers of the `count` best messages, the best first. Of two with the same score
    /// the earlier comes first.
    #[must_use]
    pub fn order(&self, count: usize) -> Vec<usize> {
        self.first(count).into_iter().map(|(_, message)| message).collect()
    }

    /// Returns the `count` best messages with the reasons.
    #[must_use]
    pub fn best(&self, count: usize) -> Vec<Hit> {
        let hit = |(score, message)| Hit { message, score, reasons: self.reasons(message) };
        self.first(count).into_iter().map(hit).collect()
    }

    /// Returns the messages that vectors can re-rank.
    #[must_use]
    pub fn candidates(&self) -> Vec<usize> {
        self.order(RERANKED)
    }

    /// Re-ranks the candidates by the vectors of the question and of the messages. A message
    /// without a vector keeps its other features.
    pub fn rerank<V: AsRef<[f32]>>(
        &mut self,
        question: &[f32],
        weights: &Weights,
        vector: impl Fn(usize) -> Option<V>,
    ) {
        let candidates = self.candidates();
        let similarity = |&message: &usize| {
            vector(message).map(|vector| (message, cosine(question, vector.as_ref())))
        };
        let similar: Vec<_> = candidates.iter().filter_map(similarity).collect();
        self.features.set_similarity(self.index, &self.question, &similar);
        self.weights = self.question.weights(weights);
        let score = |at| self.features.shares(self.index, at, &self.weights).sum();
        let best = candidates.iter().map(|&message| (score(message), message)).collect();
        self.put_first(best);
    }

    /// Puts messages with new scores before all others.
    fn put_first(&mut self, mut best: Vec<Scored>) {
        best.sort_unstable_by(better);
        if self.question.kind == AnswerKind::List {
            self.spread(&mut best);
        }
        let mut is_first = vec![false; self.index.len()];
        for &(_, message) in &best {
            if let Some(flag) = is_first.get_mut(message) {
                *flag = true;
            }
        }
        self.others.append(&mut self.reranked);
        self.others.retain(|(_, message)| !is_first.get(*message).is_some_and(|flag| *flag));
        self.reranked = best;
    }

    /// Lowers the score of each message by the number of better ones in its session, so that a list
    /// does not come from one session alone.
    fn spread(&self, best: &mut [Scored]) {
        let mut better_ones = vec![0_i32; self.index.sessions.len()];
        for (score, message) in best.iter_mut() {
            let session = self.index.messages.get(*message).map(|entry| entry.session as usize);
            if let Some(count) = session.and_then(|at| better_ones.get_mut(at)) {
                *score *= SPREAD.powi(*count);
                *count += 1;
            }
        }
        best.sort_unstable_by(better);
    }

    fn first(&self, count: usize) -> Vec<Scored> {
        let mut first = self.reranked.clone();
        first.truncate(count);
        let missing = count - first.len();
        if missing > 0 {
            let mut others = self.others.clone();
            if missing < others.len() {
                others.select_nth_unstable_by(missing, better);
                others.truncate(missing);
            }
            others.sort_unstable_by(better);
            first.append(&mut others);
        }
        first
    }

    fn reasons(&self, message: usize) -> Vec<Reason> {
        let shares = self.features.shares(self.index, message, &self.weights);
        let Shares { own, near, session, speaker, date, instruction, preference, .. } = shares;
        let neighbor = self.features.best_neighbor(self.index, message);
        let reasons = [
            (own, Some(Reason::Words(self.words(message)))),
            (near, neighbor.map(Reason::Neighbor)),
            (session + shares.topic, Some(Reason::Session)),
            (speaker, Some(Reason::Speaker)),
            (date, Some(Reason::Date)),
            (instruction, Some(Reason::Instruction)),
            (preference, Some(Reason::Preference)),
            (shares.dense + shares.dense_near, Some(Reason::Meaning)),
        ];
        let counts = |share: f64| share > 0.0 && share >= REASON * shares.sum();
        let mut reasons: Vec<(f64, Reason)> = reasons
            .into_iter()
            .filter(|(share, _)| counts(*share))
            .filter_map(|(share, reason)| Some((share, reason?)))
            .collect();
        reasons.sort_by(|one, other| other.0.total_cmp(&one.0));
        reasons.into_iter().map(|(_, reason)| reason).collect()
    }

    /// Returns the words of the question that a message has, in the question's order.
    fn words(&self, message: usize) -> Vec<String> {
        let index = self.index;
        let of = |passage: u32| index.passages.get(passage as usize).map(|it| it.message as usize);
        let has = |number: u32| {
            let postings = index.postings.get(number as usize).map_or(&[][..], Vec::as_slice);
            let at = postings.partition_point(|it| of(it.passage).is_some_and(|at| at < message));
            postings.get(at).is_some_and(|posting| of(posting.passage) == Some(message))
        };
        let terms = self.question.terms.iter().filter(|term| has(term.number));
        terms.map(|term| term.word.clone()).collect()
    }
}

/// Orders messages by score, then by number.
fn better(one: &Scored, other: &Scored) -> Ordering {
    other.0.total_cmp(&one.0).then(one.1.cmp(&other.1))
}
