//! `replay` and `convert` as a user runs them.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod program;

use std::path::Path;

use program::{Ended, example};
use serde_json::Value;

fn run(arguments: &[&str]) -> Ended {
    program::run(arguments, "")
}

fn path(directory: &Path, name: &str) -> String {
    directory.join(name).to_str().unwrap().to_owned()
}

#[test]
fn replay_compares_policies_and_marks_the_best() {
    let ended = run(&["replay", &example(), "--policy", "auto,tail", "--window", "2k,4k"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.out.starts_with("1 session, "), "{}", ended.out);
    let rows: Vec<&str> = ended
        .out
        .lines()
        .filter(|line| line.starts_with("auto") || line.starts_with("tail"))
        .collect();
    assert_eq!(rows.len(), 4, "{}", ended.out);
    assert!(rows[0].contains('*') && !ended.out.contains('\u{1b}'), "{}", ended.out);
}

/// The format is documented in docs/replay.md.
#[test]
fn replay_json_has_the_documented_shape() {
    let directory = tempfile::tempdir().unwrap();
    let other = path(directory.path(), "other.jsonl");
    std::fs::copy(example(), &other).unwrap();
    // A file or policy that is named twice counts once.
    let ended = run(&[
        "replay",
        &example(),
        &other,
        &example(),
        "--policy",
        "auto,auto",
        "--window",
        "2k,2k",
        "--json",
    ]);
    let found: Value = serde_json::from_str(&ended.out).unwrap();
    let rows = found["rows"].as_array().unwrap();
    let datasets: Vec<&str> = rows.iter().map(|row| row["dataset"].as_str().unwrap()).collect();
    assert_eq!(datasets, ["all", &example(), &other]);
    for row in rows {
        for share in ["retained", "calls_intact", "cached_share"] {
            assert!((0.0..=1.0).contains(&row[share].as_f64().unwrap()), "{share}: {row}");
        }
        for count in ["conversations", "calls", "values", "tokens_max", "folds", "window"] {
            assert!(row[count].as_u64().unwrap() > 0, "{count}: {row}");
        }
        assert!(row["cost"].as_f64().unwrap() > 0.0 && row["tokens_mean"].as_f64().unwrap() > 0.0);
        assert_eq!((row["policy"].as_str(), row["invalid"].as_u64()), (Some("auto"), Some(0)));
    }
}

#[test]
fn replay_lists_forgotten_values() {
    let ended = run(&["replay", &example(), "--policy", "tail", "--window", "1500", "--lost"]);
    assert!(ended.out.contains("Forgotten in long-session"), "{}", ended.out);
    assert!(
        ended.out.contains("lost with fold") && ended.out.contains("needed it in message"),
        "{}",
        ended.out
    );
    let listed = ended.out;
    let ended =
        run(&["replay", &example(), "--policy", "tail", "--window", "1500", "--lost", "--json"]);
    let found: Value = serde_json::from_str(&ended.out).unwrap();
    let lost = &found["lost"][0];
    let value = lost["value"].as_str().unwrap();
    let seen = lost["seen"].as_u64().unwrap();
    assert!(lost["needed"].is_u64(), "{lost}");
    let line = format!("{value}  from message {seen}");
    assert!(listed.contains(&line), "{line} in {listed}");
}

#[test]
fn without_a_named_policy_only_the_losses_of_auto_are_listed() {
    let ended = run(&["replay", &example(), "--window", "1500", "--lost"]);
    let (table, listed) = ended.out.split_once("Forgotten in").unwrap();
    assert!(table.contains("tail") && listed.contains("\nauto "), "{}", ended.out);
    assert!(!listed.contains("\ntail ") && listed.contains("name them with --policy"), "{listed}");
}

/// The figures can be checked: every context is written, with the index of its call in the file.
#[test]
fn replay_writes_every_context_and_a_page() {
    let directory = tempfile::tempdir().unwrap();
    let dump = path(directory.path(), "dump.jsonl");
    let page = path(directory.path(), "page.html");
    let ended = run(&[
        "replay",
        &example(),
        "--policy",
        "auto",
        "--window",
        "2k",
        "--dump",
        &dump,
        "--html",
        &page,
    ]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let contexts = std::fs::read_to_string(dump).unwrap();
    let source: Value = serde_json::from_str(&std::fs::read_to_string(example()).unwrap()).unwrap();
    for line in contexts.lines() {
        let context: Value = serde_json::from_str(line).unwrap();
        let call = usize::try_from(context["call"].as_u64().unwrap()).unwrap();
        assert_eq!(source["messages"][call]["role"], "assistant", "{call}");
        assert_eq!(
            (context["id"].as_str(), context["policy"].as_str()),
            (Some("long-session"), Some("auto"))
        );
        assert!(!context["messages"].as_array().unwrap().is_empty());
    }
    assert!(contexts.lines().count() > 10);
    assert!(std::fs::read_to_string(page).unwrap().starts_with("<!doctype html>"));
}

#[test]
fn replay_errors_are_one_sentence() {
    let refused = |arguments: &[&str], part: &str| {
        let ended = run(arguments);
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{arguments:?}");
        assert!(
            ended.err.contains(part) && ended.err.lines().count() <= 6,
            "{arguments:?}: {}",
            ended.err
        );
    };
    refused(&["replay"], "give session files or directories");
    refused(&["replay", "nowhere.jsonl"], "cannot open nowhere.jsonl");
    refused(&["replay", &example(), "--prices", "gold"], "no price list named \"gold\"");
    refused(&["replay", &example(), "--policy", "best"], "best");
    refused(&["replay", &example(), "--window", "many"], "many");
    refused(&["replay", &example(), "--session", "other"], "no session");
    refused(&["replay", &example(), "--dump", &example()], "is an input file");
    refused(
        &["replay", &example(), "--html", "nowhere/page.html"],
        "cannot write nowhere/page.html",
    );
    let directory = tempfile::tempdir().unwrap();
    refused(&["replay", directory.path().to_str().unwrap()], "no session files in this directory");
}

/// A directory is searched; files that are not sessions are reported and skipped.
#[test]
fn replay_reads_directories() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("deep")).unwrap();
    std::fs::copy(example(), directory.path().join("deep/one.jsonl")).unwrap();
    std::fs::write(directory.path().join("settings.json"), "{\"theme\":\"dark\"}").unwrap();
    std::fs::write(directory.path().join("notes.txt"), "hello").unwrap();
    let ended =
        run(&["replay", directory.path().to_str().unwrap(), "--policy", "auto", "--window", "4k"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.out.starts_with("1 session,"), "{}", ended.out);
    assert!(
        ended.err.contains("settings.json")
            && ended.err.contains("skipped")
            && !ended.err.contains("notes.txt")
    );
}

#[test]
fn train_writes_weights_that_replay_reads() {
    let directory = tempfile::tempdir().unwrap();
    let weights = path(directory.path(), "weights.toml");
    let ended = run(&["replay", "train", &example(), "--window", "1k,2k", "--out", &weights]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(std::fs::read_to_string(&weights).unwrap().contains("own_call = "));
    let ended =
        run(&["replay", &example(), "--policy", "auto", "--window", "2k", "--weights", &weights]);
    assert_eq!(ended.code, 0, "{}", ended.err);
}

#[test]
fn usage_needs_sessions_that_report_usage() {
    let ended = run(&["replay", "usage", &example()]);
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("reports the usage of its calls"), "{}", ended.err);
}

#[test]
fn convert_writes_each_format_and_keeps_existing_files() {
    let directory = tempfile::tempdir().unwrap();
    let out = path(directory.path(), "out.jsonl");
    for format in ["openai-chat", "anthropic", "atif"] {
        let ended = run(&["convert", &example(), &out, "--to", format, "--force"]);
        assert_eq!(ended.code, 0, "{}", ended.err);
        assert!(ended.err.contains("1 conversation, 60 messages"), "{}", ended.err);
        let again = run(&["replay", &out, "--policy", "auto", "--window", "4k", "--json"]);
        let found: Value = serde_json::from_str(&again.out).unwrap();
        assert!(found["rows"][0]["values"].as_u64().unwrap() > 20, "{format}: {}", again.err);
    }
    let refused = run(&["convert", &example(), &out]);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("--force"), "{}", refused.err);
    let nothing = run(&["convert", "nowhere.json", &path(directory.path(), "new.jsonl")]);
    assert_eq!(nothing.code, 2);
    assert!(!directory.path().join("new.jsonl").exists(), "a failure leaves no file");
}

