//! The program is killed at each step of a turn and the session is resumed in the next process:
//! nothing is lost and nothing runs twice.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod world;

use std::process::{Child, Stdio};

use serde_json::json;
use waterline_testkit::script::{Line, calls, says};
use world::{World, until};

const SESSION: [&str; 2] = ["--session", "s"];

fn start(world: &World, text: &str) -> Child {
    let mut command = world.command("run", &[&SESSION[..], &[text]].concat());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Kills the process with SIGKILL.
fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Resumes the session in a new process; returns its output.
fn resume(world: &World) -> String {
    let (code, out, err) = world.run("chat", &["--resume", "s"]);
    assert_eq!(code, 0, "{err}");
    out
}

/// Returns the messages of the session.
fn messages(world: &World) -> String {
    let (_, out, _) = world.plain(&["sessions", "show", "s", "--db", "log.db"]);
    out
}

#[test]
fn killed_before_the_model_answered() {
    let world = World::new(vec![Line::Hangs, says("four metres")]);
    let child = start(&world, "how high?");
    until("the request", || world.server.received().len() == 1);
    kill(child);
    let out = resume(&world);
    assert!(out.contains("Resuming the interrupted turn") && out.contains("four metres"), "{out}");
    let sent = world.last_request();
    assert_eq!(sent.iter().filter(|message| message.contains("how high?")).count(), 1, "{sent:?}");
}

/// A started call is answered as interrupted, and never run again blindly.
#[test]
fn killed_while_a_tool_ran() {
    let command = "echo ran >> count; sleep 60";
    let world = World::new(vec![
        calls("run_bash_command", json!({"command": command})),
        says("then I look first"),
    ]);
    let child = start(&world, "do it");
    let count = world.path(".local/share/waterline/workspaces/s/count");
    until("the tool", || count.exists());
    kill(child);
    let out = resume(&world);
    assert!(out.contains("then I look first"), "{out}");
    assert_eq!(std::fs::read_to_string(&count).unwrap(), "ran\n", "run once");
    assert!(
        world
            .last_request()
            .last()
            .unwrap()
            .contains("interrupted: the process exited while this call was running")
    );
}

/// A finished call keeps its result; only the running one is interrupted.
#[test]
fn killed_between_two_tools_of_a_step() {
    let two = Line::Calls(vec![
        ("write_file", json!({"path": "a.txt", "content": "a"})),
        ("run_bash_command", json!({"command": "touch started; sleep 60"})),
        ("write_file", json!({"path": "b.txt", "content": "b"})),
    ]);
    let world = World::new(vec![two, says("all known")]);
    let child = start(&world, "do both");
    let workspace = world.path(".local/share/waterline/workspaces/s");
    until("the second tool", || workspace.join("started").exists());
    kill(child);
    resume(&world);
    let last = world.last_request();
    let results: Vec<&String> =
        last.iter().filter(|message| message.contains("\"tool\"")).collect();
    assert_eq!(results.len(), 3, "{last:?}");
    assert!(
        results[0].contains("Created a.txt")
            && results[1].contains("interrupted")
            && results[2].contains("Created b.txt"),
        "{results:?}"
    );
}

#[test]
fn killed_after_the_tools_before_the_next_answer() {
    let world = World::new(vec![
        calls("run_bash_command", json!({"command": "echo ran >> count"})),
        Line::Hangs,
        says("it ran"),
    ]);
    let child = start(&world, "do it");
    until("the second request", || world.server.received().len() == 2);
    kill(child);
    assert!(resume(&world).contains("it ran"));
    let count = world.path(".local/share/waterline/workspaces/s/count");
    assert_eq!(std::fs::read_to_string(count).unwrap(), "ran\n");
    let last = world.last_request();
    assert_eq!(last.iter().filter(|message| message.contains("\"tool\"")).count(), 1, "{last:?}");
}

#[test]
fn after_the_answer_there_is_nothing_to_resume() {
    let world = World::new(vec![says("four metres")]);
    let (code, out, _) = world.run("run", &[&SESSION[..], &["how high?"]].concat());
    assert_eq!((code, out.as_str()), (0, "four metres\n"));
    resume(&world);
    assert_eq!(world.server.received().len(), 1, "no second request");
    let (code, _, err) = world.run("run", &[&SESSION[..], &["--again"]].concat());
    assert!(code == 2 && err.contains("nothing to resume"), "{err}");
    assert!(messages(&world).contains("how high?"));
}

/// A question outlives the process; another process answers it.
#[test]
fn a_question_waits_for_another_process() {
    let ask = calls("ask_human", json!({"question": "Which harbor?"}));
    let world = World::new(vec![ask, says("North it is.")]);
    let (code, _, err) = world.run("run", &[&SESSION[..], &["plan it"]].concat());
    assert_eq!(code, 3, "{err}");
    assert!(err.contains("Which harbor?") && err.contains("waterline run --session s"), "{err}");
    let (code, out, _) = world.run("run", &[&SESSION[..], &["north"]].concat());
    assert_eq!((code, out.as_str()), (0, "North it is.\n"));
    assert!(world.last_request().last().unwrap().contains("north"));
}

/// A running sub-agent is answered as interrupted; its messages are kept.
#[test]
fn killed_while_a_sub_agent_worked() {
    let world = World::new(vec![
        calls("call_subagent", json!({"task": "look below"})),
        Line::Hangs,
        says("I start over"),
    ]);
    let child = start(&world, "look");
    until("the request of the sub-agent", || world.server.received().len() == 2);
    kill(child);
    assert!(resume(&world).contains("I start over"));
    assert!(world.last_request().last().unwrap().contains("interrupted"));
    let (_, out, _) = world.plain(&["sessions", "list", "--db", "log.db"]);
    assert!(out.contains("look below"), "{out}");
}

/// An answer reached its token limit and was being continued.
#[test]
fn killed_while_a_truncated_answer_was_continued() {
    let world = World::new(vec![Line::Cut("The tide ".to_owned()), Line::Hangs, says("is 4.2 m.")]);
    let child = start(&world, "how high?");
    until("the second request", || world.server.received().len() == 2);
    kill(child);
    assert!(resume(&world).contains("is 4.2 m."));
    assert!(world.last_request().last().unwrap().contains("Continue exactly where it stopped"));
    resume(&world);
    assert_eq!(world.server.received().len(), 3, "the turn is finished");
}

/// A chat that is killed before the first message leaves a session that is not listed, and that the
/// next chat removes. A chat that is still open keeps its session.
#[test]
fn a_killed_chat_without_a_message_leaves_no_session() {
    let world = World::new(vec![says("four metres")]);
    let open = |id: &str| {
        let shown = std::fs::File::create(world.path(id)).unwrap();
        let mut chat = world.command("chat", &["--session", id]);
        chat.stdin(Stdio::piped()).stdout(shown.try_clone().unwrap()).stderr(shown);
        chat.spawn().unwrap()
    };
    let workspace = |id: &str| world.path(".local/share/waterline/workspaces").join(id);
    let [killed, mut waiting] = ["killed", "waiting"].map(open);
    let log = || waterline_log::Log::open(world.path("log.db").to_str().unwrap()).unwrap();
    for id in ["killed", "waiting"] {
        let shown = || std::fs::read_to_string(world.path(id)).unwrap();
        until("the greeting", || shown().contains(id) && log().session(id).is_ok());
    }
    kill(killed);
    let listed = || world.plain(&["sessions", "list", "--db", "log.db"]).1;
    assert!(!listed().contains("killed") && !listed().contains("waiting"), "{}", listed());
    // As if they were from yesterday.
    for id in ["killed", "waiting"] {
        log().set_active(id, log().now() - 86_400_000).unwrap();
    }
    let mut next = open("next");
    until("the removal", || log().session("killed").is_err() && !workspace("killed").exists());
    assert!(log().session("waiting").is_ok() && workspace("waiting").exists());
    let mut typed = waiting.stdin.take().unwrap();
    std::io::Write::write_all(&mut typed, b"how high?\n").unwrap();
    drop(typed);
    assert!(waiting.wait().unwrap().success());
    assert!(listed().contains("how high?"), "{}", listed());
    drop(next.stdin.take());
    next.wait().unwrap();
}

/// Returns a world with a session whose turn was interrupted before the model answered.
fn interrupted() -> World {
    let world = World::new(vec![Line::Hangs, says("four metres")]);
    let child = start(&world, "how high?");
    until("the request", || world.server.received().len() == 1);
    kill(child);
    world
}

/// The address was named by a flag of the killed process, which is not repeated.
#[test]
fn an_interrupted_turn_resumes_at_the_server_that_the_session_used() {
    let world = interrupted();
    let (code, out, err) = world.plain(&["run", "--resume", "s", "--db", "log.db"]);
    assert!(code == 0 && out.contains("four metres"), "{out}{err}");
    let note = format!("Continuing with m at {}", world.server.url);
    assert!(err.contains(&note), "{err}");
    // A flag that names another model wins.
    let (code, out, err) =
        world.plain(&["run", "and now?", "--session", "s", "--db", "log.db", "--model", "offline"]);
    assert!(code == 0 && !err.contains("Continuing with"), "{out}{err}");
    assert_eq!(world.server.received().len(), 2);
}

/// A log may come from someone else, whose server is not the user's.
#[test]
fn an_address_that_the_user_of_this_machine_did_not_give_is_not_used() {
    let world = interrupted();
    std::fs::remove_file(world.path(".local/share/waterline/servers.json")).unwrap();
    let (code, _, err) = world.plain(&["run", "--resume", "s", "--db", "log.db"]);
    assert!(code == 2 && err.contains("the interrupted turn began with m"), "{err}");
    assert_eq!(world.server.received().len(), 1);
}

/// Forks, exports and imports have no address, so that a session from elsewhere cannot send the
/// conversation anywhere. The offline model does not answer in place of the real one unasked.
#[test]
fn a_turn_whose_model_is_missing_is_not_continued_by_the_offline_model() {
    let world = interrupted();
    let (_, exported, _) = world.plain(&["sessions", "export", "s", "--db", "log.db"]);
    assert!(!exported.contains(&world.server.url), "{exported}");
    world.write("s.jsonl", &exported);
    let (code, _, err) = world.plain(&["sessions", "import", "s.jsonl", "--db", "other.db"]);
    assert_eq!(code, 0, "{err}");
    for command in ["run", "chat"] {
        let (code, out, err) = world.plain(&[command, "--resume", "s", "--db", "other.db"]);
        assert!(code == 2 && err.contains("the interrupted turn began with m"), "{out}{err}");
    }
    let flags = ["run", "--resume", "s", "--db", "other.db", "--model", "offline"];
    let (code, _, err) = world.plain(&flags);
    assert_eq!(code, 0, "the user asked for it: {err}");
    assert_eq!(world.server.received().len(), 1);
}
