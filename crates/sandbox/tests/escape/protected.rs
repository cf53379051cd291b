//! Protected paths of a granted directory: which of them commands can change.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use libtest_mimic::Trial;
use waterline_sandbox::protected::Blocked;
use waterline_sandbox::{CommandOutput, Refusal, Rules};

use crate::commands::{rules, run_with, shell};
use crate::yard::Yard;

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = trials!["protected":
        new_protected_paths_are_renamed,
        new_protected_paths_are_moved_out_of_the_project,
        configuration_of_package_managers_is_protected,
        existing_protected_paths_are_read_only,
        protected_paths_are_checked_after_a_timeout,
        read_only_directory_in_a_writable_one_stays_as_it_is,
        workspace_has_no_protected_paths,
    ];
    if Path::new("/usr/bin/git").exists() {
        trials.extend(trials!["protected":
            code_cannot_be_planted_in_a_git_directory,
            nested_repositories_and_worktrees_are_protected,
            dependencies_can_be_removed_but_no_code_planted_in_their_git_directories,
            moving_a_repository_through_dependencies_plants_nothing,
            linked_git_directory_is_protected,
            git_directory_that_a_file_names_is_protected,
            git_directory_in_another_granted_directory_is_protected,
            included_config_and_other_hooks_are_protected,
            new_bare_repository_is_disarmed,
            commit_needs_an_unprotected_git_directory,
            new_repository_in_an_unprotected_git_directory_runs_nothing,
        ]);
    }
    trials
}

/// Rules with the directory `granted` writable and guarded.
pub(crate) fn guarded(yard: &Yard) -> Rules {
    let granted = yard.granted("").components().collect::<PathBuf>();
    let own = rules(yard);
    Rules { write: vec![yard.ws(), granted.clone()], guarded: vec![granted], ..own }
}

pub(crate) fn unprotected(yard: &Yard, names: &[&str]) -> Rules {
    let unprotected = names.iter().map(|&name| name.to_owned()).collect();
    Rules { unprotected, ..guarded(yard) }
}

/// Runs a command in `granted`.
pub(crate) fn run_in(yard: &Yard, rules: &Rules, text: &str) -> CommandOutput {
    run_with(yard, rules, &format!("cd ../granted && {text}"), None)
}

#[track_caller]
pub(crate) fn succeeds(yard: &Yard, rules: &Rules, text: &str) -> CommandOutput {
    let result = run_in(yard, rules, text);
    assert!(result.status.is_some_and(|status| status.success()), "{text}: {result:?}");
    result
}

/// The protected paths that were put back.
pub(crate) fn put_back(result: &CommandOutput) -> Vec<&Blocked> {
    let refused = result.refused.iter();
    refused
        .filter_map(|refusal| match refusal {
            Refusal::PutBack(blocked) => Some(blocked),
            _ => None,
        })
        .collect()
}

/// The user's own git, outside the sandbox.
pub(crate) fn git(directory: &Path, arguments: &str) -> String {
    let mut command = Command::new("/usr/bin/git");
    command.args(["-c", "protocol.file.allow=always", "-c", "user.name=a", "-c", "user.email=a@b"]);
    command.args(arguments.split(' ')).current_dir(directory).env("HOME", "/nonexistent");
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {arguments}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn repository(directory: &Path) {
    std::fs::create_dir_all(directory).unwrap();
    git(directory, "init -q .");
    std::fs::write(directory.join("f"), "1\n").unwrap();
    git(directory, "add f");
    git(directory, "commit -q -m one");
}

/// Describes all files of a directory with their contents.
fn contents(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            all.extend(contents(&entry.path()));
        } else {
            all.push((entry.path(), std::fs::read(entry.path()).unwrap_or_default()));
        }
    }
    all.sort();
    all
}

fn code_cannot_be_planted_in_a_git_directory(yard: &Yard) {
    repository(&yard.granted(""));
    let before = contents(&yard.granted(".git"));
    for text in [
        "cd .git && mkdir -p hooks && cd hooks && echo id > pre-commit && chmod +x pre-commit",
        "git config diff.external ./t.sh",
        "git config core.pager 'id > x'",
        "git config filter.x.clean 'sh -c id'",
        "echo '[core]' >> .git/config",
        "ln .git/config mine && echo x >> mine",
        "mv .git other && mkdir .git",
        "rm -rf .git",
        "chmod 777 .git/config",
        "cp -r .git .git2 && rm -rf .git && mv .git2 .git",
    ] {
        let result = run_in(yard, &guarded(yard), text);
        assert!(!result.status.unwrap().success(), "{text}: {result:?}");
        assert_eq!(contents(&yard.granted(".git")), before, "{text}");
    }
    let result =
        succeeds(yard, &guarded(yard), "git status --short; git log --oneline; echo 2 > f");
    assert!(result.output.contains("one"), "{result:?}");
    assert_eq!(std::fs::read_to_string(yard.granted("f")).unwrap(), "2\n");
}

