//! The features of all messages for one question.

use crate::date::fit;
use crate::index::{Index, Name};
use crate::pin::PinKind;
use crate::question::Question;
use crate::speaker::Speaker;
use crate::weights::Weights;

/// BM25: how soon a repeated term stops counting, and how much the length of a passage counts.
const K1: f64 = 0.9;
const B: f64 = 0.6;
/// The share of a neighbor's score, at distance one and two.
const NEIGHBORS: [f64; 2] = [0.3, 0.1];
/// The share of a topic's value that carries over to the next message.
const TOPIC: f64 = 0.96;
/// The number of messages that the score of a session is computed from.
const SESSION_BEST: usize = 3;

/// The features of all messages, each by number.
#[derive(Debug, Default)]
pub(crate) struct Features {
    own: Vec<f64>,
    near: Vec<f64>,
    /// How well the whole session of each message matches.
    sessions: Vec<f64>,
    /// Empty without discussions.
    topics: Vec<f64>,
    /// Whether the question names the speaker of each message.
    speakers: Vec<f64>,
    /// Empty if the question names no date.
    dates: Vec<f64>,
    instructions: Vec<bool>,
    preferences: Vec<bool>,
    /// Empty without vectors.
    dense: Vec<f64>,
    dense_near: Vec<f64>,
}

/// The features of one message, each multiplied by its weight.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shares {
    pub own: f64,
    pub near: f64,
    pub session: f64,
    pub topic: f64,
    pub speaker: f64,
    pub date: f64,
    pub human: f64,
    pub instruction: f64,
    pub preference: f64,
    pub dense: f64,
    pub dense_near: f64,
}

impl Shares {
    /// Returns the score of the message.
    pub(crate) fn sum(&self) -> f64 {
        self.own
            + self.near
            + self.session
            + self.topic
            + self.speaker
            + self.date
            + self.human
            + self.instruction
            + self.preference
            + self.dense
            + self.dense_near
    }
}

impl Features {
    /// Computes the features that need no vectors.
    pub(crate) fn new(index: &Index, question: &Question) -> Self {
        let mut own = matches(index, question);
        weigh(index, &mut own, question.kind.program_share());
        let near = neighbor_shares(index, &own);
        let mut features = Self {
            sessions: by_session(index, &own, &near),
            topics: topics(index, &own),
            speakers: speakers(index, question),
            dates: dates(index, question),
            instructions: vec![false; index.len()],
            preferences: vec![false; index.len()],
            own,
            near,
            ..Self::default()
        };
        for (message, kind, _) in index.pins() {
            let flags = match kind {
                PinKind::Instruction => &mut features.instructions,
                PinKind::Preference => &mut features.preferences,
            };
            if let Some(flag) = flags.get_mut(message) {
                *flag = true;
            }
        }
        features
    }

    /// Sets the similarity of messages to the question; it is 0 for all others.
    pub(crate) fn set_similarity(
        &mut self,
        index: &Index,
        question: &Question,
        similarity: &[(usize, f64)],
    ) {
        self.dense = vec![0.0; index.len()];
        for &(message, similarity) in similarity {
            if let Some(dense) = self.dense.get_mut(message) {
                *dense = similarity.max(0.0);
            }
        }
        weigh(index, &mut self.dense, question.kind.program_share());
        self.dense_near = neighbor_shares(index, &self.dense);
    }

    /// Returns the score of every message: the same as the sum of its shares, in one fast pass.
    pub(crate) fn scores(&self, index: &Index, weights: &Weights) -> Vec<f64> {
        let by_speaker = |(name, speaker): (&Name, &f64)| {
            weights.speaker * speaker + weights.human * f64::from(name.kind.is_human())
        };
        let speakers: Vec<f64> =
            index.speakers.iter().zip(&self.speakers).map(by_speaker).collect();
        let of = |feature: &[f64], at: u32| feature.get(at as usize).copied().unwrap_or(0.0);
        let own = index.messages.iter().zip(&self.own).zip(&self.near);
        let mut scores: Vec<f64> = own
            .map(|((entry, own), near)| {
                weights.own * own
                    + weights.near * near
                    + weights.session * of(&self.sessions, entry.session)
                    + of(&speakers, entry.speaker)
            })
            .collect();
        let mut add = |weight: f64, feature: &[f64]| {
            scores.iter_mut().zip(feature).for_each(|(score, value)| *score += weight * value);
        };
        add(weights.topic, &self.topics);
        add(weights.date, &self.dates);
        add(weights.dense, &self.dense);
        add(weights.dense_near, &self.dense_near);
        for (message, score) in scores.iter_mut().enumerate() {
            let flag = |flags: &[bool]| f64::from(flags.get(message).copied().unwrap_or(false));
            *score += weights.instruction * flag(&self.instructions)
                + weights.preference * flag(&self.preferences);
        }
        scores
    }

