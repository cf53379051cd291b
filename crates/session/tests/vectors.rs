//! Search by meaning: vectors are made in the background and re-rank what keywords find. Runs on
//! SQLite, and on PostgreSQL if WATERLINE_TEST_POSTGRES names a server.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use waterline::message::{Body, Message, Part, Role, ToolResult, Wire};
use waterline::tokens::{Counter, Method};
use waterline_log::{Incoming, Log, Session};
use waterline_memory::{EncodeError, Encoder, Memory, Reason, Section, TextKind, Weights, has_cjk};
use waterline_provider::http::{Endpoint, Key, Timeouts};
use waterline_session::{Encoders, EndpointEncoder, LoadEncoder, Passage, Recall, RecallRequest};
use waterline_testkit::server::{Reply, Server};

/// Words with the same meaning, one number of a vector each.
const TOPICS: [[&str; 3]; 3] =
    [["boat", "vessel", "船"], ["cat", "kitten", "猫"], ["bread", "loaf", "面包"]];

/// An encoder that knows a few words.
struct Topics {
    name: &'static str,
    reads_chinese: bool,
    /// The texts that were encoded.
    read: Mutex<Vec<String>>,
    /// Whether questions wait until the test ends.
    late: Option<Mutex<std::sync::mpsc::Receiver<()>>>,
}

impl Topics {
    fn new(name: &'static str) -> Arc<Self> {
        Arc::new(Self { name, reads_chinese: false, read: Mutex::default(), late: None })
    }

    fn read(&self) -> Vec<String> {
        self.read.lock().unwrap().clone()
    }
}

impl Encoder for Topics {
    fn name(&self) -> &str {
        self.name
    }

    fn weights(&self) -> Weights {
        Weights::SENTENCE_VECTORS
    }

    fn understands(&self, text: &str) -> bool {
        self.reads_chinese || !has_cjk(text)
    }

    fn encode(&self, texts: &[&str], kind: TextKind) -> Result<Vec<Vec<f32>>, EncodeError> {
        if let Some(late) = self.late.as_ref().filter(|_| kind == TextKind::Question) {
            late.lock().unwrap().recv().ok();
        }
        self.read.lock().unwrap().extend(texts.iter().map(|text| (*text).to_owned()));
        let number =
            |text: &str, words: &[&str; 3]| f32::from(words.iter().any(|word| text.contains(word)));
        let vector = |text: &&str| TOPICS.iter().map(|words| number(text, words)).collect();
        Ok(texts.iter().map(vector).collect())
    }
}

struct Bed {
    _directory: tempfile::TempDir,
    log: Log,
}

impl Bed {
    fn say(&self, role: Role, text: &str) {
        self.append(&Message::new(role, vec![Part::text(text)]));
    }

    fn append(&self, message: &Message) {
        let tip = self.log.session("s").unwrap().tip;
        let counter = Counter::new(Method::Chars4, 1_000);
        let incoming = Incoming::of(message, &counter).at(Some(1_767_225_600_000));
        self.log.append("s", tip, vec![incoming]).unwrap();
    }

