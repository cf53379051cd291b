//! Agents that work in a directory of the user: paths, the same head in every session, the first
//! change, instruction files.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod test_bed;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use test_bed::{Line, TestBed, bash, calls, model, says, sent};
use waterline::policy::Policy;
use waterline_agent::approval::Mode;
use waterline_agent::mention::attach;
use waterline_agent::role::{self, Role};
use waterline_agent::{
    Agent, AgentConfig, ApprovalReply, InstructionFiles, UserInput, WorkingDirectory,
};
use waterline_log::Session;
use waterline_sandbox::Grant;
use waterline_testkit::scripted::Scripted;

/// Creates a project with one file.
fn project(bed: &TestBed) -> PathBuf {
    let path = bed.directory.path().canonicalize().unwrap().join("project");
    std::fs::create_dir_all(path.join("src")).unwrap();
    std::fs::write(path.join("src/clock.py"), "utc = 0\n").unwrap();
    path
}

/// Returns the configuration of an agent that works in a project.
fn config(bed: &TestBed, server: &Scripted, project: &Path) -> AgentConfig {
    let grant = Grant::new(project, true);
    let mut config = bed.config(server);
    config.directory = Some(WorkingDirectory { path: project.to_owned(), grant });
    config.instructions =
        InstructionFiles::new(None, Some((project.to_owned(), project.to_owned())));
    config
}

fn write(path: &str) -> Line {
    calls("write_file", json!({"path": path, "content": "x"}))
}

/// Returns the system prompt and the tools of a request, as they were sent.
fn head(body: &str) -> String {
    let body: Value = serde_json::from_str(body).unwrap();
    format!("{}{}", body["messages"][0], body["tools"])
}

/// Returns the reasons of the requests for approval so far.
fn asked(bed: &TestBed) -> Vec<String> {
    bed.watcher.requests.lock().unwrap().iter().map(|request| request.reason.to_string()).collect()
}

fn reply(bed: &TestBed, replies: &[ApprovalReply]) {
    bed.watcher.replies.lock().unwrap().extend(replies.iter().cloned());
}

#[tokio::test]
async fn relative_paths_and_commands_start_in_the_project() {
    let bed = TestBed::new();
    let project = project(&bed);
    let server = model(vec![write("src/new.py"), bash("pwd; ls src"), says("done")]);
    let mut config = config(&bed, &server, &project);
    config.approval.mode = Mode::None;
    let mut agent = bed.open(config).await;
    agent.turn(UserInput::new("go")).await.unwrap();
    assert!(project.join("src/new.py").is_file());
    let story = bed.story("s");
    let listed = format!("tool: {}\nclock.py\nnew.py", project.display());
    assert_eq!(story[4], listed);
    assert!(bed.workspace().join("outputs").is_dir(), "the private directory is where it was");
    assert!(!project.join("outputs").exists() && !project.join("workspace.json").exists());
}

/// Providers cache the start of a prompt: a second session must not pay for it again.
#[tokio::test]
async fn sessions_of_a_project_start_with_the_same_bytes() {
    let bed = TestBed::new();
    let project = project(&bed);
    std::fs::write(project.join("AGENTS.md"), "Use tabs.").unwrap();
    let lines =
        || vec![calls("call_subagent", json!({"task": "look"})), says("below"), says("done")];
    let mut heads = Vec::new();
    let mut firsts = Vec::new();
    for id in ["s", "another"] {
        if id != "s" {
            bed.log().create(Session::new(id)).unwrap();
        }
        let server = model(lines());
        let mut config = config(&bed, &server, &project);
        config.apply_settings().unwrap();
        let mut agent = Agent::open(bed.log(), id, config, bed.watcher.clone()).await.unwrap();
        agent.turn(UserInput::new("go")).await.unwrap();
        let received = server.received();
        heads.extend([head(&received[0].body), head(&received[1].body)]);
        firsts.extend([0, 1].map(|at| sent(&received[at])[1].to_string()));
    }
    assert!(heads.iter().all(|head| *head == heads[0]), "{heads:#?}");
    assert!(heads[0].contains("Use tabs."), "{}", heads[0]);
    let shown = project.display().to_string();
    assert!(!heads[0].contains(&shown), "{}", heads[0]);
    let working = format!("Working directory: {shown}");
    assert!(firsts.iter().all(|first| first.contains(&working)), "{firsts:#?}");
    assert_ne!(firsts[0], firsts[2], "each session has its own private directory");
}

