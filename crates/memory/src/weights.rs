//! How much each feature of a message counts. The figures were set by hand; those learned from
//! question sets were no better on other sets.

/// The weights of the features, each of which is about 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Weights {
    /// The message's own words.
    pub own: f64,
    /// The words of its neighbors.
    pub near: f64,
    /// The best messages of its session.
    pub session: f64,
    /// The messages around it, in a discussion between people.
    pub topic: f64,
    /// The question names its author.
    pub speaker: f64,
    /// The question names its date.
    pub date: f64,
    /// A human wrote it.
    pub human: f64,
    /// It has a standing instruction.
    pub instruction: f64,
    /// For a message that states a preference of the user.
    pub preference: f64,
    /// Its vector is close to the question's.
    pub dense: f64,
    /// The vectors of its neighbors are close to the question's.
    pub dense_near: f64,
}

impl Weights {
    /// The weights without vectors.
    pub const KEYWORD: Self = Self {
        own: 1.0,
        near: 1.0,
        session: 0.2,
        topic: 0.3,
        speaker: 0.25,
        date: 0.3,
        human: 0.15,
        instruction: 0.4,
        preference: 0.1,
        dense: 0.0,
        dense_near: 0.0,
    };
    /// The weights with the vectors of a sentence encoder.
    pub const SENTENCE_VECTORS: Self = Self {
        human: 0.1,
        instruction: 0.3,
        preference: 0.15,
        dense: 1.25,
        dense_near: 0.25,
        ..Self::KEYWORD
    };
    /// The weights with the mean of word vectors, which captures less meaning.
    pub const WORD_VECTORS: Self = Self { dense: 0.5, ..Self::KEYWORD };
    /// Vectors alone, to see what they contribute.
    pub const VECTORS_ALONE: Self = Self {
        own: 0.0,
        near: 0.0,
        session: 0.0,
        topic: 0.0,
        speaker: 0.0,
        date: 0.0,
        human: 0.0,
        instruction: 0.0,
        preference: 0.0,
        dense: 1.0,
        dense_near: 0.0,
    };
}
