//! The index of one scope: the messages of a conversation, or of one user. It grows with each
//! message and is never rebuilt.
//!
//! It keeps terms, not texts: the caller has the messages. `rank` orders them for a question.

use std::collections::BTreeMap;

use jiff::civil::Date;
use rustc_hash::FxHashMap;

use crate::date::day_number;
use crate::passage::passages;
use crate::pin::{PinKind, pins};
use crate::pinned::Pinned;
use crate::speaker::Speaker;
use crate::terms::{each_term, is_single_character};

/// One message to be found again.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Message<'a> {
    /// The session that it belongs to. Messages of one session are added in order; messages of
    /// several sessions may alternate.
    pub session: &'a str,
    /// Its author: `user`, `assistant`, `tool`, `system`, `developer`, or the name of a person.
    pub speaker: &'a str,
    /// The day it was written. A message without one has the day of the message before it.
    pub date: Option<Date>,
    /// What is searched.
    pub text: &'a str,
}

impl<'a> Message<'a> {
    /// Creates a message without a day of its own.
    #[must_use]
    pub const fn new(session: &'a str, speaker: &'a str, text: &'a str) -> Self {
        Self { session, speaker, date: None, text }
    }

    /// Sets the day it was written.
    #[must_use]
    pub const fn with_date(mut self, date: Option<Date>) -> Self {
        self.date = date;
        self
    }
}

/// An index of messages that are searched together. Never add messages of two users to one index:
/// one must not find what belongs to the other, and both would find less.
#[derive(Debug, Default)]
pub struct Index {
    pub(crate) vocabulary: FxHashMap<Box<str>, u32>,
    /// For each term, the passages that have it, in order.
    pub(crate) postings: Vec<Vec<Posting>>,
    pub(crate) passages: Vec<Passage>,
    /// The sum of the lengths of all passages.
    pub(crate) total_length: u64,
    pub(crate) messages: Vec<Entry>,
    session_numbers: FxHashMap<Box<str>, u32>,
    pub(crate) sessions: Vec<Session>,
    speaker_numbers: FxHashMap<Box<str>, u32>,
    pub(crate) speakers: Vec<Name>,
    /// Whether a model, a tool or a prompt is among the speakers.
    pub(crate) has_program: bool,
    /// Whether a session is a discussion between people.
    pub(crate) has_discussion: bool,
    /// The number of messages of each year.
    years: BTreeMap<i16, usize>,
    pinned: Pinned,
}

/// A passage that has a term.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posting {
    pub passage: u32,
    pub count: u32,
}

/// A message, or a part of a long one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passage {
    pub message: u32,
    /// The number of its terms.
    pub length: u32,
}

/// What is known about a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub session: u32,
    pub speaker: u32,
    /// The messages before and after it in its session.
    pub previous: Option<u32>,
    pub next: Option<u32>,
    pub date: Option<Date>,
    /// The number of its day, 0 without a date.
    pub day: i32,
}

/// What is known about a session.
#[derive(Debug, Default)]
pub(crate) struct Session {
    last: Option<u32>,
    date: Option<Date>,
    /// The first speaker, and whether there is another.
    speaker: Option<u32>,
    has_several_speakers: bool,
    /// The first person, and whether there is another.
    person: Option<u32>,
    is_discussion: bool,
}

impl Session {
    /// Whether the messages of this session answer each other. The dated notes of one person do
    /// not.
    pub(crate) const fn is_conversation(&self) -> bool {
        self.has_several_speakers || self.date.is_none()
    }
}

/// The name of an author.
#[derive(Debug)]
pub(crate) struct Name {
    pub kind: Speaker,
    pub terms: Vec<Box<str>>,
}

impl Index {
    /// Creates an empty index.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a message and returns its number: 0 for the first, then 1, and so on. The work does not
    /// depend on how many there are.
    pub fn add(&mut self, message: &Message<'_>) -> usize {
        let number = self.messages.len();
        let at = small(number);
        let speaker = self.speaker(message.speaker);
        let kind = self.kind(speaker);
        let session = number_of(&mut self.session_numbers, message.session);
        if self.sessions.len() <= session as usize {
            self.sessions.push(Session::default());
        }
        let date = message.date;
        let mut entry = Entry { session, speaker, previous: None, next: None, date, day: 0 };
        if let Some(session) = self.sessions.get_mut(session as usize) {
            entry.date = date.or(session.date);
            entry.previous = session.last.replace(at);
            session.date = entry.date;
            let first = *session.speaker.get_or_insert(speaker);
            session.has_several_speakers |= first != speaker;
            if kind == Speaker::Person {
                session.is_discussion |= *session.person.get_or_insert(speaker) != speaker;
                self.has_discussion |= session.is_discussion;
            }
        }
        if let Some(date) = entry.date {
            entry.day = day_number(date);
            *self.years.entry(date.year()).or_default() += 1;
        }
        let previous = entry.previous.and_then(|at| self.messages.get_mut(at as usize));
        if let Some(previous) = previous {
            previous.next = Some(at);
        }
        self.messages.push(entry);
        for passage in passages(message.text) {
            self.add_passage(at, speaker, &passage);
        }
        if kind == Speaker::User {
            for (kind, sentence) in pins(message.text) {
                self.pinned.add(number, session, kind, sentence);
            }
        }
        number
    }