    /// Returns what each feature adds to the score of a message.
    pub(crate) fn shares(&self, index: &Index, message: usize, weights: &Weights) -> Shares {
        let Some(entry) = index.messages.get(message) else { return Shares::default() };
        let value = |feature: &[f64]| feature.get(message).copied().unwrap_or(0.0);
        let flag = |flags: &[bool]| f64::from(flags.get(message).copied().unwrap_or(false));
        let of = |feature: &[f64], at: u32| feature.get(at as usize).copied().unwrap_or(0.0);
        Shares {
            own: weights.own * value(&self.own),
            near: weights.near * value(&self.near),
            session: weights.session * of(&self.sessions, entry.session),
            topic: weights.topic * value(&self.topics),
            speaker: weights.speaker * of(&self.speakers, entry.speaker),
            date: weights.date * value(&self.dates),
            human: weights.human * f64::from(index.kind(entry.speaker).is_human()),
            instruction: weights.instruction * flag(&self.instructions),
            preference: weights.preference * flag(&self.preferences),
            dense: weights.dense * value(&self.dense),
            dense_near: weights.dense_near * value(&self.dense_near),
        }
    }

    /// Returns the neighbor whose own words match best.
    pub(crate) fn best_neighbor(&self, index: &Index, message: usize) -> Option<usize> {
        let own = |at: usize| self.own.get(at).copied().unwrap_or(0.0);
        let neighbors = index.neighbors(message).filter(|&(_, at)| own(at) > 0.0);
        let shares = neighbors.map(|(distance, at)| (share(distance) * own(at), at));
        shares.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, at)| at)
    }
}

/// Returns the BM25 score of the best passage of each message.
fn matches(index: &Index, question: &Question) -> Vec<f64> {
    let mean = index.mean_length();
    let mut passages = vec![0.0; index.passages.len()];
    for term in &question.terms {
        let Some(postings) = index.postings.get(term.number as usize) else { continue };
        let weight = rarity(index.passages.len(), postings.len()) * term.weight * (K1 + 1.0);
        for posting in postings {
            let at = posting.passage as usize;
            if let (Some(score), Some(passage)) = (passages.get_mut(at), index.passages.get(at)) {
                let count = f64::from(posting.count);
                let length = 1.0 - B + B * f64::from(passage.length) / mean;
                *score += weight * count / (count + K1 * length);
            }
        }
    }
    let mut best = vec![0.0_f64; index.len()];
    for (score, passage) in passages.iter().zip(&index.passages) {
        if let Some(best) = best.get_mut(passage.message as usize) {
            *best = best.max(*score);
        }
    }
    best
}

/// Returns the weight of a term by how few passages have it.
#[expect(clippy::cast_precision_loss, reason = "numbers of passages are far below 2^52")]
fn rarity(passages: usize, with_term: usize) -> f64 {
    let with_term = with_term as f64;
    (1.0 + (passages as f64 - with_term + 0.5) / (with_term + 0.5)).ln()
}

/// Lowers the values of messages that no human wrote, then divides all by the maximum.
fn weigh(index: &Index, values: &mut [f64], program_share: f64) {
    let share = |name: &Name| if name.kind == Speaker::Program { program_share } else { 1.0 };
    let shares: Vec<f64> = index.speakers.iter().map(share).collect();
    for (value, entry) in values.iter_mut().zip(&index.messages) {
        *value *= shares.get(entry.speaker as usize).copied().unwrap_or(1.0);
    }
    to_unit(values);
}

