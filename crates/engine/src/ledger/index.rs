//! The index of the values in a history: where and how often each one appeared, and whether the
//! agent used it. It grows with the history; the cost of a message depends only on its content.

use std::borrow::Cow;
use std::hash::BuildHasher;
use std::sync::OnceLock;

use hashbrown::HashTable;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use super::doublings::doublings;
use super::value::{self, Kind};
use crate::message::{Body, Message, Part, Role};

/// What is known about a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The kind of value.
    pub kind: Kind,
    /// The number of message parts that contain it.
    pub occurrences: u32,
    /// How often those parts mention it.
    pub mentions: u32,
    /// How many of those parts are calls of the agent.
    pub own_calls: u32,
    /// How many of those parts are calls of the agent or texts of the user.
    uses: u32,
    /// Of the message parts that contain it, the number of values in the one with the fewest.
    pub crowd: u32,
    /// The newest message that contains it.
    pub last: usize,
    /// Whether the user wrote it.
    pub by_user: bool,
    /// Whether the assistant wrote it in an answer.
    pub by_assistant: bool,
    /// Whether it was on a line that defines something.
    pub defined: bool,
    /// The file that the newest result with it is about, as the hash of its base name; 0 for none.
    source: u64,
    /// The message with that result.
    source_at: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Author {
    User,
    Assistant,
    OwnCall,
    Tool,
}

/// All values of a history.
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// The numbers of the values, by their hashes. A value is looked up for each mention, so this
    /// table and the entries are small, and nothing is hashed twice.
    numbers: HashTable<u32>,
    entries: Vec<Entry>,
    /// The texts of all values, one after another.
    text: String,
    /// How many texts were added. It tells whether a text mentions a value for the first time.
    texts: u32,
    /// By the hash of a base name: the newest message with a call that used it, and the number of
    /// such calls.
    base_names: FxHashMap<u64, (usize, usize)>,
    /// By the hash of a directory: the newest message with a call that used it.
    directories: FxHashMap<u64, usize>,
    /// The hashes of base names that the user or the assistant wrote.
    named: FxHashSet<u64>,
    /// By the hash of a call id: the file that the call named; 0 for none.
    calls: FxHashMap<u64, u64>,
    /// The values of results whose calls are not in this index. If this is the index of the second
    /// part of a history, the calls may be in the first part.
    unmatched: Vec<Unmatched>,
    /// Made from the entries when values are ranked.
    words: OnceLock<Words>,
    newest: usize,
}

/// By the hash of a word in a value: the number of values with this word, and the number of uses in
/// calls and by the user.
type Words = FxHashMap<u64, (u32, u32)>;

/// A value. It fits into one cache line, because values are looked up in random order.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Entry {
    hash: u64,
    /// Where its text starts in `Index::text`.
    start: u32,
    length: u16,
    /// The number of the text that mentioned it last.
    in_text: u32,
    seen: Seen,
}

impl Entry {
    const fn range(&self) -> std::ops::Range<usize> {
        let start = self.start as usize;
        start..start + self.length as usize
    }
}

/// A value of a result whose call is not in the index.
#[derive(Clone, Debug)]
struct Unmatched {
    /// The number of the value.
    value: u32,
    /// The hash of the call's id.
    call: u64,
    /// The message with the result.
    index: usize,
}

/// Where a value is mentioned.
#[derive(Clone, Copy, Debug)]
struct Occurrence {
    /// The message.
    index: usize,
    /// The number of values in the text.
    crowd: u32,
    author: Author,
    /// The file that the text is about, as the hash of its base name; 0 for none.
    source: u64,
}

/// What a text is about.
#[derive(Clone, Copy, Debug)]
enum About {
    Nothing,
    /// A call: the hash of its id, and of the base name of the file that it names; 0 for none.
    Call(u64, u64),
    /// The result of a call: the hash of its id.
    Answer(u64),
}

impl Index {
    /// Adds a message.
    pub(crate) fn append(&mut self, index: usize, message: &Message) {
        self.newest = index;
        self.words.take();
        for part in &message.parts {
            match &part.body {
                Body::Text(text) => {
                    let author = match message.role {
                        Role::User => Author::User,
                        Role::Assistant => Author::Assistant,
                        Role::System | Role::Tool => Author::Tool,
                    };
                    self.add_text(index, text, author, About::Nothing);
                }
                Body::Call(call) => {
                    let arguments = unescaped(&call.arguments);
                    let file = file_in(&arguments).map_or(0, |file| hash(value::base_name(file)));
                    let about = About::Call(hash(&call.id), file);
                    self.add_text(index, &arguments, Author::OwnCall, about);
                }
                Body::Result(result) => {
                    let about = About::Answer(hash(&result.call_id));
                    for inner in &result.parts {
                        if let Body::Text(text) = &inner.body {
                            self.add_text(index, text, Author::Tool, about);
                        }
                    }
                }
                Body::Thinking(_) | Body::Image(_) | Body::Opaque(_) => {}
            }
        }
    }