    /// Returns the number of messages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether the index has no messages.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Returns the number of passages, into which long messages are split.
    #[must_use]
    pub fn passages(&self) -> usize {
        self.passages.len()
    }

    /// Returns the sentences that the user wants kept, each with the number of its message. A
    /// sentence that occurs in more than three sessions is a template and is not among them.
    pub fn pins(&self) -> impl Iterator<Item = (usize, PinKind, &str)> {
        self.pinned.iter()
    }

    /// Returns who wrote a message.
    #[must_use]
    pub fn author(&self, message: usize) -> Option<Speaker> {
        self.messages.get(message).map(|entry| self.kind(entry.speaker))
    }

    pub(crate) fn kind(&self, speaker: u32) -> Speaker {
        self.speakers.get(speaker as usize).map_or(Speaker::Person, |name| name.kind)
    }

    /// Whether several people, who are not the user of an agent, talk in a session.
    pub(crate) fn is_discussion(&self, session: u32) -> bool {
        self.sessions.get(session as usize).is_some_and(|session| session.is_discussion)
    }

    /// Returns the year of most messages, which a day without a year refers to.
    pub(crate) fn usual_year(&self) -> Option<i16> {
        let most = self.years.values().max()?;
        self.years.iter().find(|(_, count)| *count == most).map(|(year, _)| *year)
    }

    /// Returns the mean number of terms of a passage.
    #[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^52")]
    pub(crate) fn mean_length(&self) -> f64 {
        (self.total_length as f64 / self.passages.len().max(1) as f64).max(1.0)
    }

    /// Returns the neighbors before a message, each with its distance, one or two. Neighbors
    /// are in the same conversation and at most a day apart.
    pub(crate) fn earlier(&self, message: usize) -> impl Iterator<Item = (usize, usize)> {
        self.neighbors_by(message, |entry| entry.previous)
    }

    /// Returns the neighbors before and after a message.
    pub(crate) fn neighbors(&self, message: usize) -> impl Iterator<Item = (usize, usize)> {
        self.earlier(message).chain(self.neighbors_by(message, |entry| entry.next))
    }

    fn neighbors_by(
        &self,
        message: usize,
        step: impl Fn(&Entry) -> Option<u32>,
    ) -> impl Iterator<Item = (usize, usize)> {
        let entry = self.messages.get(message);
        let is_conversation = |session: u32| {
            self.sessions.get(session as usize).is_some_and(Session::is_conversation)
        };
        let day = entry.map_or(0, |entry| entry.day);
        let get = |at: u32| self.messages.get(at as usize);
        let one = entry.filter(|entry| is_conversation(entry.session)).and_then(&step);
        let two = one.and_then(get).and_then(&step);
        let neighbor = |distance: usize, at: Option<u32>| {
            let is_near = get(at?)?.day.abs_diff(day) <= 1;
            is_near.then_some((distance, at? as usize))
        };
        [neighbor(1, one), neighbor(2, two)].into_iter().flatten()
    }

    fn speaker(&mut self, name: &str) -> u32 {
        let number = number_of(&mut self.speaker_numbers, name);
        if self.speakers.len() <= number as usize {
            let mut terms = Vec::new();
            each_term(name, |term, _| terms.push(Box::from(term)));
            let kind = Speaker::named(name);
            self.has_program |= kind == Speaker::Program;
            self.speakers.push(Name { kind, terms });
        }
        number
    }

    fn add_passage(&mut self, message: u32, speaker: u32, text: &str) {
        let mut found = Vec::new();
        let mut length = 0;
        let mut add = |term: &str| {
            length += u32::from(!is_single_character(term));
            found.push(number_of(&mut self.vocabulary, term));
        };
        for term in self.speakers.get(speaker as usize).map_or(&[][..], |name| &name.terms) {
            add(term);
        }
        each_term(text, |term, _| add(term));
        found.sort_unstable();
        self.postings.resize_with(self.vocabulary.len(), Vec::new);
        let passage = small(self.passages.len());
        for same in found.chunk_by(|one, other| one == other) {
            let term = same.first().and_then(|&term| self.postings.get_mut(term as usize));
            if let Some(postings) = term {
                postings.push(Posting { passage, count: small(same.len()) });
            }
        }
        self.passages.push(Passage { message, length });
        self.total_length += u64::from(length);
    }
}

/// Returns the number of a name, a new one if it has none.
fn number_of(numbers: &mut FxHashMap<Box<str>, u32>, name: &str) -> u32 {
    if let Some(number) = numbers.get(name) {
        return *number;
    }
    let number = small(numbers.len());
    numbers.insert(Box::from(name), number);
    number
}

/// Converts a position. An index of four billion entries does not fit into memory.
fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
