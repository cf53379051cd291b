//! `replay --judge` against a scripted server.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod program;

use program::Ended;
use serde_json::{Value, json};
use waterline_testkit::server::{Received, Reply, Server};

const KEY: &str = "key-1234567890";

/// The header of the answer, as docs/replay.md describes the prompt.
const HEADER: &str = "<|im_start|>assistant\n";

/// A server, and two sessions of thirty exchanges.
struct World {
    server: Server,
    _runtime: tokio::runtime::Runtime,
    directory: tempfile::TempDir,
}

impl World {
    fn new(script: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let server = runtime.block_on(Server::start(script)).unwrap();
        let directory = tempfile::tempdir().unwrap();
        for name in ["calm", "wild"] {
            let file = directory.path().join(format!("{name}.jsonl"));
            std::fs::write(file, session(name)).unwrap();
        }
        Self { server, _runtime: runtime, directory }
    }

    fn replay(&self, arguments: &[&str]) -> Ended {
        let directory = self.directory.path().to_str().unwrap();
        let mut command = program::waterline();
        command.args(["replay", directory, "--tokens", "chars/4", "--window", "1k"]);
        command.args(["--judge", &self.server.url]);
        if !arguments.contains(&"--model") {
            command.args(["--judge-model", "tiny"]);
        }
        command.args(["--judge-sample", "6"]).args(arguments);
        let output = command.env("WATERLINE_API_KEY", KEY).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ended {
            code: output.status.code().unwrap(),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    fn prompts(&self) -> Vec<String> {
        let received = self.server.received();
        let calls = received.iter().filter(|request| request.path == "/v1/completions");
        calls.map(prompt).collect()
    }
}

/// Every answer has eight characters, so two tokens of the scripted server.
fn session(name: &str) -> String {
    let mut messages = vec![json!({"role": "system", "content": format!("You are {name}.")})];
    for at in 10..40 {
        let filler = "and so on ".repeat(40);
        messages.push(json!({"role": "user", "content": format!("step {at} {filler}")}));
        messages.push(json!({"role": "assistant", "content": format!("done: {at}")}));
    }
    json!({"id": name, "messages": messages}).to_string()
}

fn prompt(request: &Received) -> String {
    let body: Value = serde_json::from_str(&request.body).unwrap();
    body["prompt"].as_str().unwrap().to_owned()
}

/// A server with tokens of four characters. A token of an answer costs 0.5 nats in one session and
/// 1.0 in the other, tokens of the context cost 7.
fn scores(request: &Received) -> Reply {
    let prompt = prompt(request);
    let start = prompt.rfind(HEADER).unwrap() + HEADER.len();
    let (context, answer) = prompt.split_at(start);
    let cost = if context.contains("You are wild.") { 1.0 } else { 0.5 };
    let mut tokens = Vec::new();
    let mut logprobs = Vec::new();
    for (text, logprob) in [(context, -7.0), (answer, -cost), ("next", -9.0)] {
        let characters: Vec<char> = text.chars().collect();
        for token in characters.chunks(4) {
            tokens.push(token.iter().collect::<String>());
            logprobs.push(Some(logprob));
        }
    }
    logprobs[0] = None;
    let choice = json!({"text": "", "logprobs": {"tokens": tokens, "token_logprobs": logprobs}});
    let body = json!({"choices": [choice], "usage": {"completion_tokens": 1}});
    Reply::status(200, body.to_string())
}

/// A server that asks for a key gets it with the question for its models, too.
#[test]
fn models_of_the_judge_are_asked_for_with_the_key() {
    let world = World::new(|request| {
        let has_key = request.header("authorization") == Some(&format!("Bearer {KEY}"));
        match request.path.as_str() {
            _ if !has_key => Reply::status(401, r#"{"error":{"message":"no key"}}"#),
            "/v1/models" => Reply::status(200, r#"{"data":[{"id":"small"}]}"#),
            _ => scores(request),
        }
    });
    let ended = world.replay(&["--policy", "auto", "--model", "gpt-4o", "--json"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let found: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(found["judge"], "small");
}

/// Three answers of each session: 6 tokens with 3 and with 6 nats. The mean is 9 / 12, the
/// residuals are -1.5 and 1.5, so the margin is 12.706 × sqrt(2 × 4.5) / 12.
#[test]
fn judge_adds_the_surprise_and_its_interval() {
    let world = World::new(scores);
    let ended = world.replay(&["--policy", "auto,tail", "--json"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let found: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(found["judge"], "tiny");
    let rows = found["rows"].as_array().unwrap();
    for row in rows.iter().filter(|row| row["dataset"] == "all") {
        assert_eq!((row["judged"].as_u64(), row["surprise"].as_f64()), (Some(6), Some(0.75)));
        assert_eq!(row["surprise_low"].as_f64(), Some(-2.4265), "{row}");
        assert_eq!(row["surprise_high"].as_f64(), Some(3.9265), "{row}");
    }
    let one: Vec<&Value> = rows.iter().filter(|row| row["dataset"] != "all").collect();
    assert_eq!(one.len(), 4);
    for row in one {
        let expected = if row["dataset"].as_str().unwrap().contains("wild") { 1.0 } else { 0.5 };
        assert_eq!((row["judged"].as_u64(), row["surprise"].as_f64()), (Some(3), Some(expected)));
        assert!(row["surprise_low"].is_null(), "one session has no interval: {row}");
    }
}

/// The same answers are judged for each policy, and only those of calls that outgrew the window.
#[test]
fn judged_answers_are_spread_and_the_same_for_each_policy() {
    let world = World::new(scores);
    let page = world.directory.path().join("page.html");
    let ended = world.replay(&["--policy", "auto,tail", "--html", page.to_str().unwrap()]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.out.contains("surprise") && ended.out.contains("0.750 ±3.176"), "{}", ended.out);
    assert!(ended.out.contains("judged by tiny: up to 6 answers"), "{}", ended.out);
    assert!(std::fs::read_to_string(page).unwrap().contains("<td>0.750 ± 3.176</td>"));
    let prompts = world.prompts();
    // The first prompt is a test of the server.
    let mut answers: Vec<(bool, &str)> = prompts[1..]
        .iter()
        .map(|prompt| (prompt.contains("You are wild."), prompt.rsplit(HEADER).next().unwrap()))
        .collect();
    answers.sort_unstable();
    let expected: Vec<(bool, &str)> = [false, true]
        .into_iter()
        .flat_map(|wild| ["done: 22", "done: 29", "done: 36"].map(|answer| (wild, answer)))
        .flat_map(|answer| [answer, answer])
        .collect();
    assert_eq!(answers, expected);
    let request = &world.server.received()[0];
    assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    let body: Value = serde_json::from_str(&request.body).unwrap();
    assert_eq!((body["echo"].as_bool(), body["model"].as_str()), (Some(true), Some("tiny")));
    assert_eq!(body["prompt_logprobs"].as_u64(), Some(0));
}

#[test]
fn server_without_log_probabilities_is_reported_before_the_replay() {
    // llama.cpp's server: the generated token only.
    let only_generated = || {
        let content = json!([{"token": "!", "logprob": -0.1}]);
        let choice = json!({"text": "!", "logprobs": {"content": content}});
        json!({"choices": [choice], "usage": {"completion_tokens": 1}, "id": KEY}).to_string()
    };
    let refusal = r#"{"error":{"message":"Only no echo is supported"}}"#;
    let replies = [
        Reply::status(200, only_generated()),
        Reply::status(400, refusal),
        Reply::status(200, "hi"),
    ];
    for (reply, quoted) in replies.into_iter().zip(["choices", "Only no echo", "hi"]) {
        let world = World::new(move |_| reply.clone());
        let ended = world.replay(&[]);
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{}", ended.err);
        for part in ["/v1/completions returned no log-probabilities", quoted, "vLLM"] {
            assert!(ended.err.contains(part), "{part}: {}", ended.err);
        }
        assert!(!ended.err.contains(KEY), "{}", ended.err);
        assert_eq!(world.server.received().len(), 1);
    }
}

#[test]
fn context_that_the_judge_cannot_read_is_reported() {
    let world = World::new(|request| {
        if request.body.len() < 500 {
            return scores(request);
        }
        let text = "This model's maximum context length is 512 tokens. However, you requested 900.";
        Reply::status(400, json!({"error": {"message": text, "code": 400}}).to_string())
    });
    let ended = world.replay(&["--policy", "tail"]);
    assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{}", ended.err);
    assert!(ended.err.contains("does not fit into the judge's window"), "{}", ended.err);
}

/// A context that is too long costs its answer, under every policy, and nothing else.
#[test]
fn answers_with_a_context_that_is_too_long_are_left_out() {
    let world = World::new(|request| {
        let prompt = prompt(request);
        let is_late = (30..40).any(|at| prompt.ends_with(&format!("done: {at}")));
        if !(is_late && prompt.contains("You are wild.")) {
            return scores(request);
        }
        let text = "This model's maximum context length is 800 tokens. However, you requested 900.";
        Reply::status(400, json!({"error": {"message": text, "code": 400}}).to_string())
    });
    let ended = world.replay(&["--policy", "tail,halve-first", "--json"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let report: Value = serde_json::from_str(&ended.out).unwrap();
    let left_out = report["too_long"].as_u64().unwrap();
    assert!((1..6).contains(&left_out), "{report}");
    let total = |row: &&Value| row["dataset"] == "all";
    for row in report["rows"].as_array().unwrap().iter().filter(total) {
        assert_eq!(row["judged"].as_u64(), Some(6 - left_out), "{row}");
    }
}