fn nested_repositories_and_worktrees_are_protected(yard: &Yard) {
    repository(&yard.granted("sub/deep"));
    repository(&yard.granted(""));
    git(&yard.granted(""), "worktree add -q tree");
    let before = contents(&yard.granted("sub/deep/.git"));
    for text in [
        "git -C sub/deep config core.pager id",
        "echo x > sub/deep/.git/hooks/post-checkout",
        "echo 'gitdir: ../evil' > tree/.git",
        "rm tree/.git",
        "git -C tree config core.pager id",
        "echo x > .git/worktrees/tree/commondir",
    ] {
        let result = run_in(yard, &guarded(yard), text);
        assert!(!result.status.unwrap().success(), "{text}: {result:?}");
    }
    assert_eq!(contents(&yard.granted("sub/deep/.git")), before);
    succeeds(yard, &guarded(yard), "git -C tree log; echo x > sub/deep/new; echo x > tree/new");
}

/// A project must be able to reinstall what it depends on. Packages have files with protected
/// names, and some are repositories.
fn dependencies_can_be_removed_but_no_code_planted_in_their_git_directories(yard: &Yard) {
    repository(&yard.granted(""));
    for directory in ["node_modules/lib", "vendor/lib", "target/lib", ".venv/src/lib"] {
        repository(&yard.granted(directory));
        let git_directory = yard.granted(directory).join(".git");
        let before = contents(&git_directory.join("hooks"));
        let config = std::fs::read(git_directory.join("config")).unwrap();
        for text in [
            "git config core.pager id",
            "echo id > .git/hooks/pre-commit",
            "rm -rf .git/hooks && mkdir .git/hooks && echo id > .git/hooks/pre-commit",
            "mv .git old && mkdir -p .git && cp -r old/. .git/ && echo id > .git/hooks/pre-commit",
        ] {
            let result = run_in(yard, &guarded(yard), &format!("cd {directory} && {text}"));
            assert!(!put_back(&result).is_empty(), "{directory}: {text}: {result:?}");
            let hooks = contents(&git_directory.join("hooks"));
            let planted = |path: &Path| path.file_name().is_some_and(|name| name == "pre-commit");
            assert!(!hooks.iter().any(|(path, _)| planted(path)), "{text}");
            assert_eq!(std::fs::read(git_directory.join("config")).unwrap(), config, "{text}");
        }
        assert!(!before.is_empty());
        let new = format!("git init -q {directory}/new && echo id > {directory}/new/.git/hooks/x");
        let result = succeeds(yard, &guarded(yard), &new);
        assert_eq!(put_back(&result).len(), 1, "{result:?}");
        assert!(!yard.granted(directory).join("new/.git").exists());
        // Packages come with all kinds of files.
        let files = "mkdir .vscode .husky && echo x > .envrc && echo x > .vscode/settings.json";
        let result = succeeds(yard, &guarded(yard), &format!("cd {directory} && {files}"));
        assert_eq!(put_back(&result), Vec::<&Blocked>::new());
        let top = directory.split('/').next().unwrap();
        let result = succeeds(yard, &guarded(yard), &format!("rm -rf {top}"));
        assert_eq!(put_back(&result), Vec::<&Blocked>::new());
        assert!(!yard.granted(top).exists(), "{top}");
    }
}

/// A directory that is moved into such a directory and back brings nothing along.
fn moving_a_repository_through_dependencies_plants_nothing(yard: &Yard) {
    repository(&yard.granted("sub"));
    succeeds(yard, &guarded(yard), "mkdir node_modules && mv sub node_modules/");
    run_in(yard, &guarded(yard), "echo id > node_modules/sub/.git/hooks/pre-commit");
    run_in(
        yard,
        &guarded(yard),
        "mkdir node_modules/sub/.vscode; echo x > node_modules/sub/.envrc",
    );
    run_in(yard, &guarded(yard), "mv node_modules/sub .");
    for name in [".git/hooks/pre-commit", ".vscode", ".envrc"] {
        assert!(!yard.granted("sub").join(name).exists(), "{name}");
    }
    // The workspace is not searched for git directories.
    repository(&yard.granted("node_modules/lib"));
    let evil = yard.ws().join("evil");
    let link = format!("ln -s {}/.git node_modules/lib/.git", evil.display());
    let text = format!("git init -q {} && rm -rf node_modules/lib/.git && {link}", evil.display());
    succeeds(yard, &guarded(yard), &text);
    // The link is renamed, or what it leads to is no longer a git directory.
    assert!(!yard.granted("node_modules/lib/.git/HEAD").exists());
}

