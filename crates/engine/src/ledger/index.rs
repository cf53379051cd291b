//! Which values a history has shown, where, how often, and whether the agent used them itself.
//! Grows with the history; one message costs what it holds.

use std::borrow::Cow;
use std::hash::BuildHasher;

use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use super::rank::doublings;
use super::value::{self, Kind};
use crate::message::{Body, Message, Part, Role};

/// What is known of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// What it is.
    pub kind: Kind,
    /// Parts of messages that showed it.
    pub occurrences: u32,
    /// How often those parts named it.
    pub mentions: u32,
    /// Of these parts, the agent's own calls.
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
    /// The file that the newest result with it was about, by the hash of its base name; 0 for none.
    source: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// By hash of a base name: the newest message whose calls used it, and how many did. By hash of
    /// a folder: the newest.
    base_names: FxHashMap<u64, (usize, usize)>,
    folders: FxHashMap<u64, usize>,
    /// By hash of a base name: those that the user or the assistant wrote.
    named: FxHashSet<u64>,
    /// By hash of a call's id: the file it named.
    calls: FxHashMap<u64, u64>,
    /// By hash of a word that values are made of: values that have it, and uses in calls and by the
    /// user.
    words: FxHashMap<u64, (u32, u32)>,
    newest: usize,
}

/// The values of one message, found without knowing what came before it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extract(Vec<Passage>);

/// One text of a message.
#[derive(Clone, Debug)]
struct Passage {
    speaker: Speaker,
    about: About,
    values: Vec<Mention>,
}

/// What a text is about.
#[derive(Clone, Copy, Debug)]
enum About {
    Nothing,
    /// A call, by the hash of its id, and the file that it names.
    Call(u64, Option<u64>),
    /// The result of a call.
    Answer(u64),
}

#[derive(Clone, Debug)]
struct Mention {
    value: Box<str>,
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
                    let speaker = match message.role {
                        Role::User => Speaker::User,
                        Role::Assistant => Speaker::Assistant,
                        Role::System | Role::Tool => Speaker::Tool,
                    };
                    found.add(text, speaker, About::Nothing);
                }
                Body::Call(call) => {
                    let arguments = unescaped(&call.arguments);
                    let file = file_in(&arguments).map(|file| hash(value::base_name(file)));
                    found.add(&arguments, Speaker::OwnCall, About::Call(hash(&call.id), file));
                }
                Body::Result(result) => {
                    for inner in &result.parts {
                        if let Body::Text(text) = &inner.body {
                            found.add(text, Speaker::Tool, About::Answer(hash(&result.call_id)));
                        }
                    }
                }
                Body::Thinking(_) | Body::Image(_) | Body::Opaque(_) => {}
            }
        }
        found
    }

    fn add(&mut self, text: &str, speaker: Speaker, about: About) {
        let mut found: FxHashMap<&str, (Kind, bool, u32)> = FxHashMap::default();
        for line in text.lines() {
            let defines = is_definition(line);
            for (value, kind) in value::values(line) {
                let (_, defined, mentions) = found.entry(value).or_insert((kind, false, 0));
                *defined |= defines;
                *mentions += 1;
            }
        }
        let mention = |(value, (kind, defined, mentions)): (&str, _)| Mention {
            value: value.into(),
            kind,
            defined,
            mentions,
        };
        self.0.push(Passage { speaker, about, values: found.into_iter().map(mention).collect() });
    }
}

impl Index {
    /// Takes in one message.
    #[cfg(test)]
    pub(crate) fn append(&mut self, index: usize, message: &Message) {
        self.take(index, Extract::of(message));
    }

    /// Takes in the values of one message.
    pub(crate) fn take(&mut self, index: usize, found: Extract) {
        self.newest = index;
        for Passage { speaker, about, values } in found.0 {
            let source = match about {
                About::Nothing | About::Call(..) => 0,
                About::Answer(call) => self.calls.get(&call).copied().unwrap_or(0),
            };
            let crowd = u32::try_from(values.len()).unwrap_or(u32::MAX);
            for mention in values {
                self.note(index, mention, crowd, (speaker, source));
            }
            if let About::Call(call, Some(file)) = about {
                self.calls.insert(call, file);
            }
        }
    }

