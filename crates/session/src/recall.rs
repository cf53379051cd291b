//! Search over all messages of a session, including those that are no longer in the context and
//! results that were too long to be sent whole.
//!
//! The index is built from the log before it is first used, and grows with the session.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use waterline::ledger::text_of;
use waterline::message::{Body, Message, Role};
use waterline_log::{Entry, Id, Log, LogError, NoteHash, Tip};
use waterline_memory::{
    Hit, Index, Memory, Message as Indexed, Ranking, Reason, Remembered, cosine, excerpt,
};
use waterline_provider::wire::parse_stored;

use crate::encoders::Encoders;
use crate::vector_job::Clean;

/// Maximum number of bytes of an artifact that are searched.
const ARTIFACT_BYTES: usize = 1_000_000;

/// The least similarity that is a reason to return a message without a word of the question. It
/// holds for sentence encoders; word vectors of any two texts are similar.
const SIMILAR: f64 = 0.35;

/// The index of one session. It is shared by everything that searches the session.
#[derive(Debug)]
pub struct Recall {
    pub(crate) clean: Clean,
    encoders: Option<Arc<Encoders>>,
    recalled: Mutex<Recalled>,
}

#[derive(Debug, Default)]
struct Recalled {
    index: Index,
    /// Where each text of the index is from.
    sources: Vec<Source>,
    /// The messages up to here are in the index.
    tip: Option<Tip>,
}

#[derive(Clone, Debug)]
struct Source {
    position: u64,
    id: Id,
    artifact: Option<String>,
}

/// A message that a search found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Passage {
    /// The number of the message in the session, from 1.
    pub position: u64,
    /// Who wrote the message.
    pub role: Role,
    /// Its time, in milliseconds since 1970.
    pub time: i64,
    /// The part of its text with the most words of the question.
    pub text: String,
    /// The id of the artifact that has the text, if the message shows only a part of it.
    pub artifact: Option<String>,
    /// Why it was found, the most important reason first.
    pub reasons: Vec<Reason>,
}

impl Recall {
    /// Creates an empty index. `clean` returns a text of the user without the notes that the host
    /// program added to it: the user did not write them.
    #[must_use]
    pub fn new(clean: fn(&str) -> &str) -> Self {
        Self { clean, encoders: None, recalled: Mutex::default() }
    }

    /// Sets the encoders whose stored vectors re-rank what keywords find.
    #[must_use]
    pub fn with_encoders(self, encoders: Option<Arc<Encoders>>) -> Self {
        Self { encoders, ..self }
    }

    /// Returns the messages of a session that answer a question best, best first. Only messages
    /// before the position `before` are returned, and only those that match for some reason.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn search(
        &self,
        log: &Log,
        session: &str,
        request: &RecallRequest<'_>,
    ) -> Result<Vec<Passage>, LogError> {
        let tip = log.session(session)?.tip;
        let mut recalled = self.lock();
        recalled.update(log, session, tip, self.clean)?;
        // A message and its artifact are two texts, so more than needed are found.
        let hits = recalled.hits(log, self.encoders.as_ref(), request)?;
        recalled.passages(log, session, self.clean, request, hits)
    }

    /// Builds the index of a session, so that the first search need not.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn prepare(&self, log: &Log, session: &str) -> Result<(), LogError> {
        let tip = log.session(session)?.tip;
        self.lock().update(log, session, tip, self.clean)
    }

    /// Returns the lines of a memory that answer a question best. Stored vectors re-rank them if
    /// the question can be encoded in time.
    ///
    /// # Errors
    /// If a file of the memory cannot be read.
    pub fn find_in_memory(
        &self,
        log: &Log,
        memory: &Memory,
        question: &str,
        limit: usize,
    ) -> std::io::Result<Vec<Remembered>> {
        memory.find_by(question, limit, |ranking, lines| {
            let Some(encoders) = &self.encoders else { return HashSet::new() };
            let root = memory.root().display().to_string();
            let hash = |at: usize| lines.get(at).map(Remembered::hash);
            let hashes: Vec<NoteHash> = ranking.candidates().into_iter().filter_map(hash).collect();
            let stored = log.note_vectors(&root, &hashes).unwrap_or_default();
            rerank(encoders, question, ranking, stored, hash)
        })
    }

    fn lock(&self) -> MutexGuard<'_, Recalled> {
        // An index that a panic left half-built still has only texts of this session.
        self.recalled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What to search for.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RecallRequest<'a> {
    /// The words to search for, or a question.
    pub question: &'a str,
    /// Maximum number of messages that are returned.
    pub count: usize,
    /// Maximum number of characters of each text.
    pub chars: usize,
    /// Only messages before this position are returned.
    pub before: u64,
}

