//! The file tools as a model calls them in a turn: their results, and what is sent to the model.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

use libtest_mimic::Trial;
use serde_json::{Value, json};
use waterline_agent::approval::{Mode, Ruling};
use waterline_agent::tool::Toolbox;
use waterline_agent::{AgentConfig, Ending, UserInput, WorkingDirectory, skill};
use waterline_sandbox::small_file::Directory;
use waterline_sandbox::{Shell, UserGit};

use crate::test_bed::{Line, TestBed, model, says};
use crate::yard::{SECRET, Yard, pipe};

pub(crate) fn trials() -> Vec<Trial> {
    trials!["tools":
        read_file_reads_nothing_outside,
        write_file_writes_nothing_outside,
        edit_file_changes_nothing_through_a_link,
        list_files_names_nothing_outside,
        find_files_finds_nothing_outside,
        search_files_shows_nothing_outside,
        a_read_only_grant_is_not_written,
        a_skill_is_not_unpacked_through_a_link,
        file_tools_recognize_what_a_git_configuration_leads_to,
    ]
}

/// Trials that need Landlock.
pub(crate) fn confined_trials() -> Vec<Trial> {
    trials!["tools":
        commands_of_the_model_are_confined,
        commands_of_the_model_change_protected_paths_only_by_name,
        git_works_in_a_linked_worktree,
        a_commit_has_the_identity_of_the_user,
        many_commands_leave_no_processes,
    ]
}

/// Returns a test bed whose workspace has a note, and links that lead outside.
fn prepared(yard: &Yard) -> TestBed {
    let bed = TestBed::new();
    let workspace = bed.workspace();
    std::fs::create_dir_all(workspace.join("uploads")).unwrap();
    std::fs::write(workspace.join("note.txt"), "inside\n").unwrap();
    std::fs::write(workspace.join("uploads/up.txt"), "uploaded\n").unwrap();
    symlink(yard.outside("secret.txt"), workspace.join("link.txt")).unwrap();
    symlink(yard.outside("secret.txt"), workspace.join("link.png")).unwrap();
    symlink(yard.outside(""), workspace.join("linked")).unwrap();
    bed
}

/// Lets a model call tools, and returns the result of each call.
pub(crate) fn results(
    bed: &TestBed,
    change: impl FnOnce(&mut AgentConfig),
    calls: Vec<(&'static str, Value)>,
) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let received = runtime.block_on(async {
        let server = model(vec![Line::Calls(calls), says("done")]);
        let mut config = bed.config(&server);
        config.approval.mode = Mode::None;
        change(&mut config);
        let outcome = bed.open(config).await.turn(UserInput::new("try it")).await.unwrap();
        assert_eq!(outcome.ending, Ending::Done);
        server.received()
    });
    runtime.shutdown_background();
    assert_eq!(received.len(), 2, "the calls, and the answer to their results");
    assert!(
        !received.iter().any(|request| request.body.contains(SECRET)),
        "content from outside was sent"
    );
    let story = bed.story("s");
    story.iter().filter_map(|line| line.strip_prefix("tool: ")).map(str::to_owned).collect()
}

/// Fails unless all results but the last are failures, and the last one is `expected`.
#[track_caller]
pub(crate) fn only_the_last_succeeds(results: &[String], expected: &str) {
    let (last, others) = results.split_last().unwrap();
    assert!(others.iter().all(|result| result.starts_with("failed: ")), "{results:?}");
    assert_eq!(last.trim_end(), expected.trim_end());
}

fn unchanged(_: &mut AgentConfig) {}

fn read_file_reads_nothing_outside(yard: &Yard) {
    let read = |path: &str| ("read_file", json!({"path": path}));
    let secret = yard.secret();
    let paths = [
        &*secret,
        "../../outside/secret.txt",
        "link.txt",
        "link.png",
        "linked/secret.txt",
        "note.txt",
    ];
    let results = results(&prepared(yard), unchanged, paths.map(read).into());
    only_the_last_succeeds(&results, "inside\n");
}