    /// Encodes all messages, as the background job of a session does.
    fn encode(&self, encoders: &Arc<Encoders>, names: &[&str]) {
        encoders.encode_missing(&self.log, |text| text, None);
        let since = Instant::now();
        while names.iter().any(|name| !self.log.unencoded(name, 1).unwrap().is_empty()) {
            assert!(since.elapsed() < Duration::from_secs(20), "the job ends");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn search(&self, encoders: &Arc<Encoders>, question: &str) -> Vec<Passage> {
        let recall = Recall::new(|text| text).with_encoders(Some(Arc::clone(encoders)));
        let request = RecallRequest::new(question, 3, 80);
        recall.search(&self.log, "s", &request).unwrap()
    }
}

/// Returns a log on each database.
fn beds() -> Vec<Bed> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let bed = |url: Option<String>| {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("log.db").display().to_string();
        let log = Log::open(&url.unwrap_or(file)).unwrap();
        log.create(Session::new("s")).unwrap();
        Bed { _directory: directory, log }
    };
    let server = std::env::var("WATERLINE_TEST_POSTGRES").ok().map(|server| {
        let separator = if server.contains('?') { '&' } else { '?' };
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        format!("{server}{separator}schema=vectors_{}_{number}", std::process::id())
    });
    std::iter::once(bed(None)).chain(server.map(|url| bed(Some(url)))).collect()
}

/// Returns encoders that have all the time they need.
fn encoders(all: &[&Arc<Topics>]) -> Arc<Encoders> {
    let load = |encoder: &&Arc<Topics>| {
        let encoder = Arc::clone(encoder);
        Box::new(move || Ok(Arc::clone(&encoder) as Arc<dyn Encoder>)) as LoadEncoder
    };
    let encoders = Encoders::new(all.iter().map(load).collect());
    Arc::new(encoders.with_timeout(Duration::from_secs(60)))
}

fn positions(found: &[Passage]) -> Vec<u64> {
    found.iter().map(|passage| passage.position).collect()
}

#[test]
fn message_without_a_word_of_the_question_is_found_by_its_meaning() {
    let mut results = Vec::new();
    for bed in beds() {
        bed.say(Role::User, "The boat is moored at the quay.");
        bed.say(Role::Assistant, "Good.");
        bed.say(Role::User, "My cat sleeps all day long.");
        let topics = Topics::new("topics");
        let encoders = encoders(&[&topics]);
        assert!(bed.search(&encoders, "kitten?").is_empty(), "there are no vectors yet");
        bed.encode(&encoders, &["topics"]);
        let found = bed.search(&encoders, "kitten?");
        assert_eq!(positions(&found), [3]);
        assert_eq!(found[0].reasons[0], Reason::Meaning);
        assert!(bed.search(&encoders, "tax declaration").is_empty(), "nothing means that");
        let all = ["kitten?", "a vessel at the quay", "cat or boat", "loaf"];
        results.push(all.map(|question| bed.search(&encoders, question)));
    }
    assert!(results.iter().all(|found| *found == results[0]), "the databases agree: {results:#?}");
}

#[test]
fn only_what_the_user_wrote_is_encoded_and_once() {
    for bed in beds() {
        bed.say(Role::User, "The boat is moored at the quay.");
        bed.say(Role::Assistant, "The boat is moored, as you say.");
        bed.say(Role::User, "ok, thanks");
        bed.say(Role::User, &format!("a long text {}", "x".repeat(1_000)));
        bed.say(Role::User, "我的猫整天都在睡觉，什么也不做。");
        let result = ToolResult {
            call_id: "c".to_owned(),
            name: None,
            parts: vec![Part::text("The result of a tool, with many words.")],
            is_error: false,
        };
        bed.append(&Message::new(Role::User, vec![Part::from(Body::Result(result))]));
        let topics = Topics::new("topics");
        let first = encoders(&[&topics]);
        bed.encode(&first, &["topics"]);
        let mut read = topics.read();
        read.sort_by_key(String::len);
        assert_eq!(read.len(), 2, "{read:#?}");
        assert_eq!(read[0].trim_end(), "The boat is moored at the quay.");
        assert_eq!(read[1].chars().count(), 600);
        // Another process finds nothing to do but the new message.
        bed.say(Role::User, "The bread is in the oven.");
        let next = Topics::new("topics");
        bed.encode(&encoders(&[&next]), &["topics"]);
        assert_eq!(next.read().len(), 1, "{:#?}", next.read());
    }
}

/// A server that does not answer, or a model that is still being loaded.
#[test]
fn a_late_encoder_leaves_the_results_of_keywords() {
    for bed in beds() {
        bed.say(Role::User, "The boat is moored at the quay.");
        bed.say(Role::User, "My cat sleeps all day long.");
        let (ends, late) = std::sync::mpsc::channel();
        let late = Some(Mutex::new(late));
        let slow = Topics { name: "slow", reads_chinese: false, read: Mutex::default(), late };
        let slow: Arc<dyn Encoder> = Arc::new(slow);
        let load: LoadEncoder = Box::new(move || Ok(Arc::clone(&slow)));
        let encoders = Encoders::new(vec![load]).with_timeout(Duration::from_millis(1));
        let encoders = Arc::new(encoders);
        bed.encode(&encoders, &["slow"]);
        assert_eq!(positions(&bed.search(&encoders, "Where is the quay?")), [1]);
        assert!(bed.search(&encoders, "kitten?").is_empty());
        drop(ends);
    }
}

#[test]
fn old_vectors_serve_until_the_new_ones_are_complete() {
    for bed in beds() {
        bed.say(Role::User, "The boat is moored at the quay.");
        bed.say(Role::User, "My cat sleeps all day long.");
        let (old, new) = (Topics::new("old"), Topics::new("new"));
        bed.encode(&encoders(&[&old]), &["old"]);
        let first = bed.log.unencoded("new", 1).unwrap()[0].id;
        bed.log.put_vectors("new", &[(first, vec![0.0, 0.0, 1.0])]).unwrap();
        let both = encoders(&[&new, &old]);
        assert_eq!(positions(&bed.search(&both, "vessel?")), [1]);
        assert_eq!((new.read().len(), old.read().last().unwrap().as_str()), (0, "vessel?"));
        bed.encode(&both, &["new"]);
        assert_eq!(positions(&bed.search(&both, "a vessel?")), [1]);
        assert_eq!(new.read().last().unwrap(), "a vessel?");
        // New messages are encoded by the new encoder only.
        bed.say(Role::User, "The bread is in the oven.");
        bed.encode(&both, &["new"]);
        assert!(old.read().iter().all(|text| !text.contains("bread")));
    }
}

#[test]
fn a_chinese_question_goes_to_the_encoder_that_understands_it() {
    for bed in beds() {
        bed.say(Role::User, "我的船停在码头旁边，非常安全。");
        bed.say(Role::User, "My cat sleeps all day long.");
        let english = Topics::new("english");
        let every = Arc::new(Topics {
            name: "every",
            reads_chinese: true,
            read: Mutex::default(),
            late: None,
        });
        let both = encoders(&[&english, &every]);
        bed.encode(&both, &["english", "every"]);
        assert_eq!(positions(&bed.search(&both, "小猫？猫")), [2]);
        assert_eq!(positions(&bed.search(&both, "kitten?")), [2]);
        assert_eq!(english.read().last().unwrap(), "kitten?");
    }
}

/// Runs a test on a thread that may block, next to a server.
async fn with_server<T: Send + 'static>(
    reply: impl Fn(&str) -> Reply + Send + Sync + 'static,
    test: impl FnOnce(EndpointEncoder) -> T + Send + 'static,
) -> (Server, T) {
    let server = Server::start(move |received| reply(&received.body)).await.unwrap();
    let second = Duration::from_secs(5);
    let timeouts = Timeouts { connect: second, first_token: second, silence: second };
    let key = Some(Key::new("sk-hidden-word"));
    let base = format!("{}/v1", server.url);
    let endpoint = Endpoint::new(Wire::OPENAI_CHAT, Some(&base), key, timeouts).unwrap();
    let encoder = EndpointEncoder::new(endpoint, "embed-1").unwrap();
    let outcome = tokio::task::spawn_blocking(move || test(encoder)).await.unwrap();
    (server, outcome)
}