impl<'a> RecallRequest<'a> {
    /// Creates a request for at most `count` messages, with texts of at most `chars` characters,
    /// in the whole session.
    #[must_use]
    pub const fn new(question: &'a str, count: usize, chars: usize) -> Self {
        Self { question, count, chars, before: u64::MAX }
    }

    /// Returns only messages before this position.
    #[must_use]
    pub const fn before(mut self, position: u64) -> Self {
        self.before = position;
        self
    }
}

impl Recalled {
    /// Adds the messages since the last update. After a rewind the index is built anew.
    fn update(&mut self, log: &Log, session: &str, tip: Tip, clean: Clean) -> Result<(), LogError> {
        if self.tip.is_some_and(|known| !tip.extends(known)) {
            *self = Self::default();
        }
        let from = self.tip.map_or(0, |known| known.position());
        log.each(tip, from..tip.position(), |entry| self.add(log, session, &entry, clean))?;
        self.tip = Some(tip);
        Ok(())
    }

    fn add(
        &mut self,
        log: &Log,
        session: &str,
        entry: &Entry,
        clean: Clean,
    ) -> Result<(), LogError> {
        let message = entry.message(parse_stored);
        if message.role == Role::System {
            return Ok(());
        }
        let position = entry.position;
        let id = entry.id;
        self.add_text(entry, clean(&text_of(&message)), Source { position, id, artifact: None });
        for artifact in artifacts(&message) {
            if let Some(text) = artifact_text(log, session, &artifact)? {
                let source = Source { position, id, artifact: Some(artifact) };
                self.add_text(entry, &text, source);
            }
        }
        Ok(())
    }

    fn add_text(&mut self, entry: &Entry, text: &str, source: Source) {
        let date = Timestamp::from_millisecond(entry.time)
            .ok()
            .map(|time| time.to_zoned(TimeZone::UTC).date());
        let speaker = entry.role.name();
        self.index.add(&Indexed::new("", speaker, text).with_date(date));
        self.sources.push(source);
    }

    /// Returns the best texts that have a sufficient reason to be returned.
    fn hits(
        &self,
        log: &Log,
        encoders: Option<&Arc<Encoders>>,
        request: &RecallRequest<'_>,
    ) -> Result<Vec<Hit>, LogError> {
        let is_before =
            |at: usize| self.sources.get(at).is_some_and(|source| source.position < request.before);
        let mut ranking = self.index.rank(request.question, is_before);
        let similar = match encoders {
            Some(encoders) => self.rerank(log, encoders, request.question, &mut ranking)?,
            None => HashSet::new(),
        };
        let speaks = |hit: &Hit| {
            let is_similar = similar.contains(&hit.message);
            is_similar || hit.reasons.iter().any(|why| self.speaks(why, request.before))
        };
        Ok(ranking.best(request.count * 2).into_iter().filter(speaks).collect())
    }

