//! Protected paths that a command replaces: by moving the directory above them, or by a link.

use std::os::unix::fs::symlink;
use std::path::Path;

use libtest_mimic::Trial;

use crate::protected::{git, guarded, put_back, repository, run_in, succeeds, unprotected};
use crate::yard::Yard;

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = trials!["replaced":
        copy_in_the_place_of_a_moved_directory_is_renamed,
        linked_directory_above_a_protected_path_is_restored,
        protected_path_replaced_by_a_link_is_restored,
    ];
    if Path::new("/usr/bin/git").exists() {
        trials.extend(trials!["replaced":
            copy_of_a_moved_repository_is_disarmed,
            linked_bare_repository_is_disarmed,
            moved_repository_stays_a_repository,
        ]);
    }
    trials
}

/// A read-only path cannot be renamed, but the directory above it can.
fn copy_in_the_place_of_a_moved_directory_is_renamed(yard: &Yard) {
    let paths = [
        (".cargo", "config.toml"),
        (".config", "git/config"),
        (".config", "fish/config.fish"),
        (".config", "systemd/user/a.service"),
        ("sub", ".vscode/tasks.json"),
    ];
    for (directory, file) in paths {
        let path = yard.granted(directory).join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "own\n").unwrap();
        let text =
            format!("mv {directory} old && cp -r old {directory} && echo x > {directory}/{file}");
        let result = succeeds(yard, &guarded(yard), &text);
        assert_eq!(put_back(&result).len(), 1, "{text}: {result:?}");
        assert!(!path.exists(), "{text}");
        assert_eq!(std::fs::read_to_string(yard.granted("old").join(file)).unwrap(), "own\n");
        std::fs::remove_dir_all(yard.granted("old")).unwrap();
        std::fs::remove_dir_all(yard.granted(directory)).unwrap();
    }
}

/// Cargo reads `.cargo/config.toml` through a link named `.cargo` too.
fn linked_directory_above_a_protected_path_is_restored(yard: &Yard) {
    let text = "mkdir c && echo x > c/config.toml && ln -s c .cargo";
    let result = succeeds(yard, &guarded(yard), text);
    assert_eq!(put_back(&result).len(), 1, "{result:?}");
    assert!(!yard.granted(".cargo").is_symlink());
    std::fs::remove_file(yard.granted(".cargo.blocked")).unwrap();
    symlink("c", yard.granted(".cargo")).unwrap();
    let result = run_in(yard, &guarded(yard), "echo y > c/config.toml");
    assert!(!result.status.unwrap().success(), "{result:?}");
    let text = "mkdir d && echo y > d/config.toml && ln -sfn d .cargo";
    let result = succeeds(yard, &guarded(yard), text);
    assert_eq!(put_back(&result).len(), 1, "{result:?}");
    assert_eq!(std::fs::read_link(yard.granted(".cargo")).unwrap(), Path::new("c"));
}

fn copy_of_a_moved_repository_is_disarmed(yard: &Yard) {
    repository(&yard.granted("lib"));
    repository(&yard.granted(""));
    git(&yard.granted(""), "submodule --quiet add ./lib sub");
    git(&yard.granted(""), "worktree add -q tree");
    let plant = "echo x > DIR/.git/hooks/pre-commit && git -C DIR config core.fsmonitor id";
    for directory in ["sub", "tree", "lib"] {
        let plant = plant.replace("DIR", directory);
        let text =
            format!("mv {directory} old && git init -q {directory} && {plant} && rm -rf old || :");
        let result = succeeds(yard, &guarded(yard), &text);
        assert_eq!(put_back(&result).len(), 1, "{text}: {result:?}");
        assert!(!yard.granted(directory).join(".git").exists(), "{text}");
    }
    let text = "mv .git kept && mkdir .git && cp -r kept/. .git && echo x > .git/hooks/pre-commit";
    let result = succeeds(yard, &unprotected(yard, &[".git"]), text);
    assert!(!put_back(&result).is_empty(), "{result:?}");
    assert!(!yard.granted(".git/hooks/pre-commit").exists());
    assert!(yard.granted("kept/config").exists());
}

/// A new protected link is renamed, which does not disarm the repository that it leads to.
fn linked_bare_repository_is_disarmed(yard: &Yard) {
    let text = "git init -q --bare lib && git -C lib config core.fsmonitor id && ln -s lib .idea";
    let result = succeeds(yard, &guarded(yard), text);
    assert_eq!(put_back(&result).len(), 2, "{result:?}");
    assert!(!yard.granted("lib/HEAD").exists());
}

fn protected_path_replaced_by_a_link_is_restored(yard: &Yard) {
    std::fs::create_dir_all(yard.granted("editor")).unwrap();
    symlink("editor", yard.granted(".vscode")).unwrap();
    let text = "mkdir evil; ln -sfn evil .vscode; echo x > evil/tasks.json";
    let result = succeeds(yard, &guarded(yard), text);
    assert_eq!(put_back(&result).len(), 1, "{result:?}");
    assert_eq!(std::fs::read_link(yard.granted(".vscode")).unwrap(), Path::new("editor"));
    let result = run_in(yard, &guarded(yard), "echo x > editor/tasks.json");
    assert!(!result.status.unwrap().success(), "{result:?}");
    let result = succeeds(yard, &guarded(yard), "ln -s evil .husky");
    assert_eq!(put_back(&result).len(), 1, "{result:?}");
    assert!(!yard.granted(".husky").exists());
}

fn moved_repository_stays_a_repository(yard: &Yard) {
    repository(&yard.granted("one/project"));
    let result = succeeds(yard, &guarded(yard), "mv one two && git -C two/project log --oneline");
    assert!(put_back(&result).is_empty(), "{result:?}");
    git(&yard.granted("two/project"), "log");
}