#[test]
fn plan_shows_the_reasons_for_the_ledger() {
    let ended = run(&["plan", &example(), "--why", "--set", "window.tokens=40%"]);
    let ledger = ended.out.split("The ledger, ranked by").nth(1).unwrap();
    let path = ledger.lines().find(|line| line.trim_start().starts_with("tidewatch/")).unwrap();
    assert!(path.contains("the agent used it in a call"), "{path}");
}

/// A session file of another program can be planned without conversion.
#[test]
fn plan_reads_session_files_of_other_programs() {
    let directory = tempfile::tempdir().unwrap();
    let file = path(directory.path(), "session.jsonl");
    let line = |uuid: &str, parent: &str, message: &str| {
        format!(
            r#"{{"uuid":"{uuid}","parentUuid":{parent},"sessionId":"s1","isSidechain":false,"type":"user","message":{message}}}"#
        )
    };
    let lines = [
        line("a", "null", r#"{"role":"user","content":"hello"}"#),
        line(
            "b",
            "\"a\"",
            concat!(
                r#"{"role":"assistant","id":"m1","model":"claude-opus-4-6","#,
                r#""content":[{"type":"text","text":"hi"}]}"#
            ),
        ),
    ];
    std::fs::write(&file, lines.join("\n")).unwrap();
    let ended = run(&["plan", &file, "--json"]);
    let plan: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(
        (plan["id"].as_str(), plan["wire"].as_str()),
        (Some("s1"), Some("anthropic")),
        "{}",
        ended.err
    );
    assert_eq!(plan["messages"].as_array().unwrap().len(), 2);
}
