//! The index of the values in a history: where and how often each one appeared, and whether the
//! agent used it. It grows with the history; the cost of a message depends only on its content.

use std::borrow::Cow;
use std::hash::BuildHasher;

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
    /// The number of values in the part that has the fewest.
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
    source_at: usize,
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
    values: FxHashMap<Box<str>, Seen>,
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
    /// By the hash of a word in a value: the number of values with this word, and the number of
    /// uses in calls and by the user.
    words: FxHashMap<u64, (u32, u32)>,
    newest: usize,
}

/// A value of a result whose call is not in the index.
#[derive(Clone, Debug)]
struct Unmatched {
    value: Box<str>,
    /// The hash of the call's id.
    call: u64,
    /// The message with the result.
    index: usize,
}

/// Where a value is mentioned.
#[derive(Clone, Copy, Debug)]
struct Place {
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

/// About how many bytes of text there are per value, in code and logs.
const BYTES_PER_VALUE: usize = 48;

/// How a text mentions a value.
#[derive(Clone, Copy, Debug)]
struct Mention {
    kind: Kind,
    defined: bool,
    mentions: u32,
}

impl Index {
    /// Adds a message.
    pub(crate) fn append(&mut self, index: usize, message: &Message) {
        self.newest = index;
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

    /// Adds the values of one text.
    fn add_text(&mut self, index: usize, text: &str, author: Author, about: About) {
        let capacity = text.len() / BYTES_PER_VALUE;
        let mut found: FxHashMap<&str, Mention> =
            FxHashMap::with_capacity_and_hasher(capacity, FxBuildHasher);
        for line in text.lines() {
            let defines = is_definition(line);
            for (value, kind) in value::values(line) {
                let new = Mention { kind, defined: false, mentions: 0 };
                let mention = found.entry(value).or_insert(new);
                mention.defined |= defines;
                mention.mentions += 1;
            }
        }
        let source = match about {
            About::Nothing | About::Call(..) => 0,
            About::Answer(call) => self.source_of(index, call, &found),
        };
        let crowd = u32::try_from(found.len()).unwrap_or(u32::MAX);
        for (value, mention) in found {
            self.add(value, mention, Place { index, crowd, author, source });
        }
        if let About::Call(call, file) = about {
            self.calls.insert(call, file);
        }
    }

    /// Returns the file that a call named. If the call is unknown, the values of its result are
    /// kept for [`Index::merge`].
    fn source_of(&mut self, index: usize, call: u64, found: &FxHashMap<&str, Mention>) -> u64 {
        if let Some(&file) = self.calls.get(&call) {
            return file;
        }
        let unmatched = found.keys().map(|&value| Unmatched { value: value.into(), call, index });
        self.unmatched.extend(unmatched);
        0
    }

    /// Adds the index of the messages after those of this index.
    pub(crate) fn merge(&mut self, later: Self) {
        // Before the calls of the later part: a result is not about a call after it.
        let unmatched = self.matched(later.unmatched);
        self.newest = self.newest.max(later.newest);
        for (word, (_, uses)) in later.words {
            let (_, sum) = self.words.entry(word).or_default();
            *sum = sum.saturating_add(uses);
        }
        for (value, seen) in later.values {
            match self.values.get_mut(&*value) {
                Some(earlier) => earlier.merge(&seen),
                None => {
                    for word in value::parts(&value) {
                        let (values, _) = self.words.entry(word).or_default();
                        *values = values.saturating_add(1);
                    }
                    self.values.insert(value, seen);
                }
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
        for (value, index, file) in unmatched {
            if let Some(seen) = self.values.get_mut(&*value) {
                seen.is_about(file, index);
            }
        }
    }

    /// Finds the files of results whose calls are in this index. The others stay unmatched.
    fn matched(&mut self, unmatched: Vec<Unmatched>) -> Vec<(Box<str>, usize, u64)> {
        let mut found = Vec::new();
        for result in unmatched {
            match self.calls.get(&result.call) {
                Some(&file) => found.push((result.value, result.index, file)),
                None => self.unmatched.push(result),
            }
        }
        found
    }

    fn add(&mut self, value: &str, mention: Mention, place: Place) {
        let Place { index, crowd, author, source } = place;
        let Mention { kind, defined, mentions } = mention;
        let update = |seen: &mut Seen| {
            seen.occurrences = seen.occurrences.saturating_add(1);
            seen.mentions = seen.mentions.saturating_add(mentions);
            seen.crowd = seen.crowd.min(crowd);
            seen.last = index;
            seen.defined |= defined;
            seen.is_about(source, index);
            match author {
                Author::User => seen.by_user = true,
                Author::Assistant => seen.by_assistant = true,
                Author::OwnCall => seen.own_calls = seen.own_calls.saturating_add(1),
                Author::Tool => {}
            }
        };
        match self.values.get_mut(value) {
            Some(seen) => {
                update(seen);
                self.add_use(index, value, author, false);
            }
            None => {
                self.add_use(index, value, author, true);
                let mut seen = Seen::new(kind, crowd);
                update(&mut seen);
                self.values.insert(value.into(), seen);
            }
        }
    }

    fn add_use(&mut self, index: usize, value: &str, author: Author, is_new: bool) {
        if author == Author::OwnCall {
            let (last, uses) = self.base_names.entry(hash(value::base_name(value))).or_default();
            *last = index;
            *uses += 1;
            if let Some(directory) = value::directory(value) {
                self.directories.insert(hash(directory), index);
            }
        }
        if matches!(author, Author::User | Author::Assistant) {
            self.named.insert(hash(value::base_name(value)));
        }
        let is_use = matches!(author, Author::OwnCall | Author::User);
        if is_new || is_use {
            for word in value::parts(value) {
                let (values, uses) = self.words.entry(word).or_default();
                *values = values.saturating_add(u32::from(is_new));
                *uses = uses.saturating_add(u32::from(is_use));
            }
        }
    }

    /// Returns how often the words in a value were used, and how common they are, on average.
    pub(crate) fn kin(&self, value: &str) -> (f64, f64) {
        let mut used = 0.0;
        let mut common = 0.0;
        let mut count = 0.0;
        for word in value::parts(value) {
            let (values, uses) = self.words.get(&word).copied().unwrap_or_default();
            used += doublings(uses as usize);
            common += doublings(values as usize);
            count += 1.0;
        }
        if count > 0.0 { (used / count, common / count) } else { (0.0, 0.0) }
    }

    /// Returns the newest message with a call that named the file of a value, and the number of
    /// such calls.
    pub(crate) fn source_used(&self, seen: &Seen) -> Option<(usize, usize)> {
        self.base_names.get(&seen.source).copied()
    }

    /// Returns what is known about a value.
    #[must_use]
    pub fn get(&self, value: &str) -> Option<&Seen> {
        self.values.get(value)
    }

    /// Returns the base names of files by hash.
    pub(super) fn sources(&self) -> FxHashMap<u64, &str> {
        let is_file =
            |kind: Kind| matches!(kind, Kind::AbsolutePath | Kind::RelativePath | Kind::File);
        let files = self.values.iter().filter(|(_, seen)| is_file(seen.kind));
        files.map(|(value, _)| value::base_name(value)).map(|name| (hash(name), name)).collect()
    }

    /// Returns whether the user or the assistant named the file of a value.
    pub(crate) fn source_named(&self, seen: &Seen) -> bool {
        self.named.contains(&seen.source)
    }

    /// Returns every value with what is known about it, in any order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Seen)> {
        self.values.iter().map(|(value, seen)| (&**value, seen))
    }

    /// Returns the number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns whether there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
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
    const fn is_about(&mut self, file: u64, index: usize) {
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
        self.crowd = self.crowd.min(later.crowd);
        self.last = later.last;
        self.by_user |= later.by_user;
        self.by_assistant |= later.by_assistant;
        self.defined |= later.defined;
        self.is_about(later.source, later.source_at);
    }

    const fn new(kind: Kind, crowd: u32) -> Self {
        Self {
            kind,
            occurrences: 0,
            mentions: 0,
            own_calls: 0,
            crowd,
            last: 0,
            by_user: false,
            by_assistant: false,
            defined: false,
            source: 0,
            source_at: 0,
        }
    }
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