    /// Re-ranks the best texts by the stored vectors of their messages, if the question can be
    /// encoded in time. Returns the texts that mean something similar.
    fn rerank(
        &self,
        log: &Log,
        encoders: &Arc<Encoders>,
        question: &str,
        ranking: &mut Ranking<'_>,
    ) -> Result<HashSet<usize>, LogError> {
        let id = |at: usize| {
            self.sources.get(at).filter(|source| source.artifact.is_none()).map(|source| source.id)
        };
        let ids: Vec<Id> = ranking.candidates().into_iter().filter_map(id).collect();
        Ok(rerank(encoders, question, ranking, log.vectors(&ids)?, id))
    }

    /// Returns the messages of the best texts, each once.
    fn passages(
        &self,
        log: &Log,
        session: &str,
        clean: Clean,
        request: &RecallRequest<'_>,
        hits: Vec<Hit>,
    ) -> Result<Vec<Passage>, LogError> {
        let tip = self.tip.unwrap_or(Tip::EMPTY);
        let mut passages: Vec<Passage> = Vec::new();
        for hit in hits {
            let Some(source) = self.sources.get(hit.message) else { continue };
            if passages.iter().any(|known| known.position == source.position) {
                continue;
            }
            let range = source.position - 1..source.position;
            let Some(entry) = log.entries_in(tip, range)?.pop() else { continue };
            let text = match &source.artifact {
                Some(artifact) => artifact_text(log, session, artifact)?.unwrap_or_default(),
                None => clean(&text_of(&entry.message(parse_stored))).to_owned(),
            };
            passages.push(Passage {
                position: source.position,
                role: entry.role,
                time: entry.time,
                text: excerpt(&text, hit.words(), request.chars),
                artifact: source.artifact.clone(),
                reasons: hit.reasons,
            });
            if passages.len() == request.count {
                break;
            }
        }
        Ok(passages)
    }
}

impl Recalled {
    /// Whether a reason alone is enough to return a message. A matching session is not, and a
    /// matching neighbor only if it is itself before position `before`.
    fn speaks(&self, reason: &Reason, before: u64) -> bool {
        match reason {
            Reason::Words(_) | Reason::Speaker | Reason::Date => true,
            Reason::Neighbor(at) => {
                self.sources.get(*at).is_some_and(|source| source.position < before)
            }
            _ => false,
        }
    }
}

/// Re-ranks texts by their stored vectors, if the question can be encoded in time. `key` returns
/// the key of a text's vector. Returns the texts that mean something similar.
fn rerank<K: Eq + Hash>(
    encoders: &Arc<Encoders>,
    question: &str,
    ranking: &mut Ranking<'_>,
    mut stored: BTreeMap<String, HashMap<K, Vec<f32>>>,
    key: impl Fn(usize) -> Option<K>,
) -> HashSet<usize> {
    let counts = stored.iter().map(|(model, vectors)| (model.clone(), vectors.len()));
    let Some(encoded) = encoders.encode_question(question, counts.collect()) else {
        return HashSet::new();
    };
    let vectors = stored.remove(encoded.encoder.name()).unwrap_or_default();
    let vector =
        |at: usize| key(at).and_then(|key| vectors.get(&key)).filter(|vector| !vector.is_empty());
    let weights = encoded.encoder.weights();
    let candidates = ranking.candidates();
    ranking.rerank(&encoded.vector, &weights, vector);
    let is_similar = |&at: &usize| {
        weights.dense >= 1.0
            && vector(at).is_some_and(|vector| cosine(&encoded.vector, vector) >= SIMILAR)
    };
    candidates.into_iter().filter(is_similar).collect()
}

/// Returns the ids of the artifacts that have the whole of a message's truncated texts.
fn artifacts(message: &Message) -> Vec<String> {
    let results = message.parts.iter().flat_map(|part| match &part.body {
        Body::Result(result) => result.parts.as_slice(),
        _ => &[],
    });
    let parts = message.parts.iter().chain(results);
    parts.filter_map(|part| part.truncated.as_ref()?.artifact.clone()).collect()
}