fn linked_git_directory_is_protected(yard: &Yard) {
    repository(&yard.granted("project"));
    std::fs::rename(yard.granted("project/.git"), yard.granted("store")).unwrap();
    symlink("../store", yard.granted("project/.git")).unwrap();
    for text in ["git -C project config core.pager id", "echo x > store/hooks/pre-commit"] {
        let result = run_in(yard, &guarded(yard), text);
        assert!(!result.status.unwrap().success(), "{text}: {result:?}");
    }
    let result = run_in(yard, &guarded(yard), "cd project && rm .git && git init -q .");
    assert_eq!(put_back(&result).len(), 1, "{result:?}");
    let link = std::fs::read_link(yard.granted("project/.git")).unwrap();
    assert_eq!(link, Path::new("../store"));
    git(&yard.granted("project"), "log");
}

/// In a submodule and in a repository with a separate git directory, `.git` is a file.
fn git_directory_that_a_file_names_is_protected(yard: &Yard) {
    repository(&yard.granted("lib"));
    repository(&yard.granted("project"));
    git(&yard.granted("project"), "submodule --quiet add ../lib sub");
    git(&yard.granted("project"), "commit -q -m sub");
    git(&yard.granted(""), "init -q --separate-git-dir=store apart");
    assert!(yard.granted("project/sub/.git").is_file() && yard.granted("apart/.git").is_file());
    let stores = [yard.granted("project/.git/modules/sub"), yard.granted("store")];
    let before = stores.each_ref().map(|store| contents(store));
    for text in [
        "git -C project/sub config core.pager id",
        "echo x > project/.git/modules/sub/hooks/post-checkout",
        "echo 'gitdir: ../../evil' > project/sub/.git",
        "git -C apart config core.pager id",
        "echo x > store/hooks/pre-commit",
        "echo '[core]' >> store/config",
        "mv store other",
        "rm apart/.git",
    ] {
        let result = run_in(yard, &guarded(yard), text);
        assert!(!result.status.unwrap().success(), "{text}: {result:?}");
    }
    assert_eq!(stores.each_ref().map(|store| contents(store)), before);
    // With `.git` unprotected a commit works, but configuration and hooks stay as they are.
    let rules = unprotected(yard, &[".git"]);
    let commit = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m two";
    succeeds(yard, &rules, &format!("cd project/sub && {commit} && cd ../../apart && {commit}"));
    for text in ["git -C apart config core.pager id", "echo x > store/hooks/pre-commit"] {
        let result = run_in(yard, &rules, text);
        assert!(!result.status.unwrap().success(), "{text}: {result:?}");
    }
}

/// A worktree and its repository may be in two granted directories.
fn git_directory_in_another_granted_directory_is_protected(yard: &Yard) {
    let (tree, main) = (yard.granted("tree"), yard.spare("main"));
    repository(&main);
    git(&main, &format!("worktree add -q {}", tree.display()));
    let mut rules = guarded(yard);
    rules.write.push(main.clone());
    let before = contents(&main.join(".git"));
    let attempts = [
        "git -C tree config core.pager id",
        "echo x > $MAIN/.git/hooks/pre-commit",
        "echo x > $MAIN/.git/worktrees/tree/commondir",
    ];
    for text in attempts {
        let text = text.replace("$MAIN", &main.display().to_string());
        let result = run_in(yard, &rules, &text);
        assert!(!result.status.unwrap().success(), "{text}: {result:?}");
    }
    assert_eq!(contents(&main.join(".git")), before);
    succeeds(yard, &rules, &format!("echo x > tree/new && echo x > {}/new", main.display()));
}

fn included_config_and_other_hooks_are_protected(yard: &Yard) {
    repository(&yard.granted(""));
    std::fs::create_dir_all(yard.granted("tools/hooks")).unwrap();
    std::fs::write(yard.granted("team.cfg"), "").unwrap();
    git(&yard.granted(""), "config core.hooksPath tools/hooks");
    git(&yard.granted(""), "config include.path ../team.cfg");
    for text in ["echo x > tools/hooks/pre-commit", "echo '[core]' > team.cfg", "rm team.cfg"] {
        let result = run_in(yard, &guarded(yard), text);
        assert!(!result.status.unwrap().success(), "{text}: {result:?}");
    }
    succeeds(yard, &guarded(yard), "echo x > tools/other; cat team.cfg");
}