    /// Adds a value that an earlier ledger listed, as if a call had used it: it was one of the
    /// best. What is known about a value that a message mentions stays.
    pub(crate) fn remember(&mut self, index: usize, value: &str) {
        if self.get(value).is_none() {
            self.words.take();
            self.add_text(index, value, Author::OwnCall, About::Nothing);
        }
    }

    /// Adds the values of one text.
    fn add_text(&mut self, index: usize, text: &str, author: Author, about: About) {
        let found = self.mentioned(text);
        let source = match about {
            About::Nothing | About::Call(..) => 0,
            About::Answer(call) => self.source_of(index, call, &found),
        };
        let crowd = u32::try_from(found.len()).unwrap_or(u32::MAX);
        for value in found {
            self.add(value, Occurrence { index, crowd, author, source });
        }
        if let About::Call(call, file) = about {
            self.calls.insert(call, file);
        }
    }

    /// Counts the mentions of values in a text, and returns the numbers of these values, each once.
    fn mentioned(&mut self, text: &str) -> Vec<u32> {
        self.texts = self.texts.wrapping_add(1);
        let words = words_of(text);
        let mut found = Vec::with_capacity(words.len());
        for Word { text: word, hash, defines } in words {
            let number = self.find(hash, word).or_else(|| {
                let kind = value::kind_of_candidate(word)?;
                Some(self.insert(hash, word, Seen::new(kind)))
            });
            let Some(number) = number else { continue };
            let Some(entry) = self.entries.get_mut(number as usize) else { continue };
            entry.seen.mentions = entry.seen.mentions.saturating_add(1);
            entry.seen.defined |= defines;
            if entry.in_text != self.texts {
                entry.in_text = self.texts;
                found.push(number);
            }
        }
        found
    }

    /// Returns the number of a value.
    fn find(&self, hash: u64, value: &str) -> Option<u32> {
        let is_value = |number: &u32| {
            let entry = self.entries.get(*number as usize);
            entry.is_some_and(|entry| self.text_of(entry) == value)
        };
        self.numbers.find(hash, is_value).copied()
    }

    fn insert(&mut self, hash: u64, value: &str, seen: Seen) -> u32 {
        // More values would not fit into memory.
        let number = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        let start = u32::try_from(self.text.len()).unwrap_or(u32::MAX);
        let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
        self.text.push_str(value);
        self.entries.push(Entry { hash, start, length, in_text: 0, seen });
        let entries = &self.entries;
        self.numbers.insert_unique(hash, number, |&number| {
            entries.get(number as usize).map_or(0, |entry| entry.hash)
        });
        number
    }

    fn text_of(&self, entry: &Entry) -> &str {
        self.text.get(entry.range()).unwrap_or_default()
    }

    /// Returns the file that a call named. If the call is unknown, the values of its result are
    /// kept for [`Index::merge`].
    fn source_of(&mut self, index: usize, call: u64, found: &[u32]) -> u64 {
        if let Some(&file) = self.calls.get(&call) {
            return file;
        }
        let unmatched = found.iter().map(|&value| Unmatched { value, call, index });
        self.unmatched.extend(unmatched);
        0
    }

    /// Adds the index of the messages after those of this index.
    pub(crate) fn merge(&mut self, later: Self) {
        if self.is_empty() && self.calls.is_empty() {
            *self = later;
            return;
        }
        self.words.take();
        self.newest = self.newest.max(later.newest);
        let numbers: Vec<u32> = later
            .entries
            .iter()
            .map(|entry| self.merge_value(entry, later.text_of(entry)))
            .collect();
        // Before the calls of the later part: a result is not about a call after it.
        for mut result in later.unmatched {
            let Some(&value) = numbers.get(result.value as usize) else { continue };
            result.value = value;
            match (self.calls.get(&result.call), self.entries.get_mut(value as usize)) {
                (Some(&file), Some(entry)) => {
                    entry.seen.is_about(file, message_number(result.index))
                }
                _ => self.unmatched.push(result),
            }
        }
        for (name, (last, uses)) in later.base_names {
            let (newest, sum) = self.base_names.entry(name).or_default();
            *newest = last;
            *sum += uses;
        }
        self.directories.extend(later.directories);
        self.named.extend(later.named);
        self.calls.extend(later.calls);
    }