#[tokio::test]
async fn the_directories_are_named_again_if_they_change_and_after_a_fold() {
    let bed = TestBed::new();
    let project = project(&bed);
    let server = model(Vec::new());
    let mut agent = bed.open(config(&bed, &server, &project)).await;
    let named = |at: usize| {
        let messages = sent(&server.received()[at]);
        messages.last().unwrap()["content"].to_string().contains("Working directory: ")
    };
    agent.turn(UserInput::new("one")).await.unwrap();
    agent.turn(UserInput::new("two")).await.unwrap();
    assert!(named(0) && !named(1), "once per session");
    drop(agent);
    let mut moved = config(&bed, &server, &project);
    moved.directory.as_mut().unwrap().path = project.join("src");
    let mut agent = bed.open(moved).await;
    agent.turn(UserInput::new("three")).await.unwrap();
    assert!(named(2), "the session continues in another directory");
    for _ in 0..6 {
        agent.turn(UserInput::new("tide table ".repeat(400))).await.unwrap();
    }
    assert!(agent.live_mut().fold("the test asks for it", None, |_| {}).await.unwrap());
    agent.turn(UserInput::new("where are you?")).await.unwrap();
    let last = server.received().pop().unwrap().body;
    let expected = format!("Working directory: {}", project.join("src").display());
    assert!(last.contains(&expected), "{last}");
}

#[tokio::test]
async fn the_first_change_asks_once_per_session() {
    let bed = TestBed::new();
    let project = project(&bed);
    let own = bed.workspace().join("outputs/own.txt").display().to_string();
    let below = calls("call_subagent", json!({"task": "write it"}));
    let server = model(vec![
        write(&own),
        write("a.txt"),
        write("a.txt"),
        write("b.txt"),
        bash("touch c.txt"),
        below,
        write("d.txt"),
        says("below"),
        says("done"),
    ]);
    let mut agent = bed.open(config(&bed, &server, &project)).await;
    reply(&bed, &[ApprovalReply::Deny(None), ApprovalReply::Allow]);
    agent.turn(UserInput::new("go")).await.unwrap();
    let reason = format!("it is the first change of a file in {}", project.display());
    assert_eq!(asked(&bed), [reason.clone(), reason], "a denial is not remembered");
    for name in ["a.txt", "b.txt", "c.txt", "d.txt"] {
        assert!(project.join(name).is_file(), "{name}: {:#?}", bed.story("s"));
    }
    drop(agent);
    // A resumed session remembers it; another session asks again.
    let server = model(vec![write("e.txt"), says("done")]);
    let mut agent = bed.open(config(&bed, &server, &project)).await;
    agent.turn(UserInput::new("go")).await.unwrap();
    assert!(project.join("e.txt").is_file() && asked(&bed).len() == 2);
}

/// It cannot write either, whatever it does.
#[tokio::test]
async fn a_command_that_only_reads_needs_no_approval_of_changes() {
    let bed = TestBed::new();
    let project = project(&bed);
    let server = model(vec![bash("ls src | sort"), bash("touch a.txt"), says("done")]);
    let mut agent = bed.open(config(&bed, &server, &project)).await;
    reply(&bed, &[ApprovalReply::Deny(None)]);
    agent.turn(UserInput::new("go")).await.unwrap();
    assert_eq!(asked(&bed), [format!("commands can change files in {}", project.display())]);
    let story = bed.story("s");
    assert!(story.iter().any(|line| line.contains("clock.py")), "{story:#?}");
    assert!(!project.join("a.txt").exists());
}