    fn note(
        &mut self,
        index: usize,
        mention: Mention,
        crowd: u32,
        (speaker, source): (Speaker, u64),
    ) {
        let Mention { value, kind, defined, mentions } = mention;
        let update = |seen: &mut Seen| {
            seen.occurrences = seen.occurrences.saturating_add(1);
            seen.mentions = seen.mentions.saturating_add(mentions);
            seen.crowd = seen.crowd.min(crowd);
            seen.last = index;
            seen.defined |= defined;
            if source != 0 {
                seen.source = source;
            }
            match speaker {
                Speaker::User => seen.by_user = true,
                Speaker::Assistant => seen.by_assistant = true,
                Speaker::OwnCall => seen.own_calls = seen.own_calls.saturating_add(1),
                Speaker::Tool => {}
            }
        };
        match self.values.get_mut(&*value) {
            Some(seen) => {
                update(seen);
                self.note_use(index, &value, speaker, false);
            }
            None => {
                self.note_use(index, &value, speaker, true);
                let mut seen = Seen::new(kind, crowd);
                update(&mut seen);
                self.values.insert(value, seen);
            }
        }
    }

    fn note_use(&mut self, index: usize, value: &str, speaker: Speaker, is_new: bool) {
        if speaker == Speaker::OwnCall {
            let (last, uses) = self.base_names.entry(hash(value::base_name(value))).or_default();
            *last = index;
            *uses += 1;
            if let Some(folder) = value::folder(value) {
                self.folders.insert(hash(folder), index);
            }
        }
        if matches!(speaker, Speaker::User | Speaker::Assistant) {
            self.named.insert(hash(value::base_name(value)));
        }
        let is_use = matches!(speaker, Speaker::OwnCall | Speaker::User);
        if is_new || is_use {
            for word in value::parts(value) {
                let (values, uses) = self.words.entry(word).or_default();
                *values = values.saturating_add(u32::from(is_new));
                *uses = uses.saturating_add(u32::from(is_use));
            }
        }
    }

    /// How much the words that a value is made of were used, and how common they are, on average.
    pub(super) fn kin(&self, value: &str) -> (f64, f64) {
        let (mut used, mut common, mut count) = (0.0, 0.0, 0.0);
        for word in value::parts(value) {
            let (values, uses) = self.words.get(&word).copied().unwrap_or_default();
            used += doublings(uses as usize);
            common += doublings(values as usize);
            count += 1.0;
        }
        if count > 0.0 { (used / count, common / count) } else { (0.0, 0.0) }
    }

    /// The newest message whose calls named the file that a value stood in, and how many did.
    pub(super) fn source_used(&self, seen: &Seen) -> Option<(usize, usize)> {
        self.base_names.get(&seen.source).copied()
    }

    /// What is known of a value.
    #[must_use]
    pub fn get(&self, value: &str) -> Option<&Seen> {
        self.values.get(value)
    }

    /// Whether somebody wrote of the file that a value stood in.
    pub(super) fn source_named(&self, seen: &Seen) -> bool {
        self.named.contains(&seen.source)
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
        self.base_names.get(&hash(value::base_name(value))).map(|(last, _)| *last)
    }

    /// The newest message whose calls used this folder.
    pub(super) fn folder_used(&self, value: &str) -> Option<usize> {
        value::folder(value).and_then(|folder| self.folders.get(&hash(folder)).copied())
    }
}

impl Seen {
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

/// JSON text in which escaped white space no longer sticks to the word after it.
fn unescaped(json: &str) -> Cow<'_, str> {
    if json.contains('\\') {
        json.replace("\\n", "\n").replace("\\t", "\t").replace("\\/", "/").into()
    } else {
        json.into()
    }
}

/// What a reader of a message sees: its words, its results and the arguments of its calls, not its
/// thinking.
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
        Body::Text(words) => text.push_str(words),
        Body::Call(call) => text.push_str(&call.arguments),
        Body::Result(result) => result.parts.iter().for_each(|inner| add(text, inner)),
        Body::Thinking(_) | Body::Image(_) | Body::Opaque(_) => return,
    }
    text.push('\n');
}

/// The file that a call is about: the first path or file name in its arguments.
fn file_in(arguments: &str) -> Option<&str> {
    let is_file = |kind: Kind| matches!(kind, Kind::AbsolutePath | Kind::RelativePath | Kind::File);
    value::values(arguments).find(|(_, kind)| is_file(*kind)).map(|(value, _)| value)
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
    let first =
        line.trim_start().split(|c: char| !c.is_ascii_lowercase()).next().unwrap_or_default();
    WORDS.contains(&first)
}
