//! Files follow the session when it goes back and forward.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod test_bed;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use test_bed::{Line, TestBed, bash, calls, model, says};
use waterline_agent::changes::{DiffKind, FileDiff, FileOutcome, MovedFile};
use waterline_agent::{
    Agent, AgentConfig, AgentError, ApprovalReply, Event, SessionFiles, UserInput,
};
use waterline_log::{EraseTarget, Log, RewindTarget};
use waterline_sandbox::workspace::Grant;

/// A test bed with a granted directory and an open agent.
struct Project {
    bed: TestBed,
    config: AgentConfig,
    agent: Option<Agent>,
    path: PathBuf,
}

impl Project {
    /// Creates a project. The model's lines are made from the directory.
    async fn new(lines: impl FnOnce(&dyn Fn(&str) -> String) -> Vec<Line>) -> Self {
        let bed = TestBed::new();
        let path = bed.directory.path().join("project");
        std::fs::create_dir(&path).unwrap();
        let path = path.canonicalize().unwrap();
        let server = model(lines(&|name| path.join(name).display().to_string()));
        let mut config = bed.config(&server);
        config.grants = vec![Grant::new(&path, true)];
        config.approval.mode = waterline_agent::approval::Mode::None;
        let agent = Some(bed.open(config.clone()).await);
        Self { bed, config, agent, path }
    }

    fn path(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }

    fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.path.join(name)).ok()
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path.join(name), text).unwrap();
    }

    async fn turn(&mut self, text: &str) {
        self.agent.as_mut().unwrap().turn(UserInput::new(text)).await.unwrap();
    }

    /// Moves the session in the log, and opens it again.
    async fn moved(&mut self, change: impl FnOnce(&Log)) {
        self.agent.as_mut().unwrap().begin_move().await.unwrap();
        change(&self.bed.log());
        self.reopen().await;
    }

    async fn reopen(&mut self) {
        self.agent = None;
        self.agent = Some(self.bed.open(self.config.clone()).await);
    }

    async fn open(&self, session: &str) -> Agent {
        let mut config = self.config.clone();
        config.apply_settings().unwrap();
        Agent::open(self.bed.log(), session, config, self.bed.watcher.clone()).await.unwrap()
    }

    async fn move_files(&mut self, overwrite: &[&str]) -> Vec<(String, FileOutcome)> {
        let overwrite = overwrite.iter().map(|name| self.path(name)).collect();
        let moved = self.agent.as_mut().unwrap().move_files(overwrite).await.unwrap();
        let own = |MovedFile { path, outcome, .. }: MovedFile| {
            let name = Path::new(&path).strip_prefix(&self.path).map(|name| name.to_owned());
            (name.unwrap_or(PathBuf::from(&path)).display().to_string(), outcome)
        };
        moved.into_iter().map(own).collect()
    }

    async fn undo(&mut self, turns: u64) -> Vec<(String, FileOutcome)> {
        self.moved(|log| drop(log.rewind("s", RewindTarget::Turns(turns)).unwrap())).await;
        self.move_files(&[]).await
    }

    async fn redo(&mut self) -> Vec<(String, FileOutcome)> {
        self.moved(|log| drop(log.redo("s").unwrap())).await;
        self.move_files(&[]).await
    }

    /// Returns the changes that the events carry.
    fn diffs(&self) -> Vec<FileDiff> {
        let events = self.bed.watcher.events.lock().unwrap();
        let changes = events.iter().filter_map(|event| match event {
            Event::ToolEnds { changes, .. } => Some(changes.clone()),
            _ => None,
        });
        changes.flatten().collect()
    }
}

fn outcome(name: &str, outcome: FileOutcome) -> (String, FileOutcome) {
    (name.to_owned(), outcome)
}

fn edit(path: &str, old: &str, new: &str) -> Line {
    calls("edit_file", json!({"path": path, "old": old, "new": new}))
}

fn write(path: &str, content: &str) -> Line {
    calls("write_file", json!({"path": path, "content": content}))
}