#[tokio::test]
async fn a_server_encodes_texts() {
    let reply = |body: &str| {
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        let count = body["input"].as_array().unwrap().len();
        let data = (0..count).map(|at| json!({"index": at, "embedding": [3.0, 4.0 * at as f64]}));
        Reply::status(200, json!({"data": data.collect::<Vec<_>>()}).to_string())
    };
    let encode = |encoder: EndpointEncoder| {
        assert!(encoder.name().starts_with("embed-1 at http://"), "{}", encoder.name());
        encoder.encode(&["a boat", "一只猫"], TextKind::Message).unwrap()
    };
    let (server, vectors) = with_server(reply, encode).await;
    assert_eq!(vectors, [[1.0, 0.0], [0.6, 0.8]]);
    let received = server.received();
    assert_eq!((received.len(), received[0].path.as_str()), (1, "/v1/embeddings"));
    assert_eq!(received[0].header("authorization"), Some("Bearer sk-hidden-word"));
    let body: serde_json::Value = serde_json::from_str(&received[0].body).unwrap();
    assert_eq!(
        (body["model"].as_str(), &body["input"]),
        (Some("embed-1"), &json!(["a boat", "一只猫"]))
    );
}

#[tokio::test]
async fn errors_of_a_server_are_clear_and_have_no_key() {
    let replies = [
        (Reply::status(401, r#"{"error":{"message":"bad key sk-hidden-word"}}"#), "API key"),
        (Reply::status(200, "<html>sk-hidden-word</html>"), "embedding model"),
        (Reply::status(200, r#"{"data":[]}"#), "embedding model"),
    ];
    for (reply, expected) in replies {
        let encode = |encoder: EndpointEncoder| encoder.encode(&["a"], TextKind::Question);
        let (_server, outcome) = with_server(move |_| reply.clone(), encode).await;
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("embed-1"), "{error}");
        assert!(!error.contains("sk-hidden-word"), "{error}");
    }
}

#[test]
fn line_of_the_memory_is_found_by_its_meaning() {
    for bed in beds() {
        let directory = tempfile::tempdir().unwrap();
        let memory = Arc::new(Memory::new(directory.path()));
        memory.remember("The boat is moored at the quay.", None).unwrap();
        memory.keep(Section::Trimmed, "- the cat sleeps all day long", None).unwrap();
        let topics = Topics::new("topics");
        let encoders = encoders(&[&topics]);
        let recall = Recall::new(|text| text).with_encoders(Some(Arc::clone(&encoders)));
        let find = |question: &str| -> Vec<String> {
            let found = recall.find_in_memory(&bed.log, &memory, question, 3).unwrap();
            found.into_iter().map(|line| line.text).collect()
        };
        assert!(find("a kitten?").is_empty(), "there are no vectors yet");
        let encode = |count: usize| {
            encoders.encode_missing(&bed.log, |text| text, Some(Arc::clone(&memory)));
            let root = directory.path().display().to_string();
            let since = Instant::now();
            let hashes = || -> Vec<_> {
                memory.searched().unwrap().iter().map(|line| line.hash()).collect()
            };
            let missing = || bed.log.unencoded_notes("topics", &root, &hashes()).unwrap();
            while !missing().is_empty() || topics.read().len() < count {
                assert!(since.elapsed() < Duration::from_secs(20), "the job ends");
                std::thread::sleep(Duration::from_millis(5));
            }
        };
        encode(2);
        assert_eq!(find("a kitten?"), ["- the cat sleeps all day long"]);
        assert_eq!(find("some vessel?"), ["The boat is moored at the quay."]);
        assert!(find("tax declaration").is_empty());
        let old = memory.searched().unwrap()[0].hash();
        memory.notes().forget(1).unwrap();
        memory.remember("A loaf costs two euros.", None).unwrap();
        encode(3);
        assert_eq!(find("bread?"), ["A loaf costs two euros."]);
        let root = directory.path().display().to_string();
        assert!(bed.log.note_vectors(&root, &[old]).unwrap().is_empty(), "the line is gone");
    }
}