#[tokio::test]
async fn always_is_remembered_for_the_directory_and_other_modes_do_not_ask() {
    let bed = TestBed::new();
    let project = project(&bed);
    let server = model(vec![bash("touch a.txt"), says("done")]);
    let mut config_of_session = config(&bed, &server, &project);
    let remembered: Arc<Mutex<Vec<PathBuf>>> = Arc::default();
    let store = Arc::clone(&remembered);
    config_of_session.approval.remember =
        Some(Arc::new(move |path| store.lock().unwrap().push(path.to_owned())));
    let mut agent = bed.open(config_of_session).await;
    reply(&bed, &[ApprovalReply::AllowAlways]);
    agent.turn(UserInput::new("go")).await.unwrap();
    assert_eq!(asked(&bed), [format!("commands can change files in {}", project.display())]);
    assert_eq!(*remembered.lock().unwrap(), std::slice::from_ref(&project));
    for (at, (mode, directories)) in
        [(Mode::None, Vec::new()), (Mode::Selective, vec![project.clone()])].into_iter().enumerate()
    {
        let id = format!("other-{at}");
        bed.log().create(Session::new(&id)).unwrap();
        let file = format!("{id}.txt");
        let server = model(vec![write(&file), says("done")]);
        let mut config = config(&bed, &server, &project);
        config.approval.mode = mode;
        config.approval.directories = directories;
        config.apply_settings().unwrap();
        let mut agent = Agent::open(bed.log(), &id, config, bed.watcher.clone()).await.unwrap();
        agent.turn(UserInput::new("go")).await.unwrap();
        assert!(project.join(&file).is_file() && asked(&bed).len() == 1, "{id}");
    }
}

#[tokio::test]
async fn without_anyone_to_ask_edits_are_denied_and_commands_run() {
    let bed = TestBed::new();
    let project = project(&bed);
    let server =
        model(vec![write("a.txt"), bash("cat src/clock.py; echo denied; exit 1"), says("done")]);
    let mut agent = bed.open(config(&bed, &server, &project)).await;
    let no_one = || ApprovalReply::NoReply("no one is available to approve it".to_owned());
    reply(&bed, &[no_one(), no_one()]);
    agent.turn(UserInput::new("go")).await.unwrap();
    assert!(!project.join("a.txt").exists());
    let story = bed.story("s");
    assert!(story[2].starts_with("tool: failed: Not run: no one"), "{story:#?}");
    assert!(
        story[4].contains("utc = 0") && story[4].contains("had read-only access"),
        "{story:#?}"
    );
}

/// The text of a reply decides nothing: only a real timeout keeps a command from running.
#[tokio::test]
async fn the_text_of_a_missing_reply_decides_nothing() {
    let bed = TestBed::new();
    let project = project(&bed);
    let read = || bash("cat src/clock.py; exit 1");
    let server = model(vec![read(), read(), says("done")]);
    let mut agent = bed.open(config(&bed, &server, &project)).await;
    let no_one = ApprovalReply::NoReply("no approval within 5 s".to_owned());
    reply(&bed, &[no_one, ApprovalReply::TimedOut(Duration::from_secs(5))]);
    agent.turn(UserInput::new("go")).await.unwrap();
    let story = bed.story("s");
    assert!(story[2].contains("utc = 0"), "{story:#?}");
    assert!(story[4].contains("Not run: no approval within 5 s."), "{story:#?}");
}

#[tokio::test]
async fn changed_instructions_reach_the_model_with_the_next_message() {
    let bed = TestBed::new();
    let project = project(&bed);
    std::fs::write(project.join("AGENTS.md"), "Use tabs.").unwrap();
    let server = model(Vec::new());
    let mut agent = bed.open(config(&bed, &server, &project)).await;
    agent.turn(UserInput::new("one")).await.unwrap();
    std::fs::write(project.join("AGENTS.md"), "Use spaces.").unwrap();
    agent.turn(UserInput::new("two")).await.unwrap();
    agent.turn(UserInput::new("three")).await.unwrap();
    let requests: Vec<Vec<Value>> = server.received().iter().map(sent).collect();
    assert_eq!(requests[0][0], requests[2][0], "the system prompt stays");
    assert!(requests[0][0].to_string().contains("Use tabs."));
    assert!(requests[1].last().unwrap().to_string().contains("Use spaces."));
    assert!(!requests[2].last().unwrap().to_string().contains("Use spaces."), "only once");
    let lines = bed.watcher.event_lines();
    let told = lines.iter().filter(|line| line.contains("instructions changed"));
    assert_eq!(told.count(), 1, "{lines:?}");
    assert_eq!(bed.state("s").pins, [4], "folds keep the message with the new text");
}