fn new_protected_paths_are_renamed(yard: &Yard) {
    let text = "mkdir -p .git/hooks a/.vscode .config/git && echo x > .git/hooks/pre-commit && \
                echo x > a/.vscode/tasks.json && echo x > waterline.toml && echo x > .envrc && \
                echo x > .config/git/config && echo x > free.txt";
    let result = succeeds(yard, &guarded(yard), text);
    let mut names: Vec<&str> = put_back(&result).iter().map(|blocked| &*blocked.name).collect();
    names.sort_unstable();
    assert_eq!(names, [".config/git", ".envrc", ".git", ".vscode", "waterline.toml"]);
    for name in [".git", "a/.vscode", "waterline.toml", ".envrc", ".config/git"] {
        assert!(!yard.granted(name).exists(), "{name}");
        assert!(yard.granted(&format!("{name}.blocked")).exists(), "{name}");
    }
    assert!(yard.granted("free.txt").exists());
    // A second one does not overwrite the first.
    succeeds(yard, &guarded(yard), "echo y > .envrc");
    assert_eq!(std::fs::read_to_string(yard.granted(".envrc.blocked")).unwrap(), "x\n");
    assert_eq!(std::fs::read_to_string(yard.granted(".envrc.blocked-2")).unwrap(), "y\n");
    let result = succeeds(yard, &unprotected(yard, &[".envrc"]), "echo z > .envrc");
    assert!(put_back(&result).is_empty() && yard.granted(".envrc").exists(), "{result:?}");
}

fn new_protected_paths_are_moved_out_of_the_project(yard: &Yard) {
    let mut shell = shell(yard);
    shell.blocked = Some(yard.inside("blocked"));
    let text = "cd ../granted && mkdir -p .husky sub/.git && echo x > .husky/pre-commit && \
                echo ref > sub/.git/HEAD && echo x > .envrc";
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let result = runtime.block_on(shell.run(&guarded(yard), &yard.ws(), text, None)).unwrap();
        assert!(result.status.unwrap().success(), "{result:?}");
        put_back(&result).iter().map(|one| one.moved_to.clone().unwrap()).collect::<Vec<_>>()
    };
    let names = [".envrc", ".husky", "sub/.git"];
    let at = |name: &str| yard.inside("blocked/granted").join(name);
    assert_eq!(run(), names.map(at));
    assert_eq!(run(), [".envrc-2", ".husky-2", "sub/.git-2"].map(at));
    let mut left: Vec<_> = std::fs::read_dir(yard.granted("")).unwrap().flatten().collect();
    left.retain(|entry| entry.file_name() != "g.txt" && entry.file_name() != "sub");
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(std::fs::read_dir(yard.granted("sub")).unwrap().count(), 0);
    assert_eq!(std::fs::read_to_string(at(".husky/pre-commit")).unwrap(), "x\n");
}

fn configuration_of_package_managers_is_protected(yard: &Yard) {
    std::fs::write(yard.granted(".npmrc"), "own\n").unwrap();
    let result = run_in(yard, &guarded(yard), "echo script-shell=./x >> .npmrc");
    assert!(!result.status.unwrap().success(), "{result:?}");
    let text = "mkdir a && cd a && touch .npmrc .yarnrc bunfig.toml pip.conf .pnpmfile.cjs";
    assert_eq!(put_back(&succeeds(yard, &guarded(yard), text)).len(), 5);
    assert_eq!(std::fs::read_to_string(yard.granted(".npmrc")).unwrap(), "own\n");
}

fn existing_protected_paths_are_read_only(yard: &Yard) {
    std::fs::create_dir_all(yard.granted(".vscode")).unwrap();
    std::fs::create_dir_all(yard.granted("sub")).unwrap();
    for name in [".vscode/tasks.json", "sub/waterline.toml", ".bashrc"] {
        std::fs::write(yard.granted(name), "own\n").unwrap();
    }
    for text in [
        "echo x > .vscode/tasks.json",
        "echo x > .vscode/settings.json",
        "echo x >> sub/waterline.toml",
        "mv sub/waterline.toml x",
        "rm .bashrc",
        "sed -i s/own/mine/ .bashrc",
        "touch .bashrc",
    ] {
        let result = run_in(yard, &guarded(yard), text);
        assert!(!result.status.unwrap().success(), "{text}: {result:?}");
    }
    for name in [".vscode/tasks.json", "sub/waterline.toml", ".bashrc"] {
        assert_eq!(std::fs::read_to_string(yard.granted(name)).unwrap(), "own\n");
    }
    let result = succeeds(yard, &guarded(yard), "cat .bashrc .vscode/tasks.json; echo x > sub/x");
    assert_eq!(result.output, "own\nown\n");
    succeeds(yard, &unprotected(yard, &[".vscode"]), "echo x > .vscode/tasks.json");
}

