//! Which values a history has shown, where, how often, and whether the agent used them itself. Grows with the
//! history; one message costs what it holds.

use std::borrow::Cow;
use std::hash::BuildHasher;

use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use super::value::{self, Kind};
use crate::message::{Body, Message, Role};

/// What is known of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// What it is.
    pub kind: Kind,
    /// Parts of messages that showed it.
    pub occurrences: u32,
    /// Of these, the agent's own calls.
    pub own_calls: u32,
    /// The values that the least crowded of those parts showed.
    pub crowd: u32,
    /// The newest message that showed it.
    pub last: usize,
    /// The user wrote it.
    pub by_user: bool,
    /// The assistant wrote it in an answer.
    pub by_assistant: bool,
    /// It stood on a line that defines something.
    pub defined: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Speaker {
    User,
    Assistant,
    OwnCall,
    Tool,
}

/// All values of a history.
#[derive(Clone, Debug, Default)]
pub struct Index {
    values: FxHashMap<Box<str>, Seen>,
    /// By hash of a base name or folder: the newest message whose calls used it.
    base_names: FxHashMap<u64, usize>,
    folders: FxHashMap<u64, usize>,
    newest: usize,
}

impl Index {
    /// Takes in one message.
    pub(crate) fn append(&mut self, index: usize, message: &Message) {
        self.newest = index;
        for part in &message.parts {
            match &part.body {
                Body::Text(text) => match message.role {
                    Role::User => self.take(index, text, Speaker::User),
                    Role::Assistant => self.take(index, text, Speaker::Assistant),
                    Role::System | Role::Tool => self.take(index, text, Speaker::Tool),
                },
                Body::Call(call) => self.take(index, &unescaped(&call.arguments), Speaker::OwnCall),
                Body::Result(result) => {
                    for inner in &result.parts {
                        if let Body::Text(text) = &inner.body {
                            self.take(index, text, Speaker::Tool);
                        }
                    }
                }
                Body::Thinking(_) | Body::Image(_) | Body::Opaque(_) => {}
            }
        }
    }

    fn take(&mut self, index: usize, text: &str, speaker: Speaker) {
        let mut found: FxHashMap<&str, (Kind, bool)> = FxHashMap::default();
        for line in text.lines() {
            let defines = is_definition(line);
            for (value, kind) in value::values(line) {
                found.entry(value).or_insert((kind, false)).1 |= defines;
            }
        }
        let crowd = u32::try_from(found.len()).unwrap_or(u32::MAX);
        for (value, (kind, defined)) in found {
            self.note(index, value, kind, crowd, speaker);
            if defined && let Some(seen) = self.values.get_mut(value) {
                seen.defined = true;
            }
        }
    }

    fn note(&mut self, index: usize, value: &str, kind: Kind, crowd: u32, speaker: Speaker) {
        if speaker == Speaker::OwnCall {
            self.base_names.insert(hash(value::base_name(value)), index);
            if let Some(folder) = value::folder(value) {
                self.folders.insert(hash(folder), index);
            }
        }
        if !self.values.contains_key(value) {
            self.values.insert(value.into(), Seen::new(kind, crowd));
        }
        let Some(seen) = self.values.get_mut(value) else { return };
        seen.occurrences = seen.occurrences.saturating_add(1);
        seen.crowd = seen.crowd.min(crowd);
        seen.last = index;
        match speaker {
            Speaker::User => seen.by_user = true,
            Speaker::Assistant => seen.by_assistant = true,
            Speaker::OwnCall => seen.own_calls = seen.own_calls.saturating_add(1),
            Speaker::Tool => {}
        }
    }

    /// Every value with what is known of it, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Seen)> {
        self.values.iter().map(|(value, seen)| (&**value, seen))
    }

    /// How many values there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The newest message taken in.
    #[must_use]
    pub const fn newest(&self) -> usize {
        self.newest
    }

    /// The newest message whose calls used this base name.
    pub(super) fn base_name_used(&self, value: &str) -> Option<usize> {
        self.base_names.get(&hash(value::base_name(value))).copied()
    }

    /// The newest message whose calls used this folder.
    pub(super) fn folder_used(&self, value: &str) -> Option<usize> {
        value::folder(value).and_then(|folder| self.folders.get(&hash(folder)).copied())
    }
}

impl Seen {
    const fn new(kind: Kind, crowd: u32) -> Self {
        Self { kind, occurrences: 0, own_calls: 0, crowd, last: 0, by_user: false, by_assistant: false, defined: false }
    }
}

/// JSON text in which escaped white space no longer sticks to the word after it.
fn unescaped(json: &str) -> Cow<'_, str> {
    if json.contains('\\') {
        json.replace("\\n", "\n").replace("\\t", "\t").replace("\\/", "/").into()
    } else {
        json.into()
    }
}

/// Every value in a text, for telling what a reader of that text can see.
pub(super) fn set_of(text: &str) -> FxHashSet<&str> {
    value::values(text).map(|(value, _)| value).collect()
}

fn hash(text: &str) -> u64 {
    FxBuildHasher.hash_one(text)
}

/// Whether a line defines something, in the languages agents mostly read.
fn is_definition(line: &str) -> bool {
    const WORDS: [&str; 16] = [
        "fn",
        "pub",
        "def",
        "class",
        "struct",
        "enum",
        "trait",
        "impl",
        "type",
        "interface",
        "function",
        "func",
        "const",
        "export",
        "async",
        "static",
    ];
    let first = line.trim_start().split(|c: char| !c.is_ascii_lowercase()).next().unwrap_or_default();
    WORDS.contains(&first)
}