#[tokio::test]
async fn a_private_sub_agent_does_not_see_the_project() {
    let bed = TestBed::new();
    let project = project(&bed);
    let server = model(vec![
        calls("call_subagent", json!({"task": "list", "private": true})),
        calls("list_files", json!({})),
        calls("read_file", json!({"path": project.join("src/clock.py")})),
        says("below"),
        says("done"),
    ]);
    let mut agent = bed.open(config(&bed, &server, &project)).await;
    agent.turn(UserInput::new("go")).await.unwrap();
    let received = server.received();
    let listed = sent(&received[2]).last().unwrap().to_string();
    assert!(listed.contains("workspace.json") && !listed.contains("src"), "{listed}");
    let read = sent(&received[3]).last().unwrap().to_string();
    assert!(read.contains("is outside the directories"), "{read}");
}

#[tokio::test]
async fn a_mentioned_file_of_the_project_stays_where_it_is() {
    let bed = TestBed::new();
    let project = project(&bed);
    std::fs::write(bed.directory.path().join("other.txt"), "elsewhere").unwrap();
    let server = model(Vec::new());
    let agent = bed.open(config(&bed, &server, &project)).await;
    let names = ["src/clock.py", "../other.txt"].map(str::to_owned);
    let attached = attach(agent.workspace(), &project, &names, false);
    let paths: Vec<&str> = attached.files.iter().map(|file| file.path.as_str()).collect();
    let copied = bed.workspace().canonicalize().unwrap().join("uploads/other.txt");
    assert_eq!(paths, ["src/clock.py", copied.to_str().unwrap()], "{:?}", attached.problems);
    assert!(copied.is_file() && !bed.workspace().join("uploads/src").exists());
}

#[tokio::test]
async fn the_callers_window_wins_over_that_of_a_role() {
    let bed = TestBed::new();
    let server = model(Vec::new());
    let mut config = bed.config(&server);
    config.roles = role::find(&[]).unwrap();
    let init: &Role = role::named(&config.roles, "init").unwrap();
    let init = init.clone();
    assert_eq!(config.of_role(&init).unwrap().session.model.window, Some(200_000));
    config.window = Some(9_000);
    assert_eq!(config.of_role(&init).unwrap().session.model.window, Some(9_000));
}

/// S3.2: a policy that does not keep the first message drops what it says about directories and
/// time. The next message says it again, behind what was sent before.
#[tokio::test]
async fn s3_2_the_directories_are_named_again_once_their_message_was_dropped() {
    let settings: [(&str, &[(&str, &str)]); 3] = [
        ("window", &[("window.messages", "10")]),
        ("chat", &[("halve.turns", "6")]),
        ("dual-track", &[]),
    ];
    for (preset, settings) in settings {
        let bed = TestBed::new();
        let project = project(&bed);
        let server = model((0..40).map(|_| says("yes")).collect());
        let mut config = config(&bed, &server, &project);
        config.apply_settings().unwrap();
        let settings: Vec<(String, String)> =
            settings.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        config.session.policy = Policy::preset_with(preset, &settings).unwrap();
        let mut agent = bed.open(config).await;
        for turn in 0..40 {
            agent.turn(UserInput::new(format!("and number {turn}?"))).await.unwrap();
        }
        let note = format!("<environment>\nWorking directory: {}", project.display());
        let says_where = |messages: &[Value]| {
            let texts = messages.iter().map(|message| message["content"].to_string());
            texts.filter(|text| text.contains(&note.replace('\n', "\\n"))).count()
        };
        let requests: Vec<Vec<Value>> = server.received().iter().map(sent).collect();
        let is_turn = |request: &Vec<Value>| {
            let newest = request.last().map(|message| message["content"].to_string());
            newest.is_some_and(|text| text.contains("and number"))
        };
        let requests: Vec<Vec<Value>> = requests.into_iter().filter(is_turn).collect();
        let shown: Vec<usize> = requests.iter().map(|request| says_where(request)).collect();
        assert!(shown.iter().all(|&count| count <= 1), "{preset}: {shown:?}");
        assert!(shown.windows(2).all(|pair| pair != [0, 0]), "{preset}: {shown:?}");
        let last = requests.last().unwrap();
        assert!(!last.iter().any(|message| message.to_string().contains("number 0?")), "{preset}");
        let noted = requests.iter().find(|request| {
            request.last().is_some_and(|newest| {
                let text = newest["content"].to_string();
                !text.contains("number 0?")
                    && text.contains("Working directory")
                    && text.contains("Time: ")
            })
        });
        assert!(noted.is_some(), "{preset}: the note is in a new message, with the time");
    }
}