fn write_file_writes_nothing_outside(yard: &Yard) {
    let write = |path: &str| ("write_file", json!({"path": path, "content": "mine"}));
    let secret = yard.secret();
    let paths = [
        &*secret,
        "uploads/../../../new.txt",
        "link.txt",
        "linked/new.txt",
        "workspace.json",
        "outputs/a.txt",
    ];
    let bed = prepared(yard);
    let results = results(&bed, unchanged, paths.map(write).into());
    only_the_last_succeeds(&results, "Created outputs/a.txt (4 bytes)");
    assert!(!bed.directory.path().join("new.txt").exists());
}

fn edit_file_changes_nothing_through_a_link(yard: &Yard) {
    let bed = prepared(yard);
    let edit =
        |path: &str, old: &str| ("edit_file", json!({"path": path, "old": old, "new": "changed"}));
    let calls = vec![
        edit(&yard.secret(), "vault"),
        edit("link.txt", "vault"),
        edit("linked/deep/hidden.txt", "vault"),
        edit("note.txt", "inside"),
    ];
    only_the_last_succeeds(
        &results(&bed, unchanged, calls),
        "Edited note.txt: 1 replacement at line 1",
    );
    // A hard link is a file of the workspace; writing replaces it with a new file. Some systems do
    // not allow creating one.
    let bed = prepared(yard);
    if std::fs::hard_link(yard.outside("secret.txt"), bed.workspace().join("hard.txt")).is_ok() {
        only_the_last_succeeds(
            &results(&bed, unchanged, vec![edit("hard.txt", "vault")]),
            "Edited hard.txt: 1 replacement at line 1",
        );
    }
}

fn list_files_names_nothing_outside(yard: &Yard) {
    let list = |path: &str| ("list_files", json!({"path": path}));
    let outside = yard.outside("").display().to_string();
    let paths = ["linked", "linked/deep", "..", "/", &*outside, "uploads"];
    only_the_last_succeeds(
        &results(&prepared(yard), unchanged, paths.map(list).into()),
        "up.txt (9 bytes)",
    );
    let whole = results(&prepared(yard), unchanged, vec![list("")]);
    assert!(
        whole[0].contains("linked (link)") && whole[0].contains("note.txt (7 bytes)"),
        "{whole:?}"
    );
    assert!(!whole[0].contains("hidden") && !whole[0].contains("keys"), "{whole:?}");
}

fn find_files_finds_nothing_outside(yard: &Yard) {
    let find =
        |path: &str, pattern: &str| ("find_files", json!({"path": path, "pattern": pattern}));
    let calls =
        vec![find("linked", "**"), find("..", "**"), find("/etc", "*"), find("", "**/*.txt")];
    only_the_last_succeeds(&results(&prepared(yard), unchanged, calls), "note.txt\nuploads/up.txt");
    let climbing =
        results(&prepared(yard), unchanged, vec![find("", "linked/**"), find("", "../**")]);
    assert!(climbing.iter().all(|result| result.starts_with("[no files match")), "{climbing:?}");
}

fn search_files_shows_nothing_outside(yard: &Yard) {
    let search =
        |path: &str, pattern: &str| ("search_files", json!({"path": path, "pattern": pattern}));
    let bed = prepared(yard);
    pipe(&bed.workspace().join("pipe"));
    let calls = vec![
        search("linked", "vault"),
        search("..", "vault"),
        search("/etc", "root"),
        search("", "inside"),
    ];
    let results_inside = results(&bed, unchanged, calls);
    only_the_last_succeeds(&results_inside, "note.txt:1: inside");
    assert!(
        results_inside[0].starts_with("failed: linked is outside the directories"),
        "{results_inside:?}"
    );
    let everywhere = results(&prepared(yard), unchanged, vec![search("", "vault")]);
    assert_eq!(everywhere, ["[no lines match vault]"]);
}

