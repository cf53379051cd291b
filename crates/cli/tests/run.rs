//! `waterline run` against a model server, as a user starts it.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod program;

use program::Ended;
use serde_json::Value;
use waterline::message::Wire;
use waterline_testkit::server::{Received, Reply, Server};
use waterline_testkit::spoken::Spoken;

/// A server with its runtime, and a home directory for the program.
struct World {
    server: Server,
    _runtime: tokio::runtime::Runtime,
    home: tempfile::TempDir,
}

impl World {
    fn new(script: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let server = runtime.block_on(Server::start(script)).unwrap();
        Self { server, _runtime: runtime, home: tempfile::tempdir().unwrap() }
    }

    fn run(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Ended {
        let mut command = program::waterline();
        command
            .current_dir(self.home.path())
            .env_clear()
            .env("HOME", self.home.path())
            .env("PATH", "/usr/bin:/bin");
        command.args(["run", "--db", "log.db"]).args(arguments).envs(variables.iter().copied());
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ended {
            code: output.status.code().unwrap(),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }
}

fn says(text: &'static str) -> impl Fn(&Received) -> Reply + Send + Sync {
    move |received| {
        let wire = match received.path.as_str() {
            "/v1/messages" => Wire::ANTHROPIC,
            "/v1/responses" => Wire::OPENAI_RESPONSES,
            path if path.contains("generateContent") || path.contains("GenerateContent") => {
                Wire::GEMINI
            }
            _ => Wire::OPENAI_CHAT,
        };
        Reply::Stream { events: Spoken::text(text, 20).events(wire), piece: 0 }
    }
}

#[test]
fn an_answer_is_printed_and_the_next_process_continues_the_session() {
    let world = World::new(says("hello there"));
    let base = ["--session", "s", "--model", "m", "--base-url", &world.server.url];
    let first = world.run(&[&["say hello"], &base[..]].concat(), &[]);
    assert_eq!((first.code, first.out.as_str()), (0, "hello there\n"), "{}", first.err);
    assert!(first.err.contains("session s, model m, in "), "{}", first.err);
    assert!(first.err.contains("workspaces/s\n"), "where it works: {}", first.err);
    let second = world.run(&[&["and again"], &base[..]].concat(), &[]);
    assert_eq!((second.out.as_str(), second.err.as_str()), ("hello there\n", ""));
    let body: Value = serde_json::from_str(&world.server.received()[1].body).unwrap();
    let sent: Vec<&str> =
        body["messages"].as_array().unwrap().iter().filter_map(|m| m["content"].as_str()).collect();
    assert!(sent[0].contains("Your private directory"), "{sent:?}");
    assert!(sent[1].starts_with("say hello\n\n<environment>\nWorking directory: "), "{sent:?}");
    assert_eq!(sent[2..], ["hello there", "and again"]);
}

#[test]
fn every_wire_can_be_chosen() {
    let world = World::new(says("hello"));
    for wire in waterline_testkit::WIRES {
        let ended = world.run(
            &["hi", "--model", "m", "--wire", wire.name(), "--base-url", &world.server.url],
            &[],
        );
        assert_eq!((ended.code, ended.out.as_str()), (0, "hello\n"), "{wire}: {}", ended.err);
    }
}

/// Piped input is attached to the prompt as data: a mention in it has no effect.
#[test]
fn piped_input_is_attached_to_the_prompt() {
    let world = World::new(says("noted"));
    let mut command = program::waterline();
    command
        .current_dir(world.home.path())
        .env_clear()
        .env("HOME", world.home.path())
        .env("PATH", "/usr/bin:/bin");
    command.args([
        "run",
        "--db",
        "log.db",
        "sum this up",
        "--model",
        "m",
        "--base-url",
        &world.server.url,
    ]);
    let output = command.write_stdin("one @fetch_url\ntwo\n").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let body = world.server.received()[0].body.clone();
    assert!(
        body.contains("sum this up") && body.contains(r">\none @fetch_url\ntwo\n</stdin-"),
        "{body}"
    );
    assert!(!body.contains("the tool fetch_url"), "{body}");
}

/// Keys come from the environment or a file. They are not printed, not stored, and sent only to
/// their own server.
#[test]
fn keys_are_sent_only_to_their_server_and_never_shown() {
    let world = World::new(|received| match received.header("authorization") {
        Some("Bearer sk-own-secret") => says("welcome")(received),
        _ => Reply::status(401, r#"{"error":{"message":"no such key"}}"#),
    });
    std::fs::write(world.home.path().join("key"), "sk-own-secret\n").unwrap();
    let base = [
        "hi",
        "--model",
        "m",
        "--base-url",
        &world.server.url,
        "--log-format",
        "json",
        "--log",
        "trace",
    ];
    let by_file = world.run(&[&base[..], &["--key-file", "key"]].concat(), &[]);
    assert_eq!((by_file.code, by_file.out.as_str()), (0, "welcome\n"), "{}", by_file.err);
    let by_variable = world.run(&base, &[("WATERLINE_API_KEY", "sk-own-secret")]);
    assert_eq!(by_variable.code, 0);
    let other = world.run(&base, &[("OPENAI_API_KEY", "sk-openai-secret")]);
    assert_eq!(other.code, 2);
    assert!(other.err.contains("no such key"), "{}", other.err);
    for received in world.server.received() {
        assert!(
            !format!("{received:?}").contains("sk-openai-secret"),
            "a provider's key was sent to another server"
        );
    }
    let stored = std::fs::read(world.home.path().join("log.db")).unwrap();
    let stored = String::from_utf8_lossy(&stored);
    for shown in [&by_file.err, &by_variable.err, &other.err, &stored.into_owned()] {
        assert!(!shown.contains("secret"), "a key was shown or stored");
    }
}

#[test]
fn the_offline_model_answers_without_a_key() {
    let world = World::new(says("never called"));
    let stored = world.run(&["The door code is 4711", "--session", "s", "--model", "offline"], &[]);
    assert!(stored.out.contains("no language model is connected"), "{}", stored.out);
    let asked = world.run(&["what is the door code?", "--session", "s", "--model", "offline"], &[]);
    assert!(asked.out.contains("message 1, user: The door code is 4711"), "{}", asked.out);
    assert!(world.server.received().is_empty());
}

#[test]
fn a_config_names_models_and_what_takes_over() {
    let world = World::new(|received: &Received| {
        let body: Value = serde_json::from_str(&received.body).unwrap();
        match body["model"].as_str() {
            Some("second") => says("from the second")(received),
            _ => Reply::status(401, "no"),
        }
    });
    let url = &world.server.url;
    let config = format!(
        "model = \"first\"\nfallback = [\"second\"]\npolicy = \"chat\"\n\
         [models.first]\nbase_url = \"{url}\"\n\
         [models.second]\nbase_url = \"{url}\"\nwindow = 9000\nset = {{ \"fold.high\" = 5000 }}\n"
    );
    std::fs::write(world.home.path().join("waterline.toml"), config).unwrap();
    let ended = world.run(&["hi", "--json", "--trust-project"], &[]);
    let last: Value = serde_json::from_str(ended.out.lines().last().unwrap()).unwrap();
    assert_eq!(
        (last["text"].as_str(), last["model"].as_str()),
        (Some("from the second"), Some("second")),
        "{}",
        ended.err
    );
    assert_eq!(last["window"], 9_000);
    assert!(ended.out.contains(r#"{"event":"model","model":"second""#), "{}", ended.out);
    std::fs::write(world.home.path().join("waterline.toml"), "modle = 1").unwrap();
    let wrong = world.run(&["hi"], &[]);
    assert!(
        wrong.code == 2 && wrong.err.contains("waterline.toml") && wrong.err.contains("modle"),
        "{}",
        wrong.err
    );
}

/// S3.40 to S3.47: the lines of Agent Service, at a real fold.
#[test]
fn s3_40_to_s3_47_a_fold_is_logged_in_the_lines_of_the_seed() {
    let world = World::new(says("noted"));
    let long = "and so on ".repeat(500);
    let base = [
        "--session",
        "s",
        "--model",
        "m",
        "--window",
        "20000",
        "--policy",
        "budget",
        "--base-url",
        &world.server.url,
    ];
    let mut logged = String::new();
    for round in 0..12 {
        let text = format!("{round} {long}");
        let ended =
            world.run(&[&[text.as_str(), "--log-format", "agent"], &base[..]].concat(), &[]);
        assert_eq!(ended.code, 0, "{}", ended.err);
        logged.push_str(&ended.err);
    }
    for line in [
        "[Agent] 上下文优化触发:",
        "目标使用率: 60.0%",
        "[上下文] 构建完成: System=",
        "削减率: ",
        "发送给 LLM 的消息: ",
    ] {
        assert!(logged.contains(line), "{line} is missing in {logged}");
    }
    let fold = logged.split("[Agent] 上下文优化触发:").nth(1).unwrap();
    let after = |label: &str| {
        let rest = fold.split_once(label).unwrap_or_else(|| panic!("{label} in {fold}")).1;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<usize>().unwrap()
    };
    assert_eq!(after("最大可用: "), 12_000, "60% of 20,000");
    let system = after("System占用: ");
    let left = 12_000 - system;
    assert_eq!(after("剩余可用: "), left);
    assert_eq!(after("总结预算: "), left * 26 / 100, "{fold}");
    assert_eq!(after("最近对话预算: "), left * 65 / 100, "{fold}");
    assert_eq!(after("System="), system, "the system prompt and the tool definitions");
    assert_eq!(after("Total="), system + after("Summary=") + after("Recent="));
    let shown = after("优化后消息: ");
    assert_eq!(after("发送给 LLM 的消息: "), shown + 1, "and the system prompt");
    assert_eq!(after("[Agent] 最终上下文大小: 约 "), after("Total="));
    assert!(after("原始消息: ") % 2 == 1, "questions and answers, and the new question");
}

#[test]
fn errors_are_one_sentence_with_the_next_step() {
    let world = World::new(says("?"));
    for (arguments, expected) in [
        (&["  "][..], "the message is empty"),
        (&["hi", "--model", "claude-opus-5"][..], "ANTHROPIC_API_KEY"),
        (&["hi", "--model", "nosuch"][..], "unknown model \"nosuch\""),
        (
            &["hi", "--model", "m", "--base-url", "http://127.0.0.1:9", "--key-file", "none"][..],
            "key file none",
        ),
        (&["hi", "--base-url", "http://127.0.0.1:9"][..], "is the server running"),
        (&["hi", "--model", "m", "--base-url", "127.0.0.1:9"][..], "must start with http://"),
        (
            &["hi", "--model", "m", "--base-url", "http://me:pw@127.0.0.1:9"][..],
            "must not contain a user name, password",
        ),
        (&["--resume"][..], "no session to resume; start one with"),
        (
            &["--resume", "nothing"][..],
            "session \"nothing\" not found; list the sessions with `waterline sessions list`",
        ),
        (&["--resume", "s", "--session", "s"][..], "cannot be used with"),
        (&["--again"][..], "--session"),
        (&["hi", "--model", "offline", "--policy", "nosuch"][..], "nosuch"),
        (&["hi", "--model", "offline", "--set", "fold.high=abc"][..], "fold.high"),
    ] {
        let ended = world.run(arguments, &[]);
        assert_eq!(ended.code, 2, "{arguments:?}");
        assert!(
            ended.err.contains(expected) && !ended.err.contains("panicked"),
            "{arguments:?}: {}",
            ended.err
        );
    }
}

#[test]
fn an_empty_answer_is_a_failure() {
    let world = World::new(says(""));
    let ended = world.run(&["hi", "--model", "m", "--base-url", &world.server.url], &[]);
    assert_eq!((ended.code, ended.out.as_str()), (1, ""), "{}", ended.err);
    assert!(ended.err.contains("an empty answer"), "{}", ended.err);
    assert_eq!(world.server.received().len(), 2, "asked for once more");
}

/// A chosen name is exact, even if it is the prefix of another. A session keeps its policy.
#[test]
fn a_session_is_found_by_its_exact_name_and_keeps_its_policy() {
    let world = World::new(says("hello"));
    let base = ["--model", "m", "--base-url", &world.server.url, "--json"];
    let id = |ended: &Ended| {
        let first: Value = serde_json::from_str(ended.out.lines().next().unwrap()).unwrap();
        first["session"].as_str().unwrap().to_owned()
    };
    let run = |arguments: &[&str]| world.run(&[arguments, &base[..]].concat(), &[]);
    assert_eq!(id(&run(&["hi", "--session", "project10", "--policy", "budget"])), "project10");
    assert_eq!(id(&run(&["hi", "--session", "project1"])), "project1");
    let generated = id(&run(&["hi"]));
    assert_eq!(id(&run(&["hi", "--session", generated.get(..8).unwrap()])), generated);
    run(&["hi", "--session", "project10"]);
    let show = |policy: &str| {
        let mut command = program::waterline();
        command.current_dir(world.home.path()).args([
            "sessions",
            "show",
            "project10",
            "--db",
            "log.db",
        ]);
        let shown = String::from_utf8(command.output().unwrap().stdout).unwrap();
        assert!(shown.contains(policy), "{shown}");
    };
    show("policy budget");
    run(&["hi", "--session", "project10", "--policy", "chat"]);
    show("policy chat");
}

/// S4.14: the events and the answer of a run name the run. Another run has another id.
#[test]
fn s4_14_the_lines_of_a_run_name_it() {
    let world = World::new(says("hello"));
    let base = ["hi", "--session", "s", "--model", "m", "--base-url", &world.server.url, "--json"];
    let run = || {
        let ended = world.run(&base, &[]);
        let lines = ended.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let of_run =
            |line: &Value| !["session", "notice"].contains(&line["event"].as_str().unwrap());
        let mut runs: Vec<String> =
            lines.filter(of_run).map(|line| line["run"].as_str().unwrap().to_owned()).collect();
        assert!(runs.len() >= 3, "{}", ended.out);
        runs.dedup();
        runs
    };
    let (first, second) = (run(), run());
    assert_eq!((first.len(), second.len()), (1, 1), "one id for all lines");
    assert_ne!(first, second);
}

/// A failed call can be resumed without repeating the message, and `--json` reports the failure.
#[test]
fn a_failed_call_is_reported_and_can_be_resumed() {
    let is_down = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let switch = std::sync::Arc::clone(&is_down);
    let world = World::new(move |received| {
        if switch.load(std::sync::atomic::Ordering::SeqCst) {
            Reply::status(401, "no: Bearer sk-echoed-key")
        } else {
            says("at last")(received)
        }
    });
    let base = ["--session", "s", "--model", "m", "--base-url", &world.server.url, "--json"];
    let key = [("WATERLINE_API_KEY", "sk-echoed-key")];
    let failed = world.run(&[&["hi"], &base[..]].concat(), &key);
    let last: Value = serde_json::from_str(failed.out.lines().last().unwrap()).unwrap();
    assert_eq!(
        (failed.code, last["event"].as_str(), last["session"].as_str()),
        (2, Some("error"), Some("s"))
    );
    assert!(
        !failed.out.contains("sk-echoed") && !failed.err.contains("sk-echoed"),
        "the server repeated the key"
    );
    is_down.store(false, std::sync::atomic::Ordering::SeqCst);
    let again = world.run(&[&["--again"], &base[..]].concat(), &key);
    assert!(again.out.contains("at last"), "{}", again.err);
    let body: Value = serde_json::from_str(&world.server.received().pop().unwrap().body).unwrap();
    assert_eq!(
        body["messages"].as_array().unwrap().len(),
        2,
        "the system prompt, and the message once"
    );
}

/// Returns a server that speaks OpenAI's chat protocol only, and lists models if told to.
fn gateway(list: Option<&'static str>) -> World {
    let chat = says("hello there");
    World::new(move |received| match (received.path.as_str(), list) {
        ("/v1/models", Some(list)) => Reply::status(200, list),
        ("/v1/chat/completions", _) => chat(received),
        _ => Reply::status(404, "not here"),
    })
}

/// The name of a model says which provider made it, not which protocol a gateway speaks.
#[test]
fn a_gateway_that_lists_models_like_openai_gets_openais_wire() {
    let list = r#"{"object":"list","data":[{"id":"claude-sonnet-4-5","object":"model"}]}"#;
    let world = gateway(Some(list));
    let model = ["--model", "claude-sonnet-4-5"];
    for model in [&model[..], &[]] {
        let flags = [&["hi", "--base-url", &world.server.url][..], model].concat();
        let ended = world.run(&flags, &[]);
        assert_eq!((ended.code, ended.out.as_str()), (0, "hello there\n"), "{}", ended.err);
        // The window is the same whether or not the model is named.
        assert!(ended.err.contains("168,000"), "{}", ended.err);
    }
}

#[test]
fn a_404_names_the_address_and_the_flag_for_the_wire() {
    let world = gateway(None);
    let flags = ["hi", "--base-url", &world.server.url, "--model", "claude-sonnet-4-5"];
    let ended = world.run(&flags, &[]);
    assert_eq!(ended.code, 2);
    for expected in [&format!("{}/v1/messages", world.server.url), "--wire openai-chat"] {
        assert!(ended.err.contains(expected), "{expected}: {}", ended.err);
    }
}

/// A server that cannot be reached says nothing about its window.
#[test]
fn nothing_is_said_about_the_window_of_a_server_that_cannot_be_reached() {
    let world = World::new(says("hello there"));
    let ended = world.run(&["hi", "--base-url", "http://127.0.0.1:9", "--model", "x"], &[]);
    assert!(ended.code == 2 && ended.err.contains("127.0.0.1:9"), "{}", ended.err);
    assert!(!ended.err.contains("context window"), "{}", ended.err);
}