/// Divides values by their maximum.
fn to_unit(values: &mut [f64]) {
    let most = values.iter().copied().fold(0.0, f64::max);
    if most > 0.0 {
        values.iter_mut().for_each(|value| *value /= most);
    }
}

fn share(distance: usize) -> f64 {
    NEIGHBORS.get(distance.wrapping_sub(1)).copied().unwrap_or(0.0)
}

/// Returns for each message the shares of its neighbors' values.
fn neighbor_shares(index: &Index, values: &[f64]) -> Vec<f64> {
    let mut near = vec![0.0; values.len()];
    let value = |at: usize| values.get(at).copied().unwrap_or(0.0);
    for message in 0..values.len() {
        for (distance, earlier) in index.earlier(message) {
            let share = share(distance);
            if let Some(near) = near.get_mut(message) {
                *near += share * value(earlier);
            }
            if let Some(near) = near.get_mut(earlier) {
                *near += share * value(message);
            }
        }
    }
    near
}

/// Returns for each message of a discussion how well the messages around it match. People stay on a
/// topic for many short messages, most of which do not name it.
fn topics(index: &Index, own: &[f64]) -> Vec<f64> {
    if !index.has_discussion {
        return Vec::new();
    }
    let mut topics = vec![0.0; own.len()];
    add_carried(index, own, 0..own.len(), &mut topics);
    add_carried(index, own, (0..own.len()).rev(), &mut topics);
    for ((topic, own), entry) in topics.iter_mut().zip(own).zip(&index.messages) {
        *topic += own;
        if !index.is_discussion(entry.session) {
            *topic = 0.0;
        }
    }
    to_unit(&mut topics);
    topics
}

/// Adds to each message a share of those before it in an order, less the farther they are.
fn add_carried(index: &Index, own: &[f64], order: impl Iterator<Item = usize>, topics: &mut [f64]) {
    let mut carried = vec![0.0; index.sessions.len()];
    for message in order {
        let Some(entry) = index.messages.get(message) else { continue };
        let carried = carried.get_mut(entry.session as usize);
        if let (Some(carried), Some(topic)) = (carried, topics.get_mut(message)) {
            *topic += *carried;
            *carried = TOPIC * (*carried + own.get(message).copied().unwrap_or(0.0));
        }
    }
}

/// Returns for each session the mean of its best messages.
#[expect(clippy::cast_precision_loss, reason = "a small constant")]
fn by_session(index: &Index, own: &[f64], near: &[f64]) -> Vec<f64> {
    let mut best = vec![[0.0_f64; SESSION_BEST]; index.sessions.len()];
    for ((entry, own), near) in index.messages.iter().zip(own).zip(near) {
        let mut value = own + near;
        // `best` is in descending order: a larger value takes the place, and the smaller one moves
        // on.
        for best in best.get_mut(entry.session as usize).into_iter().flatten() {
            if value > *best {
                std::mem::swap(best, &mut value);
            }
        }
    }
    best.iter().map(|best| best.iter().sum::<f64>() / SESSION_BEST as f64).collect()
}

/// Returns for each speaker the share of the name that is in the question.
#[expect(clippy::cast_precision_loss, reason = "names are short")]
fn speakers(index: &Index, question: &Question) -> Vec<f64> {
    let share = |terms: &[Box<str>]| {
        let named = terms.iter().filter(|term| question.has(term)).count();
        named as f64 / terms.len().max(1) as f64
    };
    let names = index.speakers.iter();
    names.map(|name| if name.kind == Speaker::Person { share(&name.terms) } else { 0.0 }).collect()
}

/// Returns for each message how well its date fits the question.
fn dates(index: &Index, question: &Question) -> Vec<f64> {
    let Some(usual) = index.usual_year().filter(|_| !question.dates.is_empty()) else {
        return Vec::new();
    };
    let best = |date| {
        let fits = question.dates.iter().map(|&named| fit(named, date, usual));
        fits.fold(0.0, f64::max)
    };
    index.messages.iter().map(|entry| entry.date.map_or(0.0, best)).collect()
}