fn a_read_only_grant_is_not_written(yard: &Yard) {
    let path = yard.granted("g.txt").display().to_string();
    let new = yard.granted("new.txt").display().to_string();
    let grant = |config: &mut AgentConfig| config.grants = vec![yard.grant("granted", ":ro")];
    let calls = vec![
        ("write_file", json!({"path": path, "content": "mine"})),
        ("write_file", json!({"path": new, "content": "mine"})),
        ("edit_file", json!({"path": path, "old": "granted", "new": "mine"})),
        ("read_file", json!({"path": path})),
    ];
    only_the_last_succeeds(&results(&prepared(yard), grant, calls), "granted\n");
    assert!(!yard.granted("new.txt").exists());
}

/// A sub-agent gets its skills in a workspace in which commands have already run.
fn a_skill_is_not_unpacked_through_a_link(yard: &Yard) {
    std::fs::create_dir_all(yard.spare("skills/tide")).unwrap();
    let text = "---\nname: tide\ndescription: tides\n---\nlook at the moon\n";
    std::fs::write(yard.spare("skills/tide/SKILL.md"), text).unwrap();
    let add_skill = |config: &mut AgentConfig| {
        config.skills = skill::find(&[Directory::own(yard.spare("skills"))]).0
    };
    let call = || vec![("read_file", json!({"path": "skills/tide/SKILL.md"}))];
    let bed = prepared(yard);
    symlink(yard.outside(""), bed.workspace().join("skills")).unwrap();
    results(&bed, add_skill, call());
    yard.check();
    only_the_last_succeeds(&results(&prepared(yard), add_skill, call()), text);
}

fn commands_of_the_model_change_protected_paths_only_by_name(yard: &Yard) {
    let granted = yard.granted("").display().to_string();
    std::fs::create_dir_all(yard.granted(".husky")).unwrap();
    std::fs::write(yard.granted(".husky/pre-commit"), "old").unwrap();
    let bash = |command: &str, protected: &[&str]| {
        let command = format!("cd '{granted}' && {command}");
        ("run_bash_command", json!({"command": command, "protected": protected}))
    };
    let calls = vec![
        bash("echo new > .husky/pre-commit", &[]),
        bash("echo new > free.txt && echo new > .envrc && echo done", &[]),
        bash("true", &["unknown"]),
        bash("echo new > .husky/pre-commit; cat .husky/pre-commit", &[".husky"]),
    ];
    let bed = TestBed::new();
    let results = results(
        &bed,
        |config| {
            let mut shell = Shell::new();
            shell.environment = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
            config.toolbox = Toolbox::new(Arc::new(shell));
            config.grants = vec![yard.grant("granted", "")];
            // A rule would not cover the protected paths that a command names.
            config.approval.check = Some(Arc::new(|_, _| Some(Ruling::Allow)));
        },
        calls,
    );
    assert!(results[0].contains("[.husky is read-only for commands"), "{results:?}");
    assert!(results[1].starts_with("done\n[") && results[1].contains(".envrc"), "{results:?}");
    assert!(results[2].contains("\"unknown\" is not a protected path"), "{results:?}");
    assert_eq!(results[3], "new");
    // What was blocked leaves the project, and the model learns where it is.
    let blocked = bed.workspace().join("blocked/granted/.envrc");
    assert!(results[1].contains(&format!("moved to {}", blocked.display())), "{results:?}");
    assert_eq!(std::fs::read_to_string(blocked).unwrap(), "new\n");
    let mut left: Vec<_> = std::fs::read_dir(yard.granted("")).unwrap().flatten().collect();
    left.retain(|entry| entry.file_name() != "g.txt");
    let mut left: Vec<_> = left.iter().map(|entry| entry.file_name()).collect();
    left.sort();
    assert_eq!(left, [".husky", "free.txt"]);
}

