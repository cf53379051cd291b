//! `waterline run --schema`: the output is JSON that matches, or the exit status is not 0.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod world;

use std::process::Stdio;

use serde_json::{Value, json};
use waterline_testkit::script::{Line, calls, says};
use world::{World, until};

const METRES: &str =
    r#"{"type": "object", "required": ["metres"], "properties": {"metres": {"type": "number"}}}"#;

/// Creates a world with a schema file.
fn tide(lines: Vec<Line>) -> World {
    let world = World::new(lines);
    world.write("metres.json", METRES);
    world
}

#[test]
fn an_answer_is_printed_as_bare_json() {
    let world = tide(vec![
        says("about four"),
        says("```json\n{\"metres\": 4.2}\n```"),
        says("four"),
        says("five"),
    ]);
    let (code, out, err) = world.run("run", &["how high?", "--schema", "metres.json"]);
    assert_eq!((code, out.as_str()), (0, "{\"metres\": 4.2}\n"), "{err}");
    let again: Value = serde_json::from_str(&world.server.received()[1].body).unwrap();
    let schema: Value = serde_json::from_str(METRES).unwrap();
    assert_eq!(again["response_format"]["json_schema"]["schema"], schema);
    let (code, _, err) = world.run("run", &["how high?", "--schema", "metres.json"]);
    assert!(code == 1 && err.contains("does not match the required schema"), "{code} {err}");
}

#[test]
fn an_invalid_schema_is_reported_before_any_request() {
    let world = tide(vec![]);
    for (text, expected) in [
        (r#"{"type": 12}"#, "invalid answer schema"),
        (r#""x""#, "is not a JSON schema"),
        ("null", "contains null"),
        ("{", "wrong.json: line 1, column 1: not JSON: unexpected end of input"),
    ] {
        world.write("wrong.json", text);
        let (code, out, err) = world.run("run", &["how high?", "--schema", "wrong.json"]);
        assert_eq!((code, out.as_str()), (2, ""), "{text}: {err}");
        assert!(err.contains("wrong.json") && err.contains(expected), "{text}: {err}");
    }
    let (code, out, err) = world.run("run", &["how high?", "--schema", "/dev/zero"]);
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    assert!(err.contains("larger than 1 MB"), "{err}");
    assert!(world.server.received().is_empty() && !world.path("log.db").exists());
}

/// The next message answers the question; the resumed turn keeps its schema, and the turn after it
/// has none.
#[test]
fn a_schema_is_kept_while_a_question_waits() {
    let asks = calls("ask_human", json!({"question": "Which harbor?"}));
    let world = tide(vec![asks, says("four"), says("{\"metres\": 4}"), says("you are welcome")]);
    let run = |more: &[&str]| world.run("run", &[&["--session", "s"], more].concat());
    let (code, _, err) = run(&["how high?", "--schema", "metres.json"]);
    assert!(code == 3 && err.contains("Which harbor?"), "{code} {err}");
    let (code, out, err) = run(&["the northern one", "--schema", "metres.json"]);
    assert_eq!((code, out.as_str()), (0, "{\"metres\": 4}\n"), "{err}");
    assert!(err.contains("this turn keeps its schema"), "{err}");
    let (code, out, err) = run(&["thanks"]);
    assert_eq!((code, out.as_str()), (0, "you are welcome\n"), "{err}");
    assert!(!world.last_request().last().unwrap().contains("schema"));
}

#[test]
fn a_schema_is_kept_by_an_interrupted_turn() {
    let world = tide(vec![Line::Hangs, says("four"), says("{\"metres\": 4}")]);
    let mut command =
        world.command("run", &["--session", "s", "how high?", "--schema", "metres.json"]);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("the request", || world.server.received().len() == 1);
    child.kill().unwrap();
    child.wait().unwrap();
    let (code, out, err) = world.run("run", &["--resume", "s"]);
    assert_eq!((code, out.as_str()), (0, "{\"metres\": 4}\n"), "{err}");
}