    /// Adds what later messages say about a value, and returns its number.
    fn merge_value(&mut self, later: &Entry, value: &str) -> u32 {
        let Some(number) = self.find(later.hash, value) else {
            return self.insert(later.hash, value, later.seen);
        };
        if let Some(entry) = self.entries.get_mut(number as usize) {
            entry.seen.merge(&later.seen);
        }
        number
    }

    fn add(&mut self, number: u32, place: Occurrence) {
        let Occurrence { index, crowd, author, source } = place;
        let Some(entry) = self.entries.get_mut(number as usize) else { return };
        let seen = &mut entry.seen;
        let was_named = seen.by_user || seen.by_assistant;
        seen.occurrences = seen.occurrences.saturating_add(1);
        seen.crowd = seen.crowd.min(crowd);
        // A remembered value is added after newer messages.
        seen.last = seen.last.max(index);
        seen.is_about(source, message_number(index));
        match author {
            Author::User => seen.by_user = true,
            Author::Assistant => seen.by_assistant = true,
            Author::OwnCall => seen.own_calls = seen.own_calls.saturating_add(1),
            Author::Tool => {}
        }
        if matches!(author, Author::OwnCall | Author::User) {
            seen.uses = seen.uses.saturating_add(1);
        }
        let is_named = seen.by_user || seen.by_assistant;
        let value = self.text.get(entry.range()).unwrap_or_default();
        if is_named && !was_named {
            self.named.insert(hash(value::base_name(value)));
        }
        if author == Author::OwnCall {
            let (last, uses) = self.base_names.entry(hash(value::base_name(value))).or_default();
            *last = index.max(*last);
            *uses += 1;
            if let Some(directory) = value::directory(value) {
                let last = self.directories.entry(hash(directory)).or_default();
                *last = index.max(*last);
            }
        }
    }

    /// Returns how often the words in a value were used, and how common they are, on average.
    pub(crate) fn kin(&self, value: &str) -> (f64, f64) {
        let words = self.words.get_or_init(|| self.count_words());
        let mut used = 0.0;
        let mut common = 0.0;
        let mut count = 0.0;
        for word in value::parts(value) {
            let (values, uses) = words.get(&word).copied().unwrap_or_default();
            used += doublings(uses as usize);
            common += doublings(values as usize);
            count += 1.0;
        }
        if count > 0.0 { (used / count, common / count) } else { (0.0, 0.0) }
    }

    fn count_words(&self) -> Words {
        let mut words = Words::default();
        for entry in &self.entries {
            for word in value::parts(self.text_of(entry)) {
                let (values, uses) = words.entry(word).or_default();
                *values = values.saturating_add(1);
                *uses = uses.saturating_add(entry.seen.uses);
            }
        }
        words
    }

    /// Returns the newest message with a call that named the file of a value, and the number of
    /// such calls.
    pub(crate) fn source_used(&self, seen: &Seen) -> Option<(usize, usize)> {
        self.base_names.get(&seen.source).copied()
    }

    /// Returns what is known about a value.
    #[must_use]
    pub fn get(&self, value: &str) -> Option<&Seen> {
        let number = self.find(hash(value), value)?;
        self.entries.get(number as usize).map(|entry| &entry.seen)
    }

    /// Returns the number of a value: its place in the order of [`Index::iter`].
    pub(super) fn number(&self, value: &str) -> Option<u32> {
        self.find(hash(value), value)
    }

    /// Returns the base names of files by hash.
    pub(super) fn sources(&self) -> FxHashMap<u64, &str> {
        let is_file =
            |kind: Kind| matches!(kind, Kind::AbsolutePath | Kind::RelativePath | Kind::File);
        let files = self.iter().filter(|(_, seen)| is_file(seen.kind));
        files.map(|(value, _)| value::base_name(value)).map(|name| (hash(name), name)).collect()
    }

    /// Returns whether the user or the assistant named the file of a value.
    pub(crate) fn source_named(&self, seen: &Seen) -> bool {
        self.named.contains(&seen.source)
    }