fn protected_paths_are_checked_after_a_timeout(yard: &Yard) {
    let text = "cd ../granted && mkdir .husky && echo x > .husky/pre-commit && sleep 60";
    let result = run_with(yard, &guarded(yard), text, Some(Duration::from_secs(1)));
    assert!(result.status.is_none(), "{result:?}");
    assert_eq!(put_back(&result).len(), 1, "{result:?}");
    assert!(!yard.granted(".husky").exists());
}

fn workspace_has_no_protected_paths(yard: &Yard) {
    let text = "mkdir -p .git/hooks .vscode && echo x > .git/hooks/pre-commit && echo x > .bashrc";
    let result = run_with(yard, &guarded(yard), text, None);
    assert!(result.status.unwrap().success() && put_back(&result).is_empty(), "{result:?}");
    assert!(yard.inside(".git/hooks/pre-commit").exists());
}

/// Git treats any directory with the right files as a repository.
fn new_bare_repository_is_disarmed(yard: &Yard) {
    let text = "git init -q --bare lib && git -C lib config core.fsmonitor id";
    let result = succeeds(yard, &guarded(yard), text);
    assert_eq!(put_back(&result).len(), 1, "{result:?}");
    let mut command = Command::new("/usr/bin/git");
    command.args(["rev-parse", "--git-dir"]).current_dir(yard.granted("lib"));
    command.env("GIT_CEILING_DIRECTORIES", yard.granted(""));
    assert!(!command.output().unwrap().status.success());
}

fn read_only_directory_in_a_writable_one_stays_as_it_is(yard: &Yard) {
    std::fs::create_dir_all(yard.granted("notes")).unwrap();
    std::fs::write(yard.granted("notes/a"), "own\n").unwrap();
    let rules = Rules { read_only: vec![yard.granted("notes")], ..guarded(yard) }.without_nested();
    for text in ["echo x > notes/a", "echo x > notes/b", "rm -rf notes", "mv notes other"] {
        let result = run_in(yard, &rules, text);
        assert!(!result.status.unwrap().success(), "{text}: {result:?}");
    }
    let result = succeeds(yard, &rules, "cat notes/a && echo x > free");
    assert_eq!(result.output, "own\n");
}

fn commit_needs_an_unprotected_git_directory(yard: &Yard) {
    repository(&yard.granted(""));
    let commit = "echo 2 > f && git -c user.name=a -c user.email=a@b commit -q -a -m two";
    let result = run_in(yard, &guarded(yard), commit);
    assert!(result.output.contains("Read-only file system"), "{result:?}");
    let rules = unprotected(yard, &[".git"]);
    let result = succeeds(yard, &rules, commit);
    assert!(put_back(&result).is_empty(), "{result:?}");
    assert!(git(&yard.granted(""), "log --oneline").contains("two"));
    for text in ["git config core.pager id", "echo x > .git/hooks/pre-commit", "rm .git/config"] {
        let result = run_in(yard, &rules, text);
        assert!(!result.status.unwrap().success(), "{text}: {result:?}");
    }
    let result = run_in(yard, &rules, "echo evil > .git/commondir; rm -rf .git/commondir.lock");
    assert_eq!(put_back(&result).len(), 1, "{result:?}");
    let rules = unprotected(yard, &[".git/config", ".git/hooks"]);
    succeeds(yard, &rules, "git config core.pager cat && echo x > .git/hooks/pre-commit");
}

fn new_repository_in_an_unprotected_git_directory_runs_nothing(yard: &Yard) {
    let rules = unprotected(yard, &[".git"]);
    let result = succeeds(yard, &rules, "git init -q new && git clone -q new copy 2> /dev/null");
    assert!(put_back(&result).is_empty(), "{result:?}");
    git(&yard.granted("new"), "status");
    let text = "git init -q bad && git -C bad config core.fsmonitor id && \
                echo x > bad/.git/hooks/pre-commit";
    let result = succeeds(yard, &rules, text);
    assert_eq!(put_back(&result).len(), 2, "{result:?}");
    assert!(!yard.granted("bad/.git/config").exists() && !yard.granted("bad/.git/hooks").exists());
}