#[tokio::test]
async fn edits_and_new_files_are_taken_back_and_made_again() {
    let mut project = Project::new(|at| {
        let (calc, test) = (at("calc.py"), at("tests/test_calc.py"));
        vec![
            edit(&calc, "a - b", "a + b"),
            write(&test, "assert add(1, 1) == 2\n"),
            says("fixed"),
            edit(&calc, "a + b", "b + a"),
            says("swapped"),
        ]
    })
    .await;
    project.write("calc.py", "def add(a, b):\n    return a - b\n");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(project.path.join("calc.py"), mode).unwrap();
    project.turn("fix it").await;
    project.turn("swap it").await;
    assert_eq!(project.read("calc.py").unwrap(), "def add(a, b):\n    return b + a\n");
    let expected = [
        outcome("calc.py", FileOutcome::Restored),
        outcome("tests/test_calc.py", FileOutcome::Removed),
    ];
    assert_eq!(project.undo(2).await, expected);
    assert_eq!(project.read("calc.py").unwrap(), "def add(a, b):\n    return a - b\n");
    assert_eq!(project.read("tests/test_calc.py"), None);
    assert!(!project.path.join("tests").exists(), "the turn created the directory");
    assert_eq!(project.redo().await.len(), 2);
    assert_eq!(project.read("calc.py").unwrap(), "def add(a, b):\n    return b + a\n");
    assert_eq!(project.read("tests/test_calc.py").unwrap(), "assert add(1, 1) == 2\n");
    assert_eq!(project.undo(1).await, [outcome("calc.py", FileOutcome::Restored)]);
    assert_eq!(project.read("calc.py").unwrap(), "def add(a, b):\n    return a + b\n");
    let mode = std::fs::metadata(project.path.join("calc.py")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    assert_eq!(project.move_files(&[]).await, [], "a move is made once");
}

/// A command may create, change, delete and move files, and make them executable.
#[tokio::test]
async fn changes_by_commands_are_taken_back_and_made_again() {
    let mut project = Project::new(|at| {
        let root = at("");
        vec![
            bash(&format!(
                "cd {root} && sed -i s/low/high/ tide.txt && rm old.txt && mv a.txt b.txt \
                 && chmod +x run.sh && echo new > new.txt && mkdir -p target && echo x > target/x \
                 && echo y > skipped.log; exit 3"
            )),
            says("done"),
        ]
    })
    .await;
    project.write(".gitignore", "*.log\n");
    for (name, text) in [("tide.txt", "low\n"), ("old.txt", "old"), ("a.txt", "a"), ("run.sh", "r")]
    {
        project.write(name, text);
    }
    project.turn("go").await;
    let diffs = project.diffs();
    let kinds: Vec<(&str, DiffKind)> = diffs
        .iter()
        .map(|diff| (Path::new(&diff.path).file_name().unwrap().to_str().unwrap(), diff.kind))
        .collect();
    assert_eq!(
        kinds,
        [
            ("a.txt", DiffKind::Deleted),
            ("old.txt", DiffKind::Deleted),
            ("b.txt", DiffKind::Created),
            ("new.txt", DiffKind::Created),
            ("run.sh", DiffKind::Changed),
            ("tide.txt", DiffKind::Changed),
        ],
        "a failed command is recorded too; ignored and generated files are not"
    );
    assert_eq!(diffs[5].diff, "@@ -1,1 +1,1 @@\n-low\n+high\n");
    assert_eq!(
        project.undo(1).await,
        [
            outcome("a.txt", FileOutcome::Restored),
            outcome("b.txt", FileOutcome::Removed),
            outcome("new.txt", FileOutcome::Removed),
            outcome("old.txt", FileOutcome::Restored),
            outcome("run.sh", FileOutcome::Restored),
            outcome("tide.txt", FileOutcome::Restored),
        ]
    );
    assert_eq!(project.read("tide.txt").unwrap(), "low\n");
    assert_eq!(project.read("old.txt").unwrap(), "old");
    assert_eq!((project.read("a.txt").as_deref(), project.read("b.txt")), (Some("a"), None));
    let mode = || std::fs::metadata(project.path.join("run.sh")).unwrap().permissions().mode();
    assert_eq!(mode() & 0o111, 0);
    assert!(project.path.join("target/x").exists() && project.path.join("skipped.log").exists());
    project.redo().await;
    assert_eq!(project.read("tide.txt").unwrap(), "high\n");
    assert_eq!((project.read("a.txt"), project.read("b.txt").as_deref()), (None, Some("a")));
    let mode = std::fs::metadata(project.path.join("run.sh")).unwrap().permissions().mode();
    assert_ne!(mode & 0o111, 0);
}

#[tokio::test]
async fn what_a_person_changed_meanwhile_is_kept_unless_they_agree() {
    let mut project = Project::new(|at| {
        let (a, b) = (at("a.txt"), at("b.txt"));
        vec![edit(&a, "1", "2"), write(&b, "made"), says("done")]
    })
    .await;
    project.write("a.txt", "1");
    project.turn("go").await;
    project.write("a.txt", "mine");
    project.write("b.txt", "mine too");
    project.moved(|log| drop(log.rewind("s", RewindTarget::Turns(1)).unwrap())).await;
    let conflicts = project.agent.as_ref().unwrap().file_conflicts().await.unwrap();
    let found = conflicts.iter().map(|diff| (diff.path.clone(), diff.kind, diff.removed));
    assert_eq!(
        found.collect::<Vec<_>>(),
        [
            (project.path("a.txt"), DiffKind::Changed, 1),
            (project.path("b.txt"), DiffKind::Deleted, 1)
        ]
    );
    assert!(conflicts[0].diff.contains("-mine") && conflicts[0].diff.contains("+1"));
    assert_eq!(
        project.move_files(&["b.txt"]).await,
        [outcome("a.txt", FileOutcome::ChangedMeanwhile), outcome("b.txt", FileOutcome::Removed)]
    );
    assert_eq!((project.read("a.txt").as_deref(), project.read("b.txt")), (Some("mine"), None));
}

/// The user must not believe that a commit is gone.
#[tokio::test]
async fn commits_and_links_of_commands_are_named_as_not_undone() {
    let mut project = Project::new(|at| {
        let root = at("");
        vec![
            bash(&format!(
                "cd {root} && echo 2 > a.txt && echo 2 > .git/logs/HEAD && ln -s a.txt link"
            )),
            says("done"),
        ]
    })
    .await;
    std::fs::create_dir_all(project.path.join(".git/logs")).unwrap();
    project.write(".git/logs/HEAD", "1");
    project.write("a.txt", "1");
    project.turn("go").await;
    project.moved(|log| drop(log.rewind("s", RewindTarget::Turns(1)).unwrap())).await;
    assert_eq!(
        project.move_files(&[]).await,
        [
            outcome("a.txt", FileOutcome::Restored),
            outcome(".git", FileOutcome::Repository),
            outcome("link", FileOutcome::Link)
        ]
    );
}

/// Their change lies between two turns that are both taken back.
#[tokio::test]
async fn a_persons_change_between_two_turns_is_kept() {
    let mut project = Project::new(|at| {
        let a = at("a.txt");
        vec![edit(&a, "1", "2"), says("done"), edit(&a, "mine", "3"), says("done")]
    })
    .await;
    project.write("a.txt", "1");
    project.turn("first").await;
    project.write("a.txt", "mine");
    project.turn("second").await;
    assert_eq!(project.undo(2).await, [outcome("a.txt", FileOutcome::RestoredInPart)]);
    assert_eq!(project.read("a.txt").unwrap(), "mine");
}

/// The process ends after the session was moved, and in the middle of moving the files.
#[tokio::test]
async fn an_interrupted_move_is_finished_by_the_next_turn() {
    let mut project = Project::new(|at| {
        let (a, b) = (at("a.txt"), at("b.txt"));
        vec![edit(&a, "1", "2"), edit(&b, "1", "2"), says("done"), says("and now?")]
    })
    .await;
    project.write("a.txt", "1");
    project.write("b.txt", "1");
    project.turn("go").await;
    project.moved(|log| drop(log.rewind("s", RewindTarget::Turns(1)).unwrap())).await;
    project.write("a.txt", "1");
    project.reopen().await;
    project.turn("next").await;
    assert_eq!(
        (project.read("a.txt").unwrap(), project.read("b.txt").unwrap()),
        ("1".into(), "1".into())
    );
    let notices = project.bed.watcher.event_lines().concat();
    assert!(
        notices.contains("b.txt: restored") && !notices.contains("a.txt: restored"),
        "{notices}"
    );
    assert_eq!(project.bed.local("s").files_at, None);
}

/// The user stops the turn, or a program drops it and starts the next one.
#[tokio::test]
async fn a_cancelled_command_is_recorded() {
    for is_stopped in [true, false] {
        let mut project = Project::new(|at| {
            let root = at("");
            vec![bash(&format!("cd {root} && echo 2 > a.txt && touch done && sleep 20"))]
        })
        .await;
        project.write("a.txt", "1\n");
        let done = project.path.join("done");
        let agent = project.agent.as_mut().unwrap();
        tokio::select! {
            _ = agent.turn(UserInput::new("go")) => unreachable!("the command sleeps"),
            () = async {
                while !done.exists() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            } => {}
        }
        let turns = match is_stopped {
            true => agent.stop().await.map(|()| 1).unwrap(),
            false => agent.turn(UserInput::new("go on")).await.map(|_| 2).unwrap(),
        };
        assert_eq!(project.read("a.txt").unwrap(), "2\n");
        assert_eq!(
            project.undo(turns).await,
            [outcome("a.txt", FileOutcome::Restored), outcome("done", FileOutcome::Removed)]
        );
        assert_eq!(project.read("a.txt").unwrap(), "1\n");
    }
}

#[tokio::test]
async fn the_changes_of_sub_agents_are_taken_back_with_the_turn() {
    let mut project = Project::new(|at| {
        let a = at("a.txt");
        vec![
            calls("call_subagent", json!({"task": "edit it"})),
            edit(&a, "1", "2"),
            says("edited"),
            says("done"),
        ]
    })
    .await;
    project.write("a.txt", "1");
    project.turn("go").await;
    assert_eq!(project.read("a.txt").unwrap(), "2");
    assert_eq!(project.undo(1).await, [outcome("a.txt", FileOutcome::Restored)]);
    assert_eq!(project.read("a.txt").unwrap(), "1");
}

/// A large file is not recorded, and the user learns it.
#[tokio::test]
async fn a_file_that_is_too_large_is_left_and_named() {
    let mut project = Project::new(|at| {
        let root = at("");
        vec![
            bash(&format!("cd {root} && head -c 9000000 /dev/zero > big.bin && echo 2 > a.txt")),
            says("done"),
        ]
    })
    .await;
    project.write("a.txt", "1\n");
    project.turn("go").await;
    assert_eq!(
        project.undo(1).await,
        [outcome("a.txt", FileOutcome::Restored), outcome("big.bin", FileOutcome::TooLarge)]
    );
    assert!(project.path.join("big.bin").exists());
    let notices = project.bed.watcher.event_lines().concat();
    assert!(notices.contains("big.bin: this change cannot be undone"), "{notices}");
}

/// Ignored and generated files are not recorded, and the user learns which are lost.
#[tokio::test]
async fn ignored_files_that_a_command_deletes_are_named() {
    let mut project = Project::new(|at| {
        let root = at("");
        vec![
            bash(&format!("cd {root} && echo 2 > a.txt && echo new > logs/new.log")),
            says("done"),
            bash(&format!("cd {root} && rm logs/a.log node_modules/x/index.js big.log")),
            says("done"),
            bash(&format!("cd {root} && rm -r node_modules target")),
            says("done"),
        ]
    })
    .await;
    for directory in ["logs", "node_modules/x", "target/debug"] {
        std::fs::create_dir_all(project.path.join(directory)).unwrap();
    }
    project.write(".gitignore", "logs/\n*.log\nnode_modules/\ntarget/\n");
    project.write("a.txt", "1\n");
    let ignored = ["logs/a.log", "node_modules/x/index.js", "node_modules/x/other.js"];
    ignored.iter().for_each(|name| project.write(name, "own"));
    project.write("big.log", &"x".repeat(100_000));
    let notices = |project: &Project| -> Vec<String> {
        let lines = project.bed.watcher.event_lines();
        let lost = lines.iter().filter(|line| line.contains("ignored and generated"));
        lost.map(|line| line.replace(&format!("{}/", project.path.display()), "")).collect()
    };
    project.turn("write").await;
    assert_eq!(notices(&project), Vec::<String>::new(), "a new file is an output");
    project.turn("delete").await;
    let found = notices(&project);
    assert_eq!(found.len(), 1, "{found:?}");
    let expected = "3 files were changed or deleted in ";
    assert!(found[0].contains(expected) && found[0].contains("logs"), "{found:?}");
    project.turn("delete all").await;
    let found = notices(&project);
    assert!(found[1].contains("at least 2 files"), "{found:?}");
    let names = |moved: Vec<(String, FileOutcome)>| -> Vec<String> {
        assert!(moved.iter().all(|(_, outcome)| *outcome == FileOutcome::NotRecorded), "{moved:?}");
        moved.into_iter().map(|(name, _)| name).collect()
    };
    assert_eq!(names(project.undo(1).await), ["node_modules", "target"]);
    assert_eq!(names(project.undo(1).await), ["big.log", "logs", "node_modules"]);
    assert_eq!(project.undo(1).await, [outcome("a.txt", FileOutcome::Restored)]);
}

/// Only what the turn created is removed, and only if it is empty.
#[tokio::test]
async fn directories_that_a_turn_created_go_and_come_with_it() {
    let mut project = Project::new(|at| {
        let (root, deep) = (at(""), at("one/two/a.txt"));
        vec![
            bash(&format!("cd {root} && mkdir -p made/deep kept && echo x > own/new.txt")),
            write(&deep, "a"),
            says("done"),
        ]
    })
    .await;
    std::fs::create_dir(project.path.join("own")).unwrap();
    project.turn("go").await;
    let directories = ["made/deep", "kept", "one/two", "own"];
    let exist = |project: &Project| directories.map(|name| project.path.join(name).is_dir());
    assert_eq!(exist(&project), [true; 4]);
    project.write("kept/mine.txt", "mine");
    project.undo(1).await;
    assert_eq!(exist(&project), [false, true, false, true]);
    assert!(!project.path.join("made").exists() && !project.path.join("one").exists());
    project.redo().await;
    assert_eq!(exist(&project), [true; 4]);
    assert_eq!(project.read("one/two/a.txt").unwrap(), "a");
}

/// A fork has the records of the messages that it shares, and its own.
#[tokio::test]
async fn changes_are_taken_back_in_a_fork() {
    let mut project = Project::new(|at| {
        let a = at("a.txt");
        vec![edit(&a, "1", "2"), says("two"), edit(&a, "2", "3"), says("three")]
    })
    .await;
    project.write("a.txt", "1");
    project.turn("two").await;
    project.agent = None;
    project.bed.log().fork("s", None, Some("f".to_owned())).unwrap();
    let mut fork = project.open("f").await;
    fork.turn(UserInput::new("three")).await.unwrap();
    assert_eq!(project.read("a.txt").unwrap(), "3");
    for expected in ["2", "1"] {
        fork.begin_move().await.unwrap();
        drop(fork);
        project.bed.log().rewind("f", RewindTarget::Turns(1)).unwrap();
        fork = project.open("f").await;
        let moved = fork.move_files(Vec::new()).await.unwrap();
        assert_eq!(moved.len(), 1, "{moved:?}");
        assert_eq!(project.read("a.txt").unwrap(), expected);
    }
}

/// A record is only as good as its origin: exports have none, and imported ones would be ignored.
#[tokio::test]
async fn an_imported_session_changes_no_files() {
    let mut project = Project::new(|at| {
        let a = at("a.txt");
        vec![edit(&a, "secret", "2"), says("done")]
    })
    .await;
    project.write("a.txt", "secret");
    project.turn("go").await;
    let log = project.bed.log();
    assert!(log.artifacts("s").unwrap().is_empty(), "records are not listed");
    log.put_artifact("s", "text/plain", "4f 0", b"4f 0\n{}".to_vec()).unwrap();
    let mut lines = Vec::new();
    log.export(&["s".to_owned()], &mut lines).unwrap();
    let exported = String::from_utf8(lines).unwrap();
    assert!(exported.contains("text/plain") && !exported.contains("x-waterline-file"));
    let forged = exported.replace("text/plain", "application/x-waterline-file-changes");
    let other = Log::open(&project.path("other.db")).unwrap();
    other.import(forged.as_bytes(), waterline_provider::wire::parse_stored, |_| ()).unwrap();
    assert_eq!(other.stats().unwrap().artifacts, 0);
    // The records go with the session.
    project.agent = None;
    assert_eq!(log.stats().unwrap().file_versions, 2);
    log.erase(&EraseTarget::Session("s".to_owned())).unwrap();
    assert_eq!(log.stats().unwrap().file_versions, 0);
}

/// An approval shows the whole change, also of an existing file that is overwritten.
#[tokio::test]
async fn a_request_for_approval_has_the_diff() {
    let mut project = Project::new(|at| {
        let path = at("a.txt");
        vec![write(&path, "1\nzwei\n3\n"), says("done")]
    })
    .await;
    project.write("a.txt", "1\n2\n3\n");
    project.config.approval.mode = waterline_agent::approval::Mode::All;
    project.bed.watcher.replies.lock().unwrap().push_back(ApprovalReply::Allow);
    project.reopen().await;
    project.turn("go").await;
    let requests = project.bed.watcher.requests.lock().unwrap();
    let diff = requests[0].info.diff.as_ref().unwrap();
    assert_eq!((diff.added, diff.removed), (1, 1));
    assert_eq!(diff.diff, "@@ -1,3 +1,3 @@\n 1\n-2\n+zwei\n 3\n");
    drop(requests);
    assert_eq!(project.diffs().len(), 1);
}

/// Without an agent, as a command does: nothing is moved while another process works in the
/// session, and the files follow afterwards.
#[tokio::test]
async fn files_are_moved_without_an_agent_only_under_the_lease() {
    let mut project = Project::new(|path| vec![edit(&path("a.txt"), "1", "2"), says("done")]).await;
    project.write("a.txt", "1\n");
    project.turn("go").await;
    let log = project.bed.log();
    let session = log.session("s").unwrap();
    let workspaces = project.config.workspaces.clone();
    let grants = project.config.grants.clone();
    let files = SessionFiles { session: &session, workspaces: &workspaces, grants: &grants };
    let other = loop {
        // The lease of the turn is released in the background.
        match log.take_lease("s", "another machine", Duration::from_secs(30)) {
            Ok(lease) => break lease,
            Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    };
    let refused = files.begin_move(&log).await;
    assert!(matches!(refused, Err(AgentError::InUse { .. })), "{refused:?}");
    assert_eq!(project.bed.local("s").files_at, None);
    log.release_lease(&other).unwrap();

    let moving = files.begin_move(&log).await.unwrap();
    let turn = project.agent.as_mut().unwrap().turn(UserInput::new("more")).await;
    assert!(matches!(turn, Err(AgentError::InUse { .. })), "{turn:?}");
    log.rewind("s", RewindTarget::Turns(1)).unwrap();
    let moved = moving.finish().await.unwrap();
    assert_eq!(moved.len(), 1);
    assert_eq!(project.read("a.txt").as_deref(), Some("1\n"));
    assert_eq!(project.bed.local("s").files_at, None);
    let elsewhere = SessionFiles { workspaces: Path::new("/elsewhere"), ..files };
    let refused = elsewhere.begin_move(&log).await;
    assert!(matches!(refused, Err(AgentError::NoWorkspace { .. })), "{refused:?}");
}