/// Returns the text of an artifact of a session. Ids in messages are prefixes of the hash.
fn artifact_text(log: &Log, session: &str, id: &str) -> Result<Option<String>, LogError> {
    let known = log.artifacts(session)?;
    let Some(artifact) = known.into_iter().find(|artifact| artifact.hash.starts_with(id)) else {
        return Ok(None);
    };
    let mut bytes = log.artifact(&artifact.hash)?;
    bytes.truncate(ARTIFACT_BYTES);
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

#[cfg(test)]
mod tests {
    use waterline::tokens::{Counter, Method};
    use waterline_log::{Incoming, RewindTarget, Session};

    use super::*;

    struct Bed {
        _directory: tempfile::TempDir,
        log: Log,
        recall: Recall,
    }

    impl Bed {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let log = Log::open(&directory.path().join("log.db").display().to_string()).unwrap();
            log.create(Session::new("s")).unwrap();
            Self { _directory: directory, log, recall: Recall::new(|text| text) }
        }

        fn say(&self, message: &Message) {
            let counter = Counter::new(Method::Chars4, 1_000);
            let tip = self.log.session("s").unwrap().tip;
            self.log.append("s", tip, vec![Incoming::of(message, &counter)]).unwrap();
        }

        fn search(&self, question: &str) -> Vec<Passage> {
            let request = RecallRequest { question, count: 3, chars: 60, before: u64::MAX };
            self.recall.search(&self.log, "s", &request).unwrap()
        }
    }

    #[test]
    fn messages_are_found_from_the_first_one_and_as_they_come() {
        let bed = Bed::new();
        bed.say(&Message::user("The staging database is on port 5433."));
        assert_eq!(bed.search("which port has the database?")[0].position, 1);
        bed.say(&Message::assistant("Noted."));
        bed.say(&Message::user("The harbor office opens at nine."));
        let found = bed.search("When does the harbor office open?");
        assert_eq!((found[0].position, found[0].role), (3, Role::User));
        assert!(matches!(
            &found[0].reasons[0],
            Reason::Words(words) if words.contains(&"harbor".to_owned())
        ));
    }

    #[test]
    fn chinese_questions_find_chinese_messages() {
        let bed = Bed::new();
        bed.say(&Message::user("记住：大门密码是4711"));
        bed.say(&Message::assistant("好的"));
        assert_eq!(bed.search("大门密码是多少？")[0].position, 1);
    }

    #[test]
    fn artifact_of_a_truncated_result_is_searched() {
        let bed = Bed::new();
        let text = format!("{}module_33 failed\n{}", "ok\n".repeat(900), "ok\n".repeat(900));
        let artifact =
            bed.log.put_artifact("s", "text/plain", "ok", text.clone().into_bytes()).unwrap();
        let id: String = artifact.hash.chars().take(16).collect();
        let truncation = waterline::truncate::Truncation::new(40, 20).artifact(id.clone());
        let short = waterline::truncate::truncate(&text, &truncation).unwrap();
        let mut message = Message::user(&short.text);
        message.parts[0].truncated = Some(Box::new(short.truncated));
        bed.say(&message);
        let found = bed.search("module_33");
        assert_eq!((found[0].position, found[0].artifact.as_ref()), (1, Some(&id)));
        assert!(found[0].text.contains("module_33 failed"), "{}", found[0].text);
    }

    #[test]
    fn rewound_messages_are_not_found() {
        let bed = Bed::new();
        bed.say(&Message::user("one apple"));
        bed.say(&Message::user("two pears"));
        assert_eq!(bed.search("pears")[0].position, 2);
        bed.log.rewind("s", RewindTarget::Messages(1)).unwrap();
        bed.say(&Message::user("three plums"));
        assert!(bed.search("pears").is_empty());
        let found = bed.search("plums");
        assert_eq!((found[0].position, found[0].text.as_str()), (2, "three plums"));
    }
}