    /// Returns every value with what is known about it, in the order of their first mention.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Seen)> {
        self.entries.iter().map(|entry| (self.text_of(entry), &entry.seen))
    }

    /// Returns the number of values.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether the index is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the index of the newest message.
    #[must_use]
    pub const fn newest(&self) -> usize {
        self.newest
    }

    /// Returns the newest message with a call that used the base name of a value.
    pub(super) fn base_name_used(&self, value: &str) -> Option<usize> {
        self.base_names.get(&hash(value::base_name(value))).map(|(last, _)| *last)
    }

    /// Returns the newest message with a call that used the directory of a value.
    pub(super) fn directory_used(&self, value: &str) -> Option<usize> {
        value::directory(value)
            .and_then(|directory| self.directories.get(&hash(directory)).copied())
    }
}

impl Seen {
    /// Returns the hash of the file that the newest result with it is about; 0 for none.
    pub(crate) const fn source(&self) -> u64 {
        self.source
    }

    /// Notes the file of a result with this value, unless a newer result is known.
    fn is_about(&mut self, file: u64, index: u32) {
        if file != 0 && index >= self.source_at {
            self.source = file;
            self.source_at = index;
        }
    }

    /// Adds what later messages say about the value.
    fn merge(&mut self, later: &Self) {
        self.occurrences = self.occurrences.saturating_add(later.occurrences);
        self.mentions = self.mentions.saturating_add(later.mentions);
        self.own_calls = self.own_calls.saturating_add(later.own_calls);
        self.uses = self.uses.saturating_add(later.uses);
        self.crowd = self.crowd.min(later.crowd);
        self.last = later.last;
        self.by_user |= later.by_user;
        self.by_assistant |= later.by_assistant;
        self.defined |= later.defined;
        self.is_about(later.source, later.source_at);
    }

    const fn new(kind: Kind) -> Self {
        Self {
            kind,
            occurrences: 0,
            mentions: 0,
            own_calls: 0,
            uses: 0,
            crowd: u32::MAX,
            last: 0,
            by_user: false,
            by_assistant: false,
            defined: false,
            source: 0,
            source_at: 0,
        }
    }
}

/// The approximate number of bytes of text per value, in texts with many values.
const BYTES_PER_VALUE: usize = 24;

/// A word that may be a value.
struct Word<'a> {
    text: &'a str,
    hash: u64,
    /// Whether it is on a line that defines something.
    defines: bool,
}

/// Returns the words of a text that may be values. They are collected before they are looked up,
/// because the processor can then do several lookups at once.
fn words_of(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::with_capacity(text.len() / BYTES_PER_VALUE);
    for line in text.lines() {
        let mut is_defining = None;
        for word in value::candidates(line) {
            let defines = *is_defining.get_or_insert_with(|| is_definition(line));
            words.push(Word { text: word, hash: hash(word), defines });
        }
    }
    words
}

/// Returns the index of a message as it is stored for a value.
fn message_number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// Unescapes white space and slashes in JSON text, so that they do not become part of a word.
fn unescaped(json: &str) -> Cow<'_, str> {
    if json.contains('\\') {
        json.replace("\\n", "\n").replace("\\t", "\t").replace("\\/", "/").into()
    } else {
        json.into()
    }
}

/// Returns the visible text of a message: its texts, its results and the arguments of its calls,
/// but not its thinking.
#[must_use]
pub fn text_of(message: &Message) -> String {
    let mut text = String::new();
    for part in &message.parts {
        add(&mut text, part);
    }
    if text.contains("\\/") { text.replace("\\/", "/") } else { text }
}

fn add(text: &mut String, part: &Part) {
    match &part.body {
        Body::Text(own) => text.push_str(own),
        Body::Call(call) => text.push_str(&call.arguments),
        Body::Result(result) => result.parts.iter().for_each(|inner| add(text, inner)),
        Body::Thinking(_) | Body::Image(_) | Body::Opaque(_) => return,
    }
    text.push('\n');
}

/// Returns the file that a call is about: the first path or file name in its arguments.
fn file_in(arguments: &str) -> Option<&str> {
    let is_file = |kind: Kind| matches!(kind, Kind::AbsolutePath | Kind::RelativePath | Kind::File);
    value::values(arguments).find(|(_, kind)| is_file(*kind)).map(|(value, _)| value)
}

fn hash(text: &str) -> u64 {
    FxBuildHasher.hash_one(text)
}

/// Returns whether a line defines something, in common programming languages.
fn is_definition(line: &str) -> bool {
    const KEYWORDS: [&str; 16] = [
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
    let first =
        line.trim_start().split(|c: char| !c.is_ascii_lowercase()).next().unwrap_or_default();
    KEYWORDS.contains(&first)
}
