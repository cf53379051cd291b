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
    /// By the hash of a call id: the file that the call named.
    calls: FxHashMap<u64, u64>,
    /// By the hash of a word in a value: the number of values with this word, and the number of
    /// uses in calls and by the user.
    words: FxHashMap<u64, (u32, u32)>,
    newest: usize,
}

/// The values of one message, found without the messages before it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extract(Vec<Passage>);

/// One text of a message.
#[derive(Clone, Debug)]
struct Passage {
    author: Author,
    about: About,
    /// The values, one after another. One allocation for all of them makes loading a long history
    /// faster.
    text: String,
    values: Vec<Mention>,
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
    /// A call: the hash of its id, and the file that it names.
    Call(u64, Option<u64>),
    /// The result of a call: the hash of its id.
    Answer(u64),
}

#[derive(Clone, Debug)]
struct Mention {
    /// The length of the value in [`Passage::text`].
    length: usize,
    kind: Kind,
    defined: bool,
    mentions: u32,
}

impl Extract {
    pub(crate) fn of(message: &Message) -> Self {
        let mut found = Self::default();
        for part in &message.parts {
            match &part.body {
                Body::Text(text) => {
                    let author = match message.role {
                        Role::User => Author::User,
                        Role::Assistant => Author::Assistant,
                        Role::System | Role::Tool => Author::Tool,
                    };
                    found.add(text, author, About::Nothing);
                }
                Body::Call(call) => {
                    let arguments = unescaped(&call.arguments);
                    let file = file_in(&arguments).map(|file| hash(value::base_name(file)));
                    found.add(&arguments, Author::OwnCall, About::Call(hash(&call.id), file));
                }
                Body::Result(result) => {
                    for inner in &result.parts {
                        if let Body::Text(text) = &inner.body {
                            found.add(text, Author::Tool, About::Answer(hash(&result.call_id)));
                        }
                    }
                }
                Body::Thinking(_) | Body::Image(_) | Body::Opaque(_) => {}
            }
        }
        found
    }

    fn add(&mut self, text: &str, author: Author, about: About) {
        let mut found: FxHashMap<&str, (Kind, bool, u32)> = FxHashMap::default();
        for line in text.lines() {
            let defines = is_definition(line);
            for (value, kind) in value::values(line) {
                let (_, defined, mentions) = found.entry(value).or_insert((kind, false, 0));
                *defined |= defines;
                *mentions += 1;
            }
        }
        let text = found.keys().copied().collect();
        let mention = |(value, (kind, defined, mentions)): (&str, _)| Mention {
            length: value.len(),
            kind,
            defined,
            mentions,
        };
        // Both iterations have the same order, because the map did not change.
        let values = found.into_iter().map(mention).collect();
        self.0.push(Passage { author, about, text, values });
    }
}

impl Index {
    /// Adds a message.
    pub(crate) fn append(&mut self, index: usize, message: &Message) {
        self.take(index, Extract::of(message));
    }

    /// Adds the values of a message.
    pub(crate) fn take(&mut self, index: usize, found: Extract) {
        self.newest = index;
        for Passage { author, about, text, values } in found.0 {
            let source = match about {
                About::Nothing | About::Call(..) => 0,
                About::Answer(call) => self.calls.get(&call).copied().unwrap_or(0),
            };
            let crowd = u32::try_from(values.len()).unwrap_or(u32::MAX);
            let mut rest = text.as_str();
            for mention in values {
                let Some((value, after)) = rest.split_at_checked(mention.length) else { break };
                rest = after;
                self.add(value, &mention, Place { index, crowd, author, source });
            }
            if let About::Call(call, Some(file)) = about {
                self.calls.insert(call, file);
            }
        }
    }

    fn add(&mut self, value: &str, mention: &Mention, place: Place) {
        let Place { index, crowd, author, source } = place;
        let &Mention { kind, defined, mentions, .. } = mention;
        let update = |seen: &mut Seen| {
            seen.occurrences = seen.occurrences.saturating_add(1);
            seen.mentions = seen.mentions.saturating_add(mentions);
            seen.crowd = seen.crowd.min(crowd);
            seen.last = index;
            seen.defined |= defined;
            if source != 0 {
                seen.source = source;
            }
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
    pub(super) fn kin(&self, value: &str) -> (f64, f64) {
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
    pub(super) fn source_used(&self, seen: &Seen) -> Option<(usize, usize)> {
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
    pub(super) fn source_named(&self, seen: &Seen) -> bool {
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
    pub(super) const fn source(&self) -> u64 {
        self.source
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
