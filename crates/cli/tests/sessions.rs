//! `waterline sessions`, as a user runs it.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod program;

use program::{Ended, example, run, waterline};
use serde_json::{Value, json};
use waterline_log::{Log, Options, Session};

/// A directory with a log.
struct Fixture(tempfile::TempDir);

impl Fixture {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn file(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    /// Runs `waterline sessions …` on the log.
    fn sessions(&self, arguments: &[&str]) -> Ended {
        self.run(&[&["sessions"], arguments].concat())
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        let db = self.path("log.db");
        run(&[arguments, &["--db", &db]].concat(), "")
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let ended = self.sessions(&[arguments, &["--json"]].concat());
        assert_eq!(ended.code, 0, "{}", ended.err);
        serde_json::from_str(&ended.out).unwrap()
    }
}

/// Returns a conversation of a user and an assistant as a request body.
fn conversation(id: &str, texts: &[&str]) -> String {
    let messages: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(at, text)| {
            let role = if at % 2 == 0 { "user" } else { "assistant" };
            serde_json::json!({"role": role, "content": text})
        })
        .collect();
    serde_json::json!({"id": id, "model": "gpt-4o", "messages": messages}).to_string()
}

/// Returns a session of Claude Code with a compaction and a sub-agent.
fn claude() -> String {
    let line = |uuid: &str, parent: &str, rest: &str| {
        let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
        format!(
            r#"{{"uuid":"{uuid}","parentUuid":{parent},"sessionId":"c1","isSidechain":false,"timestamp":"2026-02-12T10:00:00.000Z",{rest}}}"#
        )
    };
    let user =
        |text: &str| format!(r#""type":"user","message":{{"role":"user","content":"{text}"}}"#);
    let answer = |id: &str, text: &str| {
        format!(
            r#""type":"assistant","message":{{"id":"{id}","role":"assistant","model":"claude-opus-4-6","content":[{{"type":"text","text":"{text}"}}],"usage":{{"input_tokens":3,"cache_read_input_tokens":900,"cache_creation_input_tokens":97,"output_tokens":5}}}}"#
        )
    };
    let side_chain = |line: String| {
        line.replace("\"isSidechain\":false", "\"isSidechain\":true,\"agentId\":\"a7\"")
    };
    let boundary = concat!(
        r#""type":"system","subtype":"compact_boundary","logicalParentUuid":"a1","#,
        r#""compactMetadata":{"trigger":"auto","preTokens":178144}"#
    );
    [
        line("u1", "", &user("first question")),
        side_chain(line("s1", "", &user("look for it"))),
        side_chain(line("s2", "s1", &answer("m8", "found it"))),
        line("a1", "u1", &answer("m1", "first answer")),
        line("b1", "", boundary),
        line(
            "u2",
            "b1",
            &format!("\"isCompactSummary\":true,{}", user("This session is being continued")),
        ),
        line("u3", "u2", &user("second question")),
        line("a3", "u3", &answer("m3", "second answer")),
    ]
    .join("\n")
}

/// People count messages without the system prompt.
#[test]
fn totals_leave_out_the_system_prompt() {
    let fixture = Fixture::new();
    let body = conversation("talk", &["hello", "hi"]);
    let prompted = body.replacen('[', r#"[{"role":"system","content":"Be brief."},"#, 1);
    fixture.json(&["import", &fixture.file("a.json", &prompted)]);
    let stats = fixture.sessions(&["stats"]).out;
    assert!(stats.contains("2, and 1 system prompt; 3 unique"), "{stats}");
    let ended = fixture.sessions(&["export", "-o", &fixture.path("out.jsonl")]);
    assert!(ended.err.contains("1 session, 2 messages"), "{}", ended.err);
}

#[test]
fn sessions_are_imported_once_and_extended() {
    let fixture = Fixture::new();
    let file = fixture.file("a.json", &conversation("talk", &["hello", "hi", "more"]));
    let added = fixture.json(&["import", &file]);
    assert_eq!((&added["sessions"], &added["messages"]), (&1.into(), &3.into()));
    let again = fixture.json(&["import", &file]);
    assert_eq!(
        (&again["sessions"], &again["messages"], &again["continued"]),
        (&0.into(), &0.into(), &0.into())
    );

    // The file has grown.
    fixture.file("a.json", &conversation("talk", &["hello", "hi", "more", "and more"]));
    let grown = fixture.json(&["import", &file]);
    assert_eq!((&grown["messages"], &grown["continued"]), (&1.into(), &1.into()));
    // An older copy removes nothing.
    let older = fixture.file("old.json", &conversation("talk", &["hello", "hi"]));
    assert_eq!(fixture.json(&["import", &older])["messages"], 0);
    assert_eq!(fixture.json(&["show", "talk"])["messages"], 4);
    // A different conversation with the same id is another session, and so is one that diverged.
    let other = fixture.file("other.json", &conversation("talk", &["something else"]));
    let diverged = fixture.file("diverged.json", &conversation("talk", &["hello", "no"]));
    let added = fixture.json(&["import", &other, &diverged]);
    assert_eq!((&added["sessions"], &added["forked"][0]), (&2.into(), &"talk".into()));
    assert_eq!(fixture.json(&["import", &other, &diverged])["sessions"], 0);
    assert_eq!(fixture.sessions(&["list", "--json"]).out.lines().count(), 3);
}

/// A program writes its answer bit by bit: a later import adds the rest to the same session.
#[test]
fn an_unfinished_answer_is_replaced() {
    let fixture = Fixture::new();
    let part = fixture.file("a.json", &conversation("talk", &["hello", "I will"]));
    fixture.sessions(&["import", &part]);
    let whole = fixture.file("b.json", &conversation("talk", &["hello", "I will do it", "thanks"]));
    let grown = fixture.json(&["import", &whole]);
    assert_eq!((&grown["sessions"], &grown["continued"]), (&0.into(), &1.into()));
    assert_eq!(fixture.json(&["show", "talk"])["messages"], 3);
    // Importing the old file removes nothing, and importing after a rewind adds nothing.
    assert_eq!(fixture.json(&["import", &part])["continued"], 0);
    fixture.sessions(&["rewind", "talk", "--to", "1"]);
    assert_eq!(fixture.json(&["import", &whole])["continued"], 0);
    assert_eq!(fixture.json(&["show", "talk"])["messages"], 1);
}

/// The model and the title may come later in a file.
#[test]
fn later_parts_of_a_file_set_model_and_title() {
    let fixture = Fixture::new();
    let lines: Vec<String> = claude().lines().map(str::to_owned).collect();
    let start = lines[0].replace("first question", "<env>linux</env>");
    let file = fixture.file("c.jsonl", &start);
    fixture.sessions(&["import", &file]);
    assert_eq!(fixture.json(&["show", "c1"])["model"], Value::Null);
    fixture.file(
        "c.jsonl",
        &std::iter::once(start.as_str())
            .chain(lines.iter().skip(1).map(String::as_str))
            .collect::<Vec<_>>()
            .join("\n"),
    );
    fixture.sessions(&["import", &file]);
    let shown = fixture.json(&["show", "c1"]);
    assert_eq!(
        (&shown["model"], &shown["title"]),
        (&"claude-opus-4-6".into(), &"second question".into())
    );
    // A title that the user chose is kept.
    fixture.sessions(&["rename", "c1", "Mine"]);
    let more = format!(
        "{}\n{}",
        std::fs::read_to_string(&file).unwrap(),
        lines[6].replace("\"u3\"", "\"u9\"").replace("\"u2\"", "\"a3\"")
    );
    fixture.file("c.jsonl", &more);
    assert_eq!(fixture.json(&["import", &file])["continued"], 1);
    assert_eq!(fixture.json(&["show", "c1"])["title"], "Mine");
    let at = fixture.json(&["show", "c1", "--at", "1"]);
    assert_eq!((&at["generations"], &at["summary"]), (&Value::Array(Vec::new()), &Value::Null));
    assert_eq!(fixture.sessions(&["show", "c1", "--at", "99"]).code, 2);
}

#[test]
fn a_damaged_log_is_exported_up_to_the_damage() {
    let fixture = Fixture::new();
    for id in ["one", "two"] {
        let file = fixture.file(
            "a.json",
            &conversation(id, &[&format!("question of {id}"), &format!("answer of {id}")]),
        );
        fixture.sessions(&["import", &file]);
    }
    let mut bytes = std::fs::read(fixture.path("log.db")).unwrap();
    let at = bytes.windows(13).position(|window| window == b"answer of one").unwrap();
    bytes[at] = b'X';
    std::fs::write(fixture.path("log.db"), bytes).unwrap();
    let out = fixture.path("saved.jsonl");
    let saved = fixture.sessions(&["export", "-o", &out]);
    assert!(
        saved.code == 1 && saved.err.contains("session one, after message 1"),
        "{} {}",
        saved.code,
        saved.err
    );
    let other = fixture.path("other.db");
    assert_eq!(run(&["sessions", "import", &out, "--db", &other], "").code, 0);
    let stats = run(&["sessions", "stats", "--json", "--db", &other], "").out;
    assert_eq!(serde_json::from_str::<Value>(&stats).unwrap()["messages"], 3);
    assert!(fixture.sessions(&["verify"]).out.contains("is used by session one"));
}

#[test]
fn a_named_file_that_is_not_a_session_is_reported() {
    let fixture = Fixture::new();
    let good = fixture.file("a.json", &conversation("talk", &["hello"]));
    let bad = fixture.file("b.json", "{\"no\": \"conversation\"}");
    let ended = fixture.sessions(&["import", &good, &bad, "--json"]);
    let counters: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((ended.code, &counters["sessions"]), (1, &1.into()));
    assert!(counters["refused"][0].as_str().unwrap().contains("b.json"));
    let own = fixture.sessions(&["import", &fixture.path("log.db")]);
    assert!(own.code == 2 && own.err.contains("is a log itself"), "{}", own.err);
}

#[test]
fn files_are_readable_by_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = Fixture::new();
    let file = fixture.file("a.json", &conversation("talk", &["hello"]));
    fixture.sessions(&["import", &file, "--user", "ada"]);
    fixture.sessions(&["export", "-o", &fixture.path("out.jsonl")]);
    fixture.sessions(&["backup", &fixture.path("backup.db")]);
    for name in ["log.db", "out.jsonl", "backup.db"] {
        let mode = std::fs::metadata(fixture.path(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name}: {mode:o}");
    }
    assert_eq!(fixture.json(&["list", "--user", "ada"])["id"], "talk");
    assert_eq!(fixture.sessions(&["rename", "talk", "A title"]).code, 0);
    assert_eq!(fixture.json(&["show", "talk"])["title"], "A title");
    let nameless = run(&["sessions", "list", "--db", ""], "");
    assert!(nameless.code == 2 && nameless.err.contains("--db is empty"), "{}", nameless.err);
}

#[test]
fn s3_13_compactions_become_generations_and_sub_agents_children() {
    let fixture = Fixture::new();
    let file = fixture.file("c.jsonl", &claude());
    let added = fixture.json(&["import", &file]);
    assert_eq!((&added["sessions"], &added["messages"]), (&2.into(), &6.into()));
    let shown = fixture.json(&["show", "c1"]);
    let fold = &shown["generations"][0];
    assert_eq!(
        (&fold["position"], &fold["tokens_before"], &fold["reason"]),
        (&2.into(), &178_144.into(), &"auto".into())
    );
    assert_eq!(shown["summary"]["summary"], "This session is being continued");
    assert_eq!(
        (&shown["summary"]["summarized_until"], &shown["usage"]["cache_read"]),
        (&2.into(), &1_800.into())
    );
    // S3.13: the metadata of a summary.
    let summary = shown["summary"].as_object().unwrap();
    let keys: Vec<&str> = summary.keys().map(String::as_str).collect();
    let expected = [
        "version",
        "summary",
        "summarized_from",
        "summarized_until",
        "summary_tokens",
        "original_tokens",
        "message_count",
        "compression_rate",
        "created_at",
    ];
    assert!(expected.iter().all(|key| keys.contains(key)), "{keys:?}");
    assert_eq!((&summary["message_count"], &summary["version"]), (&2.into(), &1.into()));
    let number = |key: &str| summary[key].as_f64().unwrap();
    let rate = 1.0 - number("summary_tokens") / number("original_tokens");
    assert!((number("compression_rate") - rate.max(0.0)).abs() < 1e-9, "{summary:?}");
    assert!(summary["created_at"].as_str().unwrap().starts_with("20"), "{summary:?}");
    let child = &shown["children"][0];
    assert_eq!(
        (&child["relation"], &child["parent_context"], &child["messages"]),
        (&"sub-agent".into(), &"main".into(), &2.into())
    );
    let context = child["context_id"].as_str().unwrap();
    assert!(context.starts_with("subagent-") && context.len() == 17, "{context}");
    assert_eq!(fixture.json(&["import", &file])["messages"], 0);
    let table = fixture.sessions(&["show", "c1"]).out;
    assert!(
        table.contains("fold 1 after message 2: 178,144 →") && table.contains("└ sub-agent"),
        "{table}"
    );
}

#[test]
fn stored_sessions_are_planned_and_replayed_like_files() {
    let fixture = Fixture::new();
    fixture.sessions(&["import", &example()]);
    let id = fixture.json(&["list"])["id"].as_str().unwrap().to_owned();
    let figures = |ended: Ended| -> Value {
        assert_eq!(ended.code, 0, "{}", ended.err);
        serde_json::from_str::<Value>(&ended.out).unwrap()
    };
    let stored = figures(fixture.run(&["plan", &id, "--window", "3k", "--json"]));
    let read = figures(run(&["plan", &example(), "--window", "3k", "--json"], ""));
    for field in ["messages", "tokens"] {
        assert_eq!(stored[field], read[field], "{field}");
    }
    let tables = |ended: Ended| {
        ended
            .out
            .lines()
            .filter(|line| line.starts_with("auto"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let stored = tables(fixture.run(&["replay", &id, "--policy", "auto,window", "--window", "2k"]));
    assert_eq!(
        stored,
        tables(run(&["replay", &example(), "--policy", "auto,window", "--window", "2k"], ""))
    );
    assert!(!stored.is_empty());
    assert_eq!(fixture.run(&["tokens", &id]).out, run(&["tokens", &example()], "").out);
}

#[test]
fn sessions_are_forked_rewound_and_compared() {
    let fixture = Fixture::new();
    let file =
        fixture.file("a.json", &conversation("talk", &["one", "two", "three", "four", "five"]));
    fixture.sessions(&["import", &file]);
    let fork = fixture.sessions(&["fork", "talk", "--at", "2", "--as", "other"]);
    assert_eq!((fork.code, fork.out.as_str()), (0, "other\n"));
    assert_eq!(fixture.sessions(&["rewind", "talk", "--by", "2"]).out, "talk: 5 → 3 messages\n");
    assert_eq!(fixture.sessions(&["rewind", "talk", "--turns", "1"]).out, "talk: 3 → 2 messages\n");
    assert_eq!(fixture.sessions(&["redo", "talk", "--by", "1"]).out, "talk: 2 → 3 messages\n");
    // The earlier name of `redo`.
    assert_eq!(fixture.sessions(&["forward", "talk", "--by", "1"]).out, "talk: 3 → 4 messages\n");
    fixture.sessions(&["rewind", "talk", "--by", "1"]);
    let diff = fixture.json(&["diff", "talk", "other"]);
    assert_eq!((&diff["shared"], &diff["left"]["entries"][0]["position"]), (&2.into(), &3.into()));
    let table = fixture.sessions(&["diff", "talk", "other"]).out;
    assert!(table.contains("2 messages shared, the last one: two"), "{table}");
    assert!(fixture.sessions(&["show", "talk"]).out.contains("branch at message 3: 5 messages"));
    assert_eq!(
        fixture.sessions(&["show", "talk", "--message", "2"]).out,
        "{\"role\":\"assistant\",\"content\":\"two\"}\n"
    );
    let refused = fixture.sessions(&["rewind", "talk", "--to", "9"]);
    assert_eq!((refused.code, refused.err.contains("cannot rewind session talk")), (2, true));
}

/// The system prompt has no number and is not counted. A number means the same message in every
/// command.
#[test]
fn the_system_prompt_is_not_counted() {
    let fixture = Fixture::new();
    let messages =
        [("system", "be brief"), ("user", "one"), ("assistant", "two"), ("user", "three")]
            .map(|(role, content)| json!({"role": role, "content": content}));
    let file = fixture.file("a.json", &json!({"id": "talk", "messages": messages}).to_string());
    fixture.sessions(&["import", &file]);
    let list = fixture.sessions(&["list"]).out;
    assert_eq!(list.lines().last().unwrap().split_whitespace().nth(1), Some("3"), "{list}");
    let shown = fixture.sessions(&["show", "talk"]).out;
    assert!(shown.contains("3 messages"), "{shown}");
    let rows: Vec<Vec<&str>> =
        shown.lines().rev().take(4).map(|line| line.split_whitespace().take(2).collect()).collect();
    assert_eq!(rows, [["3", "user"], ["2", "assistant"], ["1", "user"], ["–", "system"]]);
    let message = |number: &str| fixture.sessions(&["show", "talk", "--message", number]).out;
    assert!(message("0").contains("be brief") && message("2").contains("two"));
    let found = fixture.sessions(&["search", "three"]).out;
    assert_eq!(found.lines().last().unwrap().split_whitespace().nth(1), Some("3"), "{found}");
    fixture.sessions(&["fork", "talk", "--at", "2", "--as", "other"]);
    let diff = fixture.sessions(&["diff", "talk", "other"]).out;
    assert!(diff.contains("2 messages shared, the last one: two"), "{diff}");
    assert!(diff.contains("talk: 1 other message") && diff.contains("-     3  user"), "{diff}");
    assert!(fixture.sessions(&["show", "talk", "--at", "4"]).err.contains("has only 3 messages"));
    let refused = fixture.sessions(&["fork", "talk", "--at", "9"]).err;
    assert!(refused.contains("at message 9: it has 3 messages"), "{refused}");
    let plan = fixture.run(&["plan", "talk", "--at", "2"]).out;
    assert!(plan.contains("2 messages"), "{plan}");
    let rewound = fixture.sessions(&["rewind", "talk", "--to", "1"]).out;
    assert_eq!(rewound, "talk: 3 → 1 message\n");
    assert!(fixture.sessions(&["show", "talk"]).out.contains("branch at message 1: 3 messages"));
}

#[test]
fn an_export_is_complete() {
    let fixture = Fixture::new();
    let file = fixture.file("c.jsonl", &claude());
    fixture.sessions(&["import", &file]);
    let out = fixture.path("out.jsonl");
    assert_eq!(fixture.sessions(&["export", "-o", &out]).code, 0);
    assert_eq!(
        fixture.sessions(&["export", "-o", &out]).code,
        2,
        "an existing file is not overwritten"
    );
    let other = fixture.path("other.db");
    let imported = run(&["sessions", "import", &out, "--db", &other, "--json"], "");
    assert_eq!(serde_json::from_str::<Value>(&imported.out).unwrap()["messages"], 6);
    let exported = run(&["sessions", "export", "c1", "--db", &other], "");
    assert_eq!(exported.out, fixture.sessions(&["export", "c1"]).out);
    let backup = fixture.path("backup.db");
    assert_eq!(fixture.sessions(&["backup", &backup]).code, 0);
    assert_eq!(run(&["sessions", "export", "c1", "--db", &backup], "").out, exported.out);
}

#[test]
fn a_session_can_be_exported_as_markdown() {
    let fixture = Fixture::new();
    let file = fixture.file("t.json", &conversation("talk", &["how high?", "4.2 m"]));
    fixture.sessions(&["import", &file]);
    let exported = fixture.sessions(&["export", "talk", "--markdown"]);
    assert_eq!(exported.code, 0, "{}", exported.err);
    let text = &exported.out;
    assert!(text.starts_with("# how high?\n\n*talk · gpt-4o · 2 messages"), "{text}");
    assert!(text.contains("\n\nhow high?\n\n## ") && text.contains("\n\n4.2 m\n"), "{text}");
    let nowhere =
        fixture.sessions(&["export", "talk", "-o", &fixture.path("nowhere/talk.md"), "--markdown"]);
    assert!(
        nowhere.code == 2
            && nowhere.err.contains("cannot write")
            && !nowhere.err.contains("nowhere/.tmp"),
        "{}",
        nowhere.err
    );
}

#[test]
fn nothing_is_deleted_without_yes() {
    let fixture = Fixture::new();
    let file = fixture.file("a.json", &conversation("talk", &["one", "two"]));
    fixture.sessions(&["import", &file]);
    let would = fixture.sessions(&["erase", "talk"]);
    assert!(
        would.out.contains("would delete session talk")
            && would.out.contains("Nothing was deleted"),
        "{}",
        would.out
    );
    assert_eq!(fixture.json(&["stats"])["messages"], 2);
    assert_eq!(fixture.json(&["clean"])["sessions"], Value::Array(Vec::new()));
    assert_eq!(fixture.sessions(&["clean"]).out, "Nothing to clean\n");
    let idle = fixture.json(&["clean", "--idle", "0"]);
    assert_eq!((&idle["done"], &idle["messages"]), (&false.into(), &2.into()));
    let erased = fixture.json(&["erase", "talk", "--yes"]);
    assert_eq!((&erased["done"], &erased["messages"]), (&true.into(), &2.into()));
    assert_eq!(fixture.json(&["stats"])["messages"], 0);
    assert_eq!(fixture.sessions(&["list"]).out, "no sessions\n");
}

#[test]
fn only_workspaces_that_name_their_session_are_removed() {
    let fixture = Fixture::new();
    let file = fixture.file("a.json", &conversation("talk", &["one"]));
    fixture.sessions(&["import", &file]);
    let lines = fixture.sessions(&["export"]).out;
    let mine = r#"{"session":"talk","created_at":""}"#;
    let other = r#"{"session":"else","created_at":""}"#;
    for (name, marker) in [("mine", mine), ("other", other), ("odd", "not json")] {
        let workspace = fixture.path(name);
        std::fs::create_dir(&workspace).unwrap();
        std::fs::write(format!("{workspace}/workspace.json"), marker).unwrap();
        let changed = lines
            .replace("\"state\":{", &format!("\"state\":{{\"workspace_path\":\"{workspace}\","));
        let export = fixture.file("e.jsonl", &changed);
        let db = fixture.path(&format!("{name}.db"));
        assert_eq!(run(&["sessions", "import", &export, "--db", &db], "").code, 0);
        // An imported file does not set a directory of this machine.
        let log = Log::open(&db).unwrap();
        let mut session = log.session("talk").unwrap();
        assert_eq!(session.workspace, None);
        session.workspace = Some(workspace.clone());
        log.save(&session).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(2));
        let cleaned = run(&["sessions", "clean", "--workspaces", "0", "--yes", "--db", &db], "");
        assert_eq!(cleaned.code, 0, "{}", cleaned.err);
        assert_eq!(std::path::Path::new(&workspace).exists(), name != "mine", "{name}");
        assert_eq!(
            cleaned.out.contains("it is not the workspace of session talk"),
            name != "mine",
            "{}",
            cleaned.out
        );
    }
}

/// Opens the log with a clock that is ten days slow.
fn ten_days_ago(db: &str) -> Log {
    let clock = || {
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
        i64::try_from(now.as_millis()).unwrap() - 10 * 86_400_000
    };
    Log::open_with(db, &Options::default().with_clock(clock)).unwrap()
}

/// Roles and sub-agents use the workspace of another session.
#[test]
fn a_workspace_that_another_session_uses_is_kept() {
    let fixture = Fixture::new();
    let db = fixture.path("log.db");
    let workspace = fixture.path("shared");
    std::fs::create_dir(&workspace).unwrap();
    std::fs::write(format!("{workspace}/workspace.json"), r#"{"session":"owner","created_at":""}"#)
        .unwrap();
    let uses_it = |log: &Log, id: &str| {
        let mut session = log.create(Session::new(id)).unwrap();
        session.workspace = Some(workspace.clone());
        log.save(&session).unwrap();
    };
    let is_there = || std::path::Path::new(&workspace).exists();
    uses_it(&ten_days_ago(&db), "owner");
    uses_it(&Log::open(&db).unwrap(), "role");
    let cleaned = fixture.sessions(&["clean", "--idle", "30", "--workspaces", "7", "--yes"]);
    assert!(cleaned.code == 0 && is_there(), "{}{}", cleaned.out, cleaned.err);
    let erased = fixture.sessions(&["erase", "owner", "--yes"]);
    assert!(erased.code == 0 && is_there(), "{}{}", erased.out, erased.err);
}

/// A command may overwrite any file of a workspace, and an owner may be deleted before the roles
/// that use its workspace.
#[test]
fn folders_go_with_the_last_session_that_works_in_them() {
    let fixture = Fixture::new();
    let db = fixture.path("log.db");
    let workspaces = fixture.path("ws");
    std::fs::create_dir(fixture.path("waterline")).unwrap();
    fixture.file("waterline/config.toml", &format!("[agent]\nworkspaces = \"{workspaces}\"\n"));
    let sessions = |arguments: &[&str]| {
        let mut command = waterline();
        command
            .env("XDG_CONFIG_HOME", fixture.0.path())
            .arg("sessions")
            .args(arguments)
            .args(["--db", &db]);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let uses = |id: &str, workspace: &str, owner: Option<&str>| {
        let log = ten_days_ago(&db);
        let mut session = log.create(Session::new(id)).unwrap();
        let path = format!("{workspaces}/{workspace}");
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(format!("{path}/workspace.json"), "a command wrote this").unwrap();
        session.workspace = Some(path);
        if let Some(owner) = owner {
            session.local.insert("workspace_of".to_owned(), Value::from(owner));
        }
        log.save(&session).unwrap();
    };
    let is_there =
        |workspace: &str| std::path::Path::new(&format!("{workspaces}/{workspace}")).exists();
    uses("owner", "owner", None);
    uses("role", "owner", Some("owner"));
    uses("odd", "elsewhere", None);
    let erased = sessions(&["erase", "owner", "--yes"]);
    let is_deleted = erased.contains("deleted session owner");
    assert!(is_deleted && is_there("owner"), "a role uses it: {erased}");
    let cleaned = sessions(&["clean", "--idle", "5", "--workspaces", "30", "--yes"]);
    assert!(cleaned.contains("deleted session role") && !is_there("owner"), "{cleaned}");
    let is_reported = cleaned.contains("elsewhere: it is not the workspace of session odd");
    assert!(is_reported && is_there("elsewhere"), "{cleaned}");
}

#[test]
fn the_config_says_when_sessions_are_old() {
    let fixture = Fixture::new();
    let db = fixture.path("log.db");
    ten_days_ago(&db).create(Session::new("old")).unwrap();
    std::fs::create_dir(fixture.path("waterline")).unwrap();
    let would_go = |config: &str| {
        fixture.file("waterline/config.toml", config);
        let mut command = waterline();
        command.env("XDG_CONFIG_HOME", fixture.0.path()).args(["sessions", "clean", "--db", &db]);
        String::from_utf8(command.output().unwrap().stdout)
            .unwrap()
            .contains("would delete session old")
    };
    assert!(!would_go(""), "30 days by default");
    assert!(would_go("[agent]\nsession_days = 5\n"));
}

#[test]
fn messages_are_searched_in_any_language() {
    let fixture = Fixture::new();
    let file = fixture.file(
        "a.json",
        &conversation("talk", &["请升级数据库", "done: see upgrade_index.rs", "thanks"]),
    );
    fixture.sessions(&["import", &file]);
    let found = fixture.sessions(&["search", "数据库"]).out;
    let mut lines = found.lines();
    assert_eq!(lines.next(), Some("talk  请升级数据库"));
    let hit = lines.next().unwrap();
    assert!(hit.contains("  1  user") && hit.ends_with("请升级数据库"), "{hit}");
    assert!(fixture.sessions(&["search", "upgrade", "index"]).out.contains("upgrade_index.rs"));
    let nothing = fixture.sessions(&["search", "absent"]);
    assert_eq!((nothing.code, nothing.out.as_str()), (1, "nothing found\n"));
}

#[test]
fn imported_sessions_keep_their_times() {
    let fixture = Fixture::new();
    let file = |name: &str, time: &str, text: &str| {
        let line = serde_json::json!({
            "uuid": "u1", "parentUuid": null, "sessionId": name, "isSidechain": false,
            "timestamp": time, "type": "user", "message": {"role": "user", "content": text},
        });
        fixture.file(&format!("{name}.jsonl"), &line.to_string())
    };
    let newer = file("newer", "2026-02-12T10:00:00.000Z", "<env>x</env>\nWhy does it fail?");
    let older = file("older", "2025-03-04T05:06:07.000Z", "hello");
    for path in [&newer, &older, &older] {
        assert_eq!(fixture.sessions(&["import", path]).code, 0);
    }
    let listed = fixture.sessions(&["list", "--json"]).out;
    let listed: Vec<Value> =
        listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let shown: Vec<_> = listed.iter().map(|session| (&session["id"], &session["active"])).collect();
    assert_eq!(shown[0], (&Value::from("newer"), &Value::from("2026-02-12T10:00:00Z")));
    assert_eq!(shown[1], (&Value::from("older"), &Value::from("2025-03-04T05:06:07Z")));
    assert_eq!(listed[0]["title"], "Why does it fail?");
    // What was imported a moment ago is not offered for deletion.
    assert_eq!(fixture.json(&["clean"])["sessions"], Value::Array(Vec::new()));
    std::thread::sleep(std::time::Duration::from_millis(5));
    let idle = fixture.json(&["clean", "--idle", "0"]);
    assert_eq!(idle["sessions"], serde_json::json!(["newer", "older"]));
}

#[test]
fn errors_are_one_sentence_with_the_next_step() {
    let fixture = Fixture::new();
    let fails = |arguments: &[&str], expected: &str| {
        let ended = fixture.sessions(arguments);
        assert!(
            ended.code == 2 && ended.err.contains(expected),
            "{arguments:?}: {} {}",
            ended.code,
            ended.err
        );
        assert_eq!(ended.err.trim_end().lines().count(), 1, "{}", ended.err);
    };
    fails(&["list"], "no log at");
    fails(&["list"], "waterline chat --db");
    let file = fixture.file("a.json", &conversation("talk", &["one"]));
    fixture.sessions(&["import", &file]);
    fails(&["show", "absent"], "session \"absent\" not found");
    fails(&["rewind", "talk", "--message", "zz"], "has no message zz");
    fails(&["show", "talk", "--message", "7"], "has no message 7");
    let broken = fixture.file("broken.jsonl", "{\"waterline\":1}\n{\"message\":{}}\n");
    fails(&["import", &broken], "line 2");
    let empty = fixture.file("empty.json", "");
    fails(&["import", &empty], "the file is empty");
    let unknown = run(&["sessions", "list", "--db", "mysql://u:secret@h/d"], "");
    assert!(unknown.code == 2 && unknown.err.contains("invalid log URL"), "{}", unknown.err);
    assert!(!unknown.err.contains("secret"), "{}", unknown.err);
    let foreign = fixture.file("notes.db", &"these are notes\n".repeat(400));
    let refused = run(&["sessions", "list", "--db", &foreign], "");
    assert!(refused.code == 2 && refused.err.contains("is not a waterline log"), "{}", refused.err);
}

#[test]
fn a_damaged_log_fails_verification() {
    let fixture = Fixture::new();
    let file = fixture.file("a.json", &conversation("talk", &["an unmistakable sentence", "two"]));
    fixture.sessions(&["import", &file]);
    assert_eq!(
        fixture.sessions(&["verify"]).out,
        "2 messages (system prompts included), 1 session, 0 artifacts (versions and records of \
         changed files included): intact\n"
    );
    let mut bytes = std::fs::read(fixture.path("log.db")).unwrap();
    let at = bytes.windows(12).position(|window| window == b"unmistakable").unwrap();
    bytes[at] = b'U';
    std::fs::write(fixture.path("log.db"), bytes).unwrap();
    let found = fixture.sessions(&["verify"]);
    assert!(found.code == 1 && found.out.contains("damaged: "), "{} {}", found.code, found.out);
    let chinese = fixture.sessions(&["verify", "--lang", "zh"]);
    assert!(chinese.code == 1 && chinese.out.lines().count() > 2, "{}", chinese.out);
    for line in chinese.out.lines() {
        let is_english = ["message", "branch", "session", "does not match", "damaged"];
        assert!(!is_english.iter().any(|word| line.contains(word)), "{line}");
    }
}
