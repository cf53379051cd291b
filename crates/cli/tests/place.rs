//! Where the agent works, what it leaves behind, and commands that need no server.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod world;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use waterline_log::{Filter, Log, Options, Session};
use waterline_testkit::script::{Line, calls, says};
use world::World;

fn write(path: &str) -> Line {
    calls("write_file", json!({"path": path, "content": "x"}))
}

/// Returns `waterline run` in a directory of the world.
fn run_in(world: &World, directory: &str, more: &[&str]) -> Command {
    let mut command = world.command("run", &[&["go"], more].concat());
    std::fs::create_dir_all(world.path(directory)).unwrap();
    command.current_dir(world.path(directory));
    command
}

fn ended(mut command: Command) -> (i32, String, String) {
    World::ended(&mut command)
}

/// Returns the sessions of the log.
fn sessions(world: &World) -> Vec<Session> {
    let log = Log::open(world.path("log.db").to_str().unwrap()).unwrap();
    log.sessions(&Filter::default()).unwrap()
}

#[test]
fn run_works_in_a_git_work_tree_and_elsewhere_in_a_private_workspace() {
    let world = World::new(vec![
        write("a.txt"),
        says("one"),
        write("a.txt"),
        says("two"),
        write("b.txt"),
        says("three"),
        write("a.txt"),
        says("four"),
    ]);
    std::fs::create_dir_all(world.path("tide/.git")).unwrap();
    world.write("tide/AGENTS.md", "Use tabs.");
    let (code, _, err) = ended(run_in(&world, "tide", &["--yes"]));
    assert!(code == 0 && world.path("tide/a.txt").is_file(), "{err}");
    assert!(world.last_request()[0].contains("Use tabs."));
    let (code, _, err) = ended(run_in(&world, "notes", &["--yes"]));
    assert!(code == 0 && !world.path("notes/a.txt").exists(), "{err}");
    // Without a terminal and without --yes, no file of the project is changed.
    let (_, _, err) = ended(run_in(&world, "tide", &[]));
    assert!(!world.path("tide/b.txt").exists(), "{err}");
    assert!(world.last_request().last().unwrap().contains("no one is available"));
    std::fs::remove_file(world.path("tide/a.txt")).unwrap();
    let (code, _, err) = ended(run_in(&world, "tide", &["--yes", "--workspace", "private"]));
    assert!(code == 0 && !world.path("tide/a.txt").exists(), "{err}");
    assert!(!world.last_request()[0].contains("Use tabs."));
}

/// The kernel keeps a command from changing a project that the user did not open for changes.
#[test]
fn a_command_without_approval_only_reads_the_project() {
    let command = "cat note.txt && echo changed > note.txt";
    let world =
        World::new(vec![calls("run_bash_command", json!({"command": command})), says("done")]);
    std::fs::create_dir_all(world.path("tide/.git")).unwrap();
    world.write("tide/note.txt", "low water\n");
    let (code, _, err) = ended(run_in(&world, "tide", &[]));
    assert_eq!(code, 0, "{err}");
    let result = world.last_request().pop().unwrap();
    if waterline_sandbox::support() == waterline_sandbox::Support::Full {
        assert!(
            result.contains("low water") && result.contains("had read-only access"),
            "{result}"
        );
    }
    assert_eq!(std::fs::read_to_string(world.path("tide/note.txt")).unwrap(), "low water\n");
}

/// The flag of this run counts, although the session worked in the directory before.
#[test]
fn a_read_only_grant_holds_in_a_session_that_worked_there() {
    let world = World::new(vec![write("a.txt"), says("one"), write("b.txt"), says("two")]);
    std::fs::create_dir_all(world.path("tide/.git")).unwrap();
    let (code, _, err) = ended(run_in(&world, "tide", &["--yes", "--session", "s"]));
    assert!(code == 0 && world.path("tide/a.txt").is_file(), "{err}");
    let flags = ["--yes", "--session", "s", "--allow-dir", ".:ro"];
    let (code, _, err) = ended(run_in(&world, "tide", &flags));
    assert!(code == 0 && !world.path("tide/b.txt").exists(), "{err}");
    let result = world.last_request().pop().unwrap();
    assert!(result.contains("read-only"), "{result}");
}

