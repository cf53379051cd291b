//! Asking every question of a set.

use std::collections::{BTreeMap, BTreeSet};

use super::measure::{Figures, Sums, tokens};
use super::vectors::{Encoded, Vectors};
use super::{Conversation, Key, Query, Turn};
use crate::date::date_of;
use crate::index::{Index, Message};
use crate::weights::Weights;

/// Which messages a question searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everything in the conversation, of every user.
    Everything,
    /// One index of everything, but only messages of the user who asks are returned.
    Asker,
    /// An index for each user, as in the program.
    IndexPerUser,
}

/// The figures of one set.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The number of questions that have an answer.
    pub questions: usize,
    /// Keywords alone.
    pub keyword: Figures,
    /// Vectors alone, on the questions that the encoder understands.
    pub vector: Option<Figures>,
    /// Keywords, re-ranked by vectors.
    pub hybrid: Option<Figures>,
}

/// Measures a set.
#[must_use]
pub fn evaluate(set: &[Conversation], scope: Scope, vectors: Option<&Vectors>) -> Outcome {
    let mut sums: [Sums; 3] = Default::default();
    for (at, conversation) in set.iter().enumerate() {
        let encoded = vectors.and_then(|vectors| vectors.conversation(at));
        ask(conversation, scope, encoded, vectors.map(|vectors| vectors.weights), &mut sums);
    }
    let [keyword, vector, hybrid] = sums;
    let questions = keyword.questions();
    // If the encoder understands none of the questions, vectors have no figures.
    let has_vectors = vector.questions() > 0;
    let with_vectors = |sums: Sums| has_vectors.then(|| sums.figures());
    Outcome {
        questions,
        keyword: keyword.figures(),
        vector: with_vectors(vector),
        hybrid: with_vectors(hybrid),
    }
}

/// An index of some turns of a conversation.
struct Part {
    index: Index,
    /// The position in the conversation of each message of the index.
    turns: Vec<usize>,
}

impl Part {
    fn new<'a>(turns: impl Iterator<Item = (usize, &'a Turn)>) -> Self {
        let mut part = Self { index: Index::new(), turns: Vec::new() };
        for (at, turn) in turns {
            let session = turn.session.to_string();
            part.index.add(&Message {
                session: &session,
                speaker: turn.speaker(),
                date: turn.time.as_deref().and_then(date_of),
                text: &turn.text,
            });
            part.turns.push(at);
        }
        part
    }

    fn turn(&self, message: usize) -> usize {
        self.turns.get(message).copied().unwrap_or(usize::MAX)
    }
}

/// Returns the indexes of a conversation: one for each user, or one for all.
fn parts(conversation: &Conversation, scope: Scope) -> BTreeMap<Option<&Key>, Part> {
    let turns = || conversation.turns.iter().enumerate();
    if scope != Scope::IndexPerUser {
        return BTreeMap::from([(None, Part::new(turns()))]);
    }
    let users: BTreeSet<&Key> = conversation.turns.iter().map(|turn| &turn.session).collect();
    let part = |user: &Key| Part::new(turns().filter(|(_, turn)| turn.session == *user));
    users.into_iter().map(|user| (Some(user), part(user))).collect()
}

fn ask(
    conversation: &Conversation,
    scope: Scope,
    encoded: Option<&Encoded>,
    weights: Option<Weights>,
    sums: &mut [Sums; 3],
) {
    let parts = parts(conversation, scope);
    let tokens: Vec<f64> = conversation.turns.iter().map(|turn| tokens(&turn.text)).collect();
    for (number, query) in conversation.queries.iter().enumerate() {
        let user = query.user.as_ref();
        let Some(part) = parts.get(&user.filter(|_| scope == Scope::IndexPerUser)) else {
            continue;
        };
        let expected = query.evidence.iter().collect::<BTreeSet<_>>();
        if expected.is_empty() {
            continue;
        }
        let turns = conversation.turns.iter().enumerate();
        let relevant =
            turns.filter(|(_, turn)| expected.contains(&turn.id)).map(|(at, _)| at).collect();
        let is_allowed = |turn: usize| {
            let turn = conversation.turns.get(turn);
            scope == Scope::Everything || turn.map(|turn| &turn.session) == user
        };
        let category = query.category.as_ref().map(ToString::to_string).unwrap_or_default();
        let orders = orders(part, query, number, is_allowed, encoded.zip(weights));
        for (sums, order) in sums.iter_mut().zip(&orders) {
            if let Some(order) = order {
                sums.add(order, &relevant, expected.len(), &tokens, &category);
            }
        }
    }
}

/// Returns the order of turns by keywords, by vectors alone, and by both. If the encoder does not
/// understand the question, keywords decide.
fn orders(
    part: &Part,
    query: &Query,
    number: usize,
    is_allowed: impl Fn(usize) -> bool,
    encoded: Option<(&Encoded, Weights)>,
) -> [Option<Vec<usize>>; 3] {
    let mut ranking = part.index.rank(&query.question, |message| is_allowed(part.turn(message)));
    let all = part.index.len();
    let turns =
        |order: Vec<usize>| order.into_iter().map(|at| part.turn(at)).collect::<Vec<usize>>();
    let keyword = turns(ranking.order(all));
    let vectors =
        encoded.and_then(|(encoded, weights)| Some((encoded, encoded.question(number)?, weights)));
    let Some((encoded, question, weights)) = vectors else {
        return [Some(keyword.clone()), None, Some(keyword)];
    };
    let mut alone = keyword.clone();
    alone.sort_unstable();
    alone.sort_by(|one, other| {
        encoded.similarity(question, *other).total_cmp(&encoded.similarity(question, *one))
    });
    ranking.rerank(question, &weights, |message| encoded.turn(part.turn(message)));
    [Some(keyword), Some(alone), Some(turns(ranking.order(all)))]
}