fn commands_of_the_model_are_confined(yard: &Yard) {
    let bash = |command: &str| ("run_bash_command", json!({"command": command}));
    let granted = yard.granted("").display().to_string();
    let calls = vec![
        bash(r#"cat "$OUT/secret.txt""#),
        bash("echo mine > ../../new.txt"),
        bash(&format!("echo mine > '{granted}new.txt'")),
        bash(&format!("cat '{granted}g.txt'; echo made > outputs/a.txt; cat outputs/a.txt")),
    ];
    let bed = TestBed::new();
    let results = results(
        &bed,
        |config| {
            let mut shell = Shell::new();
            shell.environment = vec![
                ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
                ("OUT".to_owned(), yard.outside("").display().to_string()),
            ];
            config.toolbox = Toolbox::new(Arc::new(shell));
            config.grants = vec![yard.grant("granted", ":ro")];
        },
        calls,
    );
    only_the_last_succeeds(&results, "granted\nmade");
    assert!(!bed.directory.path().join("new.txt").exists() && !yard.granted("new.txt").exists());
}

/// The names of these paths say nothing, and a relative path may begin inside a protected one.
fn file_tools_recognize_what_a_git_configuration_leads_to(yard: &Yard) {
    for directory in [".git", "tools/hooks", "store/objects", "store/refs", ".husky"] {
        std::fs::create_dir_all(yard.granted(directory)).unwrap();
    }
    let config = "[core]\nhooksPath = tools/hooks\n[include]\npath = ../team.cfg\n";
    for (name, text) in [(".git/config", config), ("team.cfg", ""), ("store/HEAD", "")] {
        std::fs::write(yard.granted(name), text).unwrap();
    }
    let write = |path: String| ("write_file", json!({"path": path, "content": "x"}));
    let inside = |path: &str| yard.granted(path).display().to_string();
    let calls = vec![
        write(inside("tools/hooks/pre-commit")),
        write(inside("src/../tools/hooks/pre-push")),
        write(inside("team.cfg")),
        write(inside("store/config")),
        write("post-merge".to_owned()),
        write(inside("tools/free")),
    ];
    let results = results(
        &TestBed::new(),
        |config| {
            let grant = yard.grant("granted", "");
            let path = yard.granted(".husky");
            config.directory = Some(WorkingDirectory { path, grant });
        },
        calls,
    );
    let path = inside("tools/free");
    only_the_last_succeeds(&results, &format!("Created {path} (1 byte)"));
    for name in ["tools/hooks/pre-commit", "store/config", ".husky/post-merge"] {
        assert!(!yard.granted(name).exists(), "{name}");
    }
}

fn many_commands_leave_no_processes(_: &Yard) {
    // A time that no other process sleeps for.
    let seconds = format!("77{}", std::process::id());
    let call = |number: usize| {
        let command = format!("sleep {seconds} & (sleep {seconds} &) ; : {number} ; echo done");
        ("run_bash_command", json!({"command": command}))
    };
    let calls = (0..20).map(call).collect();
    let results = results(
        &TestBed::new(),
        |config| {
            let mut shell = Shell::new();
            shell.environment = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
            config.toolbox = Toolbox::new(Arc::new(shell));
        },
        calls,
    );
    assert!(results.iter().all(|result| result == "done"), "{results:?}");
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let left = processes.filter(|process| {
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        line.starts_with(b"sleep\0") && String::from_utf8_lossy(&line).contains(&seconds)
    });
    assert_eq!(left.count(), 0);
}

fn git_works_in_a_linked_worktree(yard: &Yard) {
    if !Path::new("/usr/bin/git").exists() {
        return;
    }
    let git = |directory: &Path, arguments: &str| {
        let mut command = std::process::Command::new("/usr/bin/git");
        command.args(["-c", "user.name=a", "-c", "user.email=a@b"]);
        command.args(arguments.split(' ')).current_dir(directory).env("HOME", "/nonexistent");
        assert!(command.output().unwrap().status.success(), "{arguments}");
    };
    let main = yard.spare("main");
    std::fs::create_dir_all(&main).unwrap();
    git(&main, "init -q .");
    git(&main, "commit -q --allow-empty -m one");
    let tree = yard.granted("tree");
    git(&main, &format!("worktree add -q {}", tree.display()));
    // A `.git` file can name any directory, so the directory must name the work tree.
    std::fs::create_dir_all(yard.granted("fake")).unwrap();
    let text = format!("gitdir: {}", yard.outside("").display());
    std::fs::write(yard.granted("fake/.git"), text).unwrap();
    let bash = |command: &str, protected: &[&str]| {
        let command = format!("cd '{}' && {command}", tree.display());
        ("run_bash_command", json!({"command": command, "protected": protected}))
    };
    let commit = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m two";
    let config_file = main.join(".git/config").display().to_string();
    let secret = yard.outside("secret.txt").display().to_string();
    let calls = vec![
        bash(commit, &[]),
        bash(&format!("echo x >> '{config_file}'"), &[".git"]),
        bash(&format!("cat '{secret}'"), &[".git"]),
        bash("git status --short && git log --format=%s", &[]),
        bash(&format!("{commit} && git log --format=%s"), &[".git"]),
    ];
    let results = results(
        &TestBed::new(),
        |config| {
            let mut shell = Shell::new();
            shell.environment = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
            config.toolbox = Toolbox::new(Arc::new(shell));
            config.grants = vec![yard.grant("granted/tree", ""), yard.grant("granted/fake", "")];
            config.approval.check = Some(Arc::new(|_, _| Some(Ruling::Allow)));
        },
        calls,
    );
    assert!(results[..3].iter().all(|result| result.starts_with("failed: ")), "{results:?}");
    assert_eq!((&*results[3], &*results[4]), ("one", "two\none"), "{results:?}");
}

/// The home directory of a command is its workspace, where git finds no identity. Newer versions of
/// git also try to leave the session after each commit.
fn a_commit_has_the_identity_of_the_user(yard: &Yard) {
    let home = yard.spare("home");
    let own = "[user]\n\tname = Ann Lee\n\temail = ann@example.org\n";
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join(".gitconfig"), own).unwrap();
    let path = "/usr/local/bin:/usr/bin:/bin";
    let git = |arguments: &str| {
        let mut command = std::process::Command::new("git");
        command.env_clear().env("PATH", path).env("HOME", &home);
        command.args(arguments.split(' ')).current_dir(yard.granted("")).output()
    };
    if git("init -q .").is_err() {
        return;
    }
    let bash = |command: &str, protected: &[&str]| {
        let command = format!("cd '{}' && {command}", yard.granted("").display());
        ("run_bash_command", json!({"command": command, "protected": protected}))
    };
    let commit = "git add g.txt && git commit -q -m one && git log --format='%an %ce'";
    let calls = vec![bash("env", &[]), bash(commit, &[".git"])];
    let results = results(
        &TestBed::new(),
        |config| {
            let mut shell = Shell::new();
            shell.environment = vec![("PATH".to_owned(), path.to_owned())];
            shell.git = Some(UserGit::new(|name| match name {
                "PATH" => Some(path.to_owned()),
                "HOME" => Some(home.display().to_string()),
                _ => None,
            }));
            config.toolbox = Toolbox::new(Arc::new(shell));
            config.grants = vec![yard.grant("granted", "")];
            config.approval.check = Some(Arc::new(|_, _| Some(Ruling::Allow)));
        },
        calls,
    );
    assert!(!results[0].contains("Ann Lee"), "only a command that may commit: {results:?}");
    assert_eq!(results[1], "Ann Lee ann@example.org", "{results:?}");
}