#[test]
fn a_server_that_cannot_be_reached_is_named_as_such() {
    let world = World::new(Vec::new());
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (code, _, err) = world.plain(&["run", "hi", "--base-url", &format!("http://{free}")]);
    assert!(code == 2 && err.contains(&format!("{free}: connection refused")), "{err}");
    let (code, _, err) = world.plain(&["run", "hi", "--base-url", "foo"]);
    assert!(code == 2 && err.contains("foo") && !err.contains("models"), "{err}");
}

#[test]
fn plan_finds_a_session_in_the_default_log() {
    let world = World::new(Vec::new());
    let (code, ..) = world.plain(&["run", "hello", "--session", "mill", "--model", "offline"]);
    assert_eq!(code, 0);
    let (code, out, err) = world.plain(&["plan", "mill"]);
    assert!(code == 0 && out.contains("mill"), "{out}{err}");
    let (code, _, err) = world.plain(&["plan", "weir"]);
    assert!(code == 2 && err.contains("neither a file nor a session"), "{err}");
}

/// Runs a chat without a terminal on these lines.
fn chat(world: &World, lines: &str) -> String {
    let mut child =
        world.command("chat", &[]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    assert!(child.wait().unwrap().success(), "{out}");
    out
}

#[test]
fn a_session_without_messages_is_not_kept() {
    let world = World::new(vec![says("hello")]);
    chat(&world, "");
    chat(&world, "/new\n/new\n/fork\n");
    assert!(sessions(&world).is_empty(), "{:?}", sessions(&world));
    let workspaces = world.path(".local/share/waterline/workspaces");
    assert_eq!(std::fs::read_dir(&workspaces).unwrap().count(), 0);
    // A session with a message is kept, also if the message was undone.
    let out = chat(&world, "hi\n/undo\n/new\n/new\n");
    assert_eq!(sessions(&world).len(), 1, "{out}");
}

/// A server that lists one model until it is stopped.
fn listing_server() -> (String, Arc<AtomicBool>, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let stops = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stops);
    let serve = move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            if stopped.load(Ordering::SeqCst) {
                return;
            }
            let mut head = BufReader::new(connection.try_clone().unwrap());
            let mut line = String::new();
            while head.read_line(&mut line).is_ok_and(|read| read > 2) {
                line.clear();
            }
            let body = r#"{"data":[{"id":"tiny"}],"n_ctx":32768}"#;
            let length = body.len();
            let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}");
            drop(write!(connection, "{head}\r\n\r\n{body}"));
        }
    };
    (url, stops, std::thread::spawn(serve))
}

#[test]
fn the_greeting_of_the_offline_model_names_the_variables() {
    let world = World::new(Vec::new());
    let mut program = world.program();
    program.args(["chat", "--db", "log.db", "--model", "offline"]).stdin(Stdio::null());
    let out = program.output().unwrap();
    let shown = String::from_utf8_lossy(&out.stdout);
    assert!(shown.contains("Set ANTHROPIC_API_KEY") && shown.contains("docs/models.md"), "{shown}");
}

