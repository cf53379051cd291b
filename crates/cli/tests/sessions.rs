//! `waterline sessions`, as a user runs it.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod program;

use program::{Ended, example, run, waterline};
use serde_json::Value;
use waterline_log::{Log, Options, Session};

/// A folder with a log in it.
struct Place(tempfile::TempDir);

impl Place {
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

/// A conversation of a user and an assistant, as a request body.
fn conversation(id: &str, texts: &[&str]) -> String {
    let messages: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(at, text)| serde_json::json!({"role": if at % 2 == 0 { "user" } else { "assistant" }, "content": text}))
        .collect();
    serde_json::json!({"id": id, "model": "gpt-4o", "messages": messages}).to_string()
}

/// A session of Claude Code with a compaction and a sub-agent.
fn claude() -> String {
    let line = |uuid: &str, parent: &str, rest: &str| {
        let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
        format!(
            r#"{{"uuid":"{uuid}","parentUuid":{parent},"sessionId":"c1","isSidechain":false,"timestamp":"2026-02-12T10:00:00.000Z",{rest}}}"#
        )
    };
    let user =
        |text: &str| format!(r#""type":"user","message":{{"role":"user","content":"{text}"}}"#);
    let said = |id: &str, text: &str| {
        format!(
            r#""type":"assistant","message":{{"id":"{id}","role":"assistant","model":"claude-opus-4-6","content":[{{"type":"text","text":"{text}"}}],"usage":{{"input_tokens":3,"cache_read_input_tokens":900,"cache_creation_input_tokens":97,"output_tokens":5}}}}"#
        )
    };
    let aside = |line: String| {
        line.replace("\"isSidechain\":false", "\"isSidechain\":true,\"agentId\":\"a7\"")
    };
    let boundary = r#""type":"system","subtype":"compact_boundary","logicalParentUuid":"a1","compactMetadata":{"trigger":"auto","preTokens":178144}"#;
    [
        line("u1", "", &user("first question")),
        aside(line("s1", "", &user("look for it"))),
        aside(line("s2", "s1", &said("m8", "found it"))),
        line("a1", "u1", &said("m1", "first answer")),
        line("b1", "", boundary),
        line(
            "u2",
            "b1",
            &format!("\"isCompactSummary\":true,{}", user("This session is being continued")),
        ),
        line("u3", "u2", &user("second question")),
        line("a3", "u3", &said("m3", "second answer")),
    ]
    .join("\n")
}

#[test]
fn sessions_are_imported_once_and_go_on() {
    let place = Place::new();
    let file = place.file("a.json", &conversation("talk", &["hello", "hi", "more"]));
    let added = place.json(&["import", &file]);
    assert_eq!((&added["sessions"], &added["messages"]), (&1.into(), &3.into()));
    let again = place.json(&["import", &file]);
    assert_eq!(
        (&again["sessions"], &again["messages"], &again["continued"]),
        (&0.into(), &0.into(), &0.into())
    );

    // The file has grown.
    place.file("a.json", &conversation("talk", &["hello", "hi", "more", "and more"]));
    let grown = place.json(&["import", &file]);
    assert_eq!((&grown["messages"], &grown["continued"]), (&1.into(), &1.into()));
    // An older copy of it takes nothing back.
    let older = place.file("old.json", &conversation("talk", &["hello", "hi"]));
    assert_eq!(place.json(&["import", &older])["messages"], 0);
    assert_eq!(place.json(&["show", "talk"])["messages"], 4);
    // Another conversation of the same id is another session, and so is one that went another way.
    let other = place.file("other.json", &conversation("talk", &["something else"]));
    let apart = place.file("apart.json", &conversation("talk", &["hello", "no"]));
    let parted = place.json(&["import", &other, &apart]);
    assert_eq!((&parted["sessions"], &parted["forked"][0]), (&2.into(), &"talk".into()));
    assert_eq!(place.json(&["import", &other, &apart])["sessions"], 0);
    assert_eq!(place.sessions(&["list", "--json"]).out.lines().count(), 3);
}

/// A program writes its answer bit by bit: whoever imports in between gets the rest later, in the
/// same session.
#[test]
fn an_answer_that_was_not_finished_is_replaced() {
    let place = Place::new();
    let part = place.file("a.json", &conversation("talk", &["hello", "I will"]));
    place.sessions(&["import", &part]);
    let whole = place.file("b.json", &conversation("talk", &["hello", "I will do it", "thanks"]));
    let grown = place.json(&["import", &whole]);
    assert_eq!((&grown["sessions"], &grown["continued"]), (&0.into(), &1.into()));
    assert_eq!(place.json(&["show", "talk"])["messages"], 3);
    // The old file takes nothing back, and neither does any of them after a rewind.
    assert_eq!(place.json(&["import", &part])["continued"], 0);
    place.sessions(&["rewind", "talk", "--to", "1"]);
    assert_eq!(place.json(&["import", &whole])["continued"], 0);
    assert_eq!(place.json(&["show", "talk"])["messages"], 1);
}

/// The beginning of a file does not tell everything: the model and a title may come later.
#[test]
fn what_a_file_tells_later_is_learned() {
    let place = Place::new();
    let lines: Vec<String> = claude().lines().map(str::to_owned).collect();
    let start = lines[0].replace("first question", "<env>linux</env>");
    let file = place.file("c.jsonl", &start);
    place.sessions(&["import", &file]);
    assert_eq!(place.json(&["show", "c1"])["model"], Value::Null);
    place.file(
        "c.jsonl",
        &std::iter::once(start.as_str())
            .chain(lines.iter().skip(1).map(String::as_str))
            .collect::<Vec<_>>()
            .join("\n"),
    );
    place.sessions(&["import", &file]);
    let shown = place.json(&["show", "c1"]);
    assert_eq!(
        (&shown["model"], &shown["title"]),
        (&"claude-opus-4-6".into(), &"second question".into())
    );
    // A title that somebody gave stays.
    place.sessions(&["rename", "c1", "Mine"]);
    let more = format!(
        "{}\n{}",
        std::fs::read_to_string(&file).unwrap(),
        lines[6].replace("\"u3\"", "\"u9\"").replace("\"u2\"", "\"a3\"")
    );
    place.file("c.jsonl", &more);
    assert_eq!(place.json(&["import", &file])["continued"], 1);
    assert_eq!(place.json(&["show", "c1"])["title"], "Mine");
    let at = place.json(&["show", "c1", "--at", "1"]);
    assert_eq!((&at["generations"], &at["summary"]), (&Value::Array(Vec::new()), &Value::Null));
    assert_eq!(place.sessions(&["show", "c1", "--at", "99"]).code, 2);
}

#[test]
fn what_cannot_be_read_does_not_keep_the_rest_from_being_saved() {
    let place = Place::new();
    for id in ["one", "two"] {
        let file = place.file(
            "a.json",
            &conversation(id, &[&format!("question of {id}"), &format!("answer of {id}")]),
        );
        place.sessions(&["import", &file]);
    }
    let mut bytes = std::fs::read(place.path("log.db")).unwrap();
    let at = bytes.windows(13).position(|window| window == b"answer of one").unwrap();
    bytes[at] = b'X';
    std::fs::write(place.path("log.db"), bytes).unwrap();
    let out = place.path("saved.jsonl");
    let saved = place.sessions(&["export", "-o", &out]);
    assert!(
        saved.code == 1 && saved.err.contains("session one, behind message 1"),
        "{} {}",
        saved.code,
        saved.err
    );
    let other = place.path("other.db");
    assert_eq!(run(&["sessions", "import", &out, "--db", &other], "").code, 0);
    let stats = run(&["sessions", "stats", "--json", "--db", &other], "").out;
    assert_eq!(serde_json::from_str::<Value>(&stats).unwrap()["messages"], 3);
    assert!(place.sessions(&["verify"]).out.contains("belongs to session one"));
}

#[test]
fn a_file_that_was_named_and_is_no_session_is_told_at_the_end() {
    let place = Place::new();
    let good = place.file("a.json", &conversation("talk", &["hello"]));
    let bad = place.file("b.json", "{\"no\": \"conversation\"}");
    let ended = place.sessions(&["import", &good, &bad, "--json"]);
    let tally: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((ended.code, &tally["sessions"]), (1, &1.into()));
    assert!(tally["refused"][0].as_str().unwrap().contains("b.json"));
    let own = place.sessions(&["import", &place.path("log.db")]);
    assert!(own.code == 2 && own.err.contains("is a log itself"), "{}", own.err);
}

#[test]
fn nobody_else_can_read_what_was_said() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let file = place.file("a.json", &conversation("talk", &["hello"]));
    place.sessions(&["import", &file, "--user", "ada"]);
    place.sessions(&["export", "-o", &place.path("out.jsonl")]);
    place.sessions(&["backup", &place.path("backup.db")]);
    for name in ["log.db", "out.jsonl", "backup.db"] {
        let mode = std::fs::metadata(place.path(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name}: {mode:o}");
    }
    assert_eq!(place.json(&["list", "--user", "ada"])["id"], "talk");
    assert_eq!(place.sessions(&["rename", "talk", "A title"]).code, 0);
    assert_eq!(place.json(&["show", "talk"])["title"], "A title");
    let nameless = run(&["sessions", "list", "--db", ""], "");
    assert!(nameless.code == 2 && nameless.err.contains("names no log"), "{}", nameless.err);
}

#[test]
fn compactions_become_generations_and_sub_agents_children() {
    let place = Place::new();
    let file = place.file("c.jsonl", &claude());
    let added = place.json(&["import", &file]);
    assert_eq!((&added["sessions"], &added["messages"]), (&2.into(), &6.into()));
    let shown = place.json(&["show", "c1"]);
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
    let child = &shown["children"][0];
    assert_eq!(
        (&child["relation"], &child["parent_context"], &child["messages"]),
        (&"sub-agent".into(), &"main".into(), &2.into())
    );
    let context = child["context_id"].as_str().unwrap();
    assert!(context.starts_with("subagent-") && context.len() == 17, "{context}");
    assert_eq!(place.json(&["import", &file])["messages"], 0);
    let table = place.sessions(&["show", "c1"]).out;
    assert!(
        table.contains("fold 1 after message 2: 178,144 →") && table.contains("└ sub-agent"),
        "{table}"
    );
}

#[test]
fn stored_sessions_are_planned_and_replayed_as_files_are() {
    let place = Place::new();
    place.sessions(&["import", &example()]);
    let id = place.json(&["list"])["id"].as_str().unwrap().to_owned();
    let figures = |ended: Ended| -> Value {
        assert_eq!(ended.code, 0, "{}", ended.err);
        serde_json::from_str::<Value>(&ended.out).unwrap()
    };
    let stored = figures(place.run(&["plan", &id, "--window", "3k", "--json"]));
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
    let stored = tables(place.run(&["replay", &id, "--policy", "auto,window", "--window", "2k"]));
    assert_eq!(
        stored,
        tables(run(&["replay", &example(), "--policy", "auto,window", "--window", "2k"], ""))
    );
    assert!(!stored.is_empty());
    assert_eq!(place.run(&["tokens", &id]).out, run(&["tokens", &example()], "").out);
}

#[test]
fn sessions_are_forked_rewound_and_compared() {
    let place = Place::new();
    let file =
        place.file("a.json", &conversation("talk", &["one", "two", "three", "four", "five"]));
    place.sessions(&["import", &file]);
    let fork = place.sessions(&["fork", "talk", "--at", "2", "--as", "other"]);
    assert_eq!((fork.code, fork.out.as_str()), (0, "other\n"));
    assert_eq!(place.sessions(&["rewind", "talk", "--by", "2"]).out, "talk: 5 → 3 messages\n");
    assert_eq!(place.sessions(&["rewind", "talk", "--turns", "1"]).out, "talk: 3 → 2 messages\n");
    assert_eq!(place.sessions(&["forward", "talk", "--by", "1"]).out, "talk: 2 → 3 messages\n");
    let diff = place.json(&["diff", "talk", "other"]);
    assert_eq!((&diff["shared"], &diff["left"]["entries"][0]["position"]), (&2.into(), &3.into()));
    let table = place.sessions(&["diff", "talk", "other"]).out;
    assert!(table.contains("they share 2 messages, up to: two"), "{table}");
    assert!(place.sessions(&["show", "talk"]).out.contains("left at message 3: 5 messages"));
    assert_eq!(
        place.sessions(&["show", "talk", "--message", "2"]).out,
        "{\"role\":\"assistant\",\"content\":\"two\"}\n"
    );
    let refused = place.sessions(&["rewind", "talk", "--to", "9"]);
    assert_eq!((refused.code, refused.err.contains("no such place to go back to")), (2, true));
}

#[test]
fn an_export_is_complete() {
    let place = Place::new();
    let file = place.file("c.jsonl", &claude());
    place.sessions(&["import", &file]);
    let out = place.path("out.jsonl");
    assert_eq!(place.sessions(&["export", "-o", &out]).code, 0);
    assert_eq!(
        place.sessions(&["export", "-o", &out]).code,
        2,
        "a file that is there is not written over"
    );
    let other = place.path("other.db");
    let imported = run(&["sessions", "import", &out, "--db", &other, "--json"], "");
    assert_eq!(serde_json::from_str::<Value>(&imported.out).unwrap()["messages"], 6);
    let exported = run(&["sessions", "export", "c1", "--db", &other], "");
    assert_eq!(exported.out, place.sessions(&["export", "c1"]).out);
    let backup = place.path("backup.db");
    assert_eq!(place.sessions(&["backup", &backup]).code, 0);
    assert_eq!(run(&["sessions", "export", "c1", "--db", &backup], "").out, exported.out);
}

#[test]
fn a_session_can_be_written_for_people_to_read() {
    let place = Place::new();
    let file = place.file("t.json", &conversation("talk", &["how high?", "4.2 m"]));
    place.sessions(&["import", &file]);
    let told = place.sessions(&["export", "talk", "--markdown"]);
    assert_eq!(told.code, 0, "{}", told.err);
    assert!(told.out.starts_with("# how high?\n\n*talk · gpt-4o · "), "{}", told.out);
    assert!(
        told.out.contains("\n\nhow high?\n\n## ") && told.out.contains("\n\n4.2 m\n"),
        "{}",
        told.out
    );
    let nowhere =
        place.sessions(&["export", "talk", "-o", &place.path("nowhere/talk.md"), "--markdown"]);
    assert!(
        nowhere.code == 2
            && nowhere.err.contains("cannot write")
            && !nowhere.err.contains("nowhere/.tmp"),
        "{}",
        nowhere.err
    );
}

#[test]
fn nothing_is_deleted_without_a_yes() {
    let place = Place::new();
    let file = place.file("a.json", &conversation("talk", &["one", "two"]));
    place.sessions(&["import", &file]);
    let would = place.sessions(&["erase", "talk"]);
    assert!(
        would.out.contains("would erase talk") && would.out.contains("nothing was deleted"),
        "{}",
        would.out
    );
    assert_eq!(place.json(&["stats"])["messages"], 2);
    assert_eq!(place.json(&["clean"])["sessions"], Value::Array(Vec::new()));
    let idle = place.json(&["clean", "--idle", "0"]);
    assert_eq!((&idle["done"], &idle["messages"]), (&false.into(), &2.into()));
    let erased = place.json(&["erase", "talk", "--yes"]);
    assert_eq!((&erased["done"], &erased["messages"]), (&true.into(), &2.into()));
    assert_eq!(place.json(&["stats"])["messages"], 0);
    assert_eq!(place.sessions(&["list"]).out, "no sessions\n");
}

#[test]
fn only_workspaces_that_name_their_session_are_removed() {
    let place = Place::new();
    let file = place.file("a.json", &conversation("talk", &["one"]));
    place.sessions(&["import", &file]);
    let lines = place.sessions(&["export"]).out;
    let (mine, other) =
        (r#"{"session":"talk","created_at":""}"#, r#"{"session":"else","created_at":""}"#);
    for (name, marker) in [("mine", mine), ("other", other), ("odd", "not json")] {
        let folder = place.path(name);
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(format!("{folder}/workspace.json"), marker).unwrap();
        let changed =
            lines.replace("\"state\":{", &format!("\"state\":{{\"workspace_path\":\"{folder}\","));
        let (export, db) = (place.file("e.jsonl", &changed), place.path(&format!("{name}.db")));
        assert_eq!(run(&["sessions", "import", &export, "--db", &db], "").code, 0);
        // A file from elsewhere names no folder of this machine.
        let log = Log::open(&db).unwrap();
        let mut session = log.session("talk").unwrap();
        assert_eq!(session.workspace, None);
        session.workspace = Some(folder.clone());
        log.save(&session).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(2));
        let cleaned = run(&["sessions", "clean", "--workspaces", "0", "--yes", "--db", &db], "");
        assert_eq!(cleaned.code, 0, "{}", cleaned.err);
        assert_eq!(std::path::Path::new(&folder).exists(), name != "mine", "{name}");
        assert_eq!(
            cleaned.out.contains("it is not the workspace of session talk"),
            name != "mine",
            "{}",
            cleaned.out
        );
    }
}

/// The log, ten days ago.
fn ten_days_ago(db: &str) -> Log {
    let clock = || {
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
        i64::try_from(now.as_millis()).unwrap() - 10 * 86_400_000
    };
    Log::open_with(db, &Options::default().with_clock(clock)).unwrap()
}

/// Roles and sub-agents work in the folder of another session.
#[test]
fn a_workspace_that_another_session_works_in_stays() {
    let place = Place::new();
    let (db, folder) = (place.path("log.db"), place.path("shared"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(format!("{folder}/workspace.json"), r#"{"session":"owner","created_at":""}"#)
        .unwrap();
    let works_there = |log: &Log, id: &str| {
        let mut session = log.create(Session::new(id)).unwrap();
        session.workspace = Some(folder.clone());
        log.save(&session).unwrap();
    };
    let is_there = || std::path::Path::new(&folder).exists();
    works_there(&ten_days_ago(&db), "owner");
    works_there(&Log::open(&db).unwrap(), "role");
    let cleaned = place.sessions(&["clean", "--idle", "30", "--workspaces", "7", "--yes"]);
    assert!(cleaned.code == 0 && is_there(), "{}{}", cleaned.out, cleaned.err);
    let erased = place.sessions(&["erase", "owner", "--yes"]);
    assert!(erased.code == 0 && is_there(), "{}{}", erased.out, erased.err);
}

/// A command may write what it likes into a workspace, and an owner may go before the roles that
/// work in its folder.
#[test]
fn folders_go_with_the_last_session_that_works_in_them() {
    let place = Place::new();
    let (db, folders) = (place.path("log.db"), place.path("ws"));
    std::fs::create_dir(place.path("waterline")).unwrap();
    place.file("waterline/config.toml", &format!("[agent]\nworkspaces = \"{folders}\"\n"));
    let sessions = |arguments: &[&str]| {
        let mut command = waterline();
        command
            .env("XDG_CONFIG_HOME", place.0.path())
            .arg("sessions")
            .args(arguments)
            .args(["--db", &db]);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let works_in = |id: &str, folder: &str, owner: Option<&str>| {
        let log = ten_days_ago(&db);
        let mut session = log.create(Session::new(id)).unwrap();
        let path = format!("{folders}/{folder}");
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(format!("{path}/workspace.json"), "a command wrote this").unwrap();
        session.workspace = Some(path);
        if let Some(owner) = owner {
            session.local.insert("workspace_of".to_owned(), Value::from(owner));
        }
        log.save(&session).unwrap();
    };
    let is_there = |folder: &str| std::path::Path::new(&format!("{folders}/{folder}")).exists();
    works_in("owner", "owner", None);
    works_in("role", "owner", Some("owner"));
    works_in("odd", "elsewhere", None);
    let erased = sessions(&["erase", "owner", "--yes"]);
    assert!(erased.contains("erased owner") && is_there("owner"), "a role works in it: {erased}");
    let cleaned = sessions(&["clean", "--idle", "5", "--workspaces", "30", "--yes"]);
    assert!(cleaned.contains("erased role") && !is_there("owner"), "{cleaned}");
    let told = cleaned.contains("elsewhere: it is not the workspace of session odd");
    assert!(told && is_there("elsewhere"), "{cleaned}");
}

#[test]
fn the_config_says_when_sessions_are_old() {
    let place = Place::new();
    let db = place.path("log.db");
    ten_days_ago(&db).create(Session::new("old")).unwrap();
    std::fs::create_dir(place.path("waterline")).unwrap();
    let would_go = |config: &str| {
        place.file("waterline/config.toml", config);
        let mut command = waterline();
        command.env("XDG_CONFIG_HOME", place.0.path()).args(["sessions", "clean", "--db", &db]);
        String::from_utf8(command.output().unwrap().stdout).unwrap().contains("would erase old")
    };
    assert!(!would_go(""), "30 days if nothing is said");
    assert!(would_go("[agent]\nsession_days = 5\n"));
}

#[test]
fn messages_are_searched_in_any_language() {
    let place = Place::new();
    let file = place.file(
        "a.json",
        &conversation("talk", &["请升级数据库", "done: see upgrade_index.rs", "thanks"]),
    );
    place.sessions(&["import", &file]);
    assert!(place.sessions(&["search", "数据库"]).out.starts_with("talk       1  user"));
    assert!(place.sessions(&["search", "upgrade", "index"]).out.contains("upgrade_index.rs"));
    let nothing = place.sessions(&["search", "absent"]);
    assert_eq!((nothing.code, nothing.out.as_str()), (1, "nothing found\n"));
}

#[test]
fn bad_input_is_told_in_a_sentence() {
    let place = Place::new();
    let says = |arguments: &[&str], words: &str| {
        let ended = place.sessions(arguments);
        assert!(
            ended.code == 2 && ended.err.contains(words),
            "{arguments:?}: {} {}",
            ended.code,
            ended.err
        );
        assert_eq!(ended.err.trim_end().lines().count(), 1, "{}", ended.err);
    };
    says(&["list"], "there is no log at");
    let file = place.file("a.json", &conversation("talk", &["one"]));
    place.sessions(&["import", &file]);
    says(&["show", "nobody"], "there is no session \"nobody\"");
    says(&["rewind", "talk", "--message", "zz"], "has no message zz");
    says(&["show", "talk", "--message", "7"], "has no message 7");
    let broken = place.file("broken.jsonl", "{\"waterline\":1}\n{\"message\":{}}\n");
    says(&["import", &broken], "line 2");
    let empty = place.file("empty.json", "");
    says(&["import", &empty], "the file is empty");
    let unknown = run(&["sessions", "list", "--db", "mysql://u:secret@h/d"], "");
    assert!(unknown.code == 2 && unknown.err.contains("no address of a log"), "{}", unknown.err);
    assert!(!unknown.err.contains("secret"), "{}", unknown.err);
    let foreign = place.file("notes.db", &"these are notes\n".repeat(400));
    let refused = run(&["sessions", "list", "--db", &foreign], "");
    assert!(refused.code == 2 && refused.err.contains("is no log"), "{}", refused.err);
}

#[test]
fn a_damaged_log_fails_verification() {
    let place = Place::new();
    let file = place.file("a.json", &conversation("talk", &["an unmistakable sentence", "two"]));
    place.sessions(&["import", &file]);
    assert_eq!(
        place.sessions(&["verify"]).out,
        "2 messages, 1 session, 0 artifacts: as they were stored\n"
    );
    let mut bytes = std::fs::read(place.path("log.db")).unwrap();
    let at = bytes.windows(12).position(|window| window == b"unmistakable").unwrap();
    bytes[at] = b'U';
    std::fs::write(place.path("log.db"), bytes).unwrap();
    let found = place.sessions(&["verify"]);
    assert!(found.code == 1 && found.out.contains("wrong: "), "{} {}", found.code, found.out);
}