/// The window of a model decides what a summary or a fallback can be given.
#[test]
fn fallback_models_and_the_summarizer_have_the_windows_of_their_servers() {
    let world = World::new(Vec::new());
    let (url, stops, server) = listing_server();
    let text = format!(
        "model = \"offline\"\nfallback = [\"tiny\"]\nsummariser = \"tiny\"\n\
         [models.tiny]\nbase_url = \"{url}\"\nwire = \"openai-chat\"\n"
    );
    world.write(".config/waterline/config.toml", &text);
    let home = world.path("");
    let environment = waterline_config::Environment::new(&home, [("HOME", &home)]);
    let config = waterline_config::Config::load(Arc::new(environment)).unwrap();
    let overrides = waterline_config::Overrides::default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let log = Log::open(world.path("log.db").to_str().unwrap()).unwrap();
    let start = waterline_agent::Start::New;
    let assembled =
        runtime.block_on(waterline_config::Assembly::new(config, overrides, log, start));
    let (assembly, _) = assembled.unwrap();
    let session = assembly.agent_config().unwrap().session;
    for target in session.fallback.iter().chain(&session.summariser) {
        assert_eq!(target.about.window, 32_768, "{}", target.name);
    }
    assert_eq!((session.fallback.len(), session.summariser.is_some()), (1, true));
    stops.store(true, Ordering::SeqCst);
    drop(std::net::TcpStream::connect(url.trim_start_matches("http://")));
    server.join().unwrap();
}

#[test]
fn local_commands_need_no_server() {
    let world = World::new(Vec::new());
    let (url, stops, server) = listing_server();
    let mut program = world.program();
    program.args(["chat", "--db", "log.db", "--session", "mill", "--base-url", &url]);
    let mut child = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut shown = String::new();
    while !shown.contains("model tiny") {
        assert!(out.read_line(&mut shown).unwrap() > 0, "{shown}");
    }
    stops.store(true, Ordering::SeqCst);
    drop(std::net::TcpStream::connect(url.trim_start_matches("http://")));
    server.join().unwrap();
    let mut lines = child.stdin.take().unwrap();
    lines
        .write_all(b"/fork\n/undo\n/new\n/config fold.high 50%\n/model other\n/load mill\n")
        .unwrap();
    drop(lines);
    out.read_to_string(&mut shown).unwrap();
    assert!(child.wait().unwrap().success(), "{shown}");
    for expected in ["Now in the fork", "cannot undo", "fold.low is now 46%", "other", "mill"] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    // It could not be asked how large the window of the other model is, which is not an answer.
    assert!(!shown.contains("other: the context window is unknown"), "{shown}");
    assert!(!shown.contains("which models") && !shown.contains("refused"), "{shown}");
}

/// Creates a session that was not used for ten days, with files in its workspace.
fn old_session(world: &World) {
    let clock = || {
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
        i64::try_from(now.as_millis()).unwrap() - 10 * 86_400_000
    };
    let options = Options::default().with_clock(clock);
    let log = Log::open_with(world.path("log.db").to_str().unwrap(), &options).unwrap();
    world.write(".local/share/waterline/workspaces/old/outputs/report.md", "results");
    world.write(".local/share/waterline/workspaces/old/temp/scratch.txt", "scratch");
    let mut session = Session::new("old");
    let workspace = world.path(".local/share/waterline/workspaces/old");
    session.workspace = Some(workspace.display().to_string());
    log.create(session).unwrap();
}

#[test]
fn workspaces_are_removed_at_start_only_if_the_config_says_so() {
    let world = World::new(Vec::new());
    old_session(&world);
    let scratch = world.path(".local/share/waterline/workspaces/old/temp/scratch.txt");
    let report = world.path(".local/share/waterline/workspaces/old/outputs/report.md");
    // The clean-up runs in the background: a command on the log comes after it.
    chat(&world, "/sessions\n/recall nothing\n");
    assert!(scratch.exists() && report.exists(), "nothing is deleted unasked");
    world.write(".config/waterline/config.toml", "[agent]\nworkspace_days = 7\n");
    let mut child =
        world.command("chat", &[]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    world::until("the configured clean-up", || !scratch.exists());
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert!(report.exists(), "results are never part of a clean-up");
    let (_, out, _) = world.plain(&["sessions", "clean", "--db", "log.db", "--json"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(found["workspaces"], json!([]), "only results are left there");
}
