//! Code that a command plants where the search for protected paths might not look.

use std::path::Path;
use std::time::Duration;

use libtest_mimic::Trial;
use waterline_sandbox::{CommandOutput, Rules, UserGit};

use crate::commands::shell;
use crate::protected::{git, guarded, put_back, repository, run_in, succeeds, unprotected};
use crate::yard::Yard;

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = trials!["planted":
        link_to_an_unguarded_directory_brings_nothing,
        what_the_configuration_of_the_user_leads_to_is_protected,
        commands_at_the_same_time_do_not_cover_for_each_other,
    ];
    if Path::new("/usr/bin/git").exists() {
        trials.extend(trials!["planted":
            directory_that_looks_like_a_git_directory_hides_nothing,
            parts_of_an_unprotected_git_directory_stay_the_same,
            long_configuration_of_a_new_repository_is_not_harmless,
            interrupted_rebase_runs_nothing_new,
        ]);
    }
    trials
}

/// The names of what was put back, with their paths in the granted directory.
fn put_back_paths(yard: &Yard, result: &CommandOutput) -> Vec<String> {
    let root = yard.granted("").components().collect::<std::path::PathBuf>();
    let inside = |path: &Path| path.strip_prefix(&root).unwrap().display().to_string();
    put_back(result).iter().map(|blocked| inside(&blocked.path)).collect()
}

fn directory_that_looks_like_a_git_directory_hides_nothing(yard: &Yard) {
    let plant = "git init -q sub && git -C sub config core.fsmonitor id && mkdir .vscode";
    for directory in ["", "lib"] {
        let text = format!(
            "mkdir -p ./{directory} && cd ./{directory} && mkdir objects refs && touch HEAD && \
             {plant} && git init -q objects/sub"
        );
        let result = succeeds(yard, &guarded(yard), &text);
        let blocked = put_back_paths(yard, &result);
        for name in [".vscode", "sub/.git", "objects/sub/.git"] {
            let path = Path::new(directory).join(name);
            assert!(blocked.contains(&path.display().to_string()), "{path:?}: {result:?}");
            assert!(!yard.granted("").join(path).exists(), "{name}");
        }
    }
}

/// A read-only file cannot be changed, but the directory above it can be moved away, and another
/// takes its place.
fn parts_of_an_unprotected_git_directory_stay_the_same(yard: &Yard) {
    repository(&yard.granted(""));
    git(&yard.granted(""), "remote add origin https://example.org/own.git");
    std::fs::write(yard.granted(".git/hooks/pre-push"), "own\n").unwrap();
    let config = std::fs::read(yard.granted(".git/config")).unwrap();
    let rules = unprotected(yard, &[".git"]);
    let text = "mv .git old && mkdir .git && cp -r old/. .git && rm -rf .git/hooks && \
                sed -i s/own.git/evil.git/ .git/config; rm -rf old; :";
    let result = succeeds(yard, &rules, text);
    let blocked = put_back_paths(yard, &result);
    assert!(blocked.contains(&".git/config".to_owned()), "{result:?}");
    assert_eq!(std::fs::read(yard.granted(".git/config")).unwrap(), config);
    assert_eq!(std::fs::read_to_string(yard.granted(".git/hooks/pre-push")).unwrap(), "own\n");
    git(&yard.granted(""), "log");
}

fn long_configuration_of_a_new_repository_is_not_harmless(yard: &Yard) {
    let rules = unprotected(yard, &[".git"]);
    let text = "git init -q new && yes '# a long comment about nothing' | head -c 1300000 >> \
                new/.git/config && printf '[core]\\nfsmonitor = id\\n' >> new/.git/config";
    let result = succeeds(yard, &rules, text);
    assert_eq!(put_back_paths(yard, &result), ["new/.git/config"], "{result:?}");
    assert!(!yard.granted("new/.git/config").exists());
}

fn interrupted_rebase_runs_nothing_new(yard: &Yard) {
    repository(&yard.granted(""));
    let rules = unprotected(yard, &[".git"]);
    let todo = ".git/rebase-merge/git-rebase-todo";
    let text = format!("mkdir .git/rebase-merge && echo 'pick 1 one' > {todo}");
    assert!(put_back(&succeeds(yard, &rules, &text)).is_empty());
    for line in ["exec id", "\tx id"] {
        let result = succeeds(yard, &rules, &format!("printf '{line}\\n' >> {todo}"));
        assert_eq!(put_back_paths(yard, &result), [todo], "{result:?}");
        assert!(!yard.granted(todo).exists());
    }
    // The user's own commands stay.
    std::fs::write(yard.granted(todo), "pick 1 one\nexec make\n").unwrap();
    let result = succeeds(yard, &rules, &format!("sed -i 1d {todo}"));
    assert!(put_back(&result).is_empty(), "{result:?}");
}

/// The workspace is not guarded, so what is there must not take effect in the project.
fn link_to_an_unguarded_directory_brings_nothing(yard: &Yard) {
    for (plant, link) in [
        ("mkdir -p $HOME/a/.git && touch $HOME/a/.git/HEAD", "ln -s $HOME/a one"),
        ("mkdir -p $HOME/b/deep/.vscode", "ln -s $HOME/b one"),
        ("mkdir -p $HOME/c $HOME/d/.husky && ln -s $HOME/d $HOME/c/d", "ln -s $HOME/c one"),
        ("mkdir -p $HOME/e/objects $HOME/e/refs && touch $HOME/e/HEAD", "ln -s $HOME/e one"),
        ("mkdir -p target/f && touch target/f/.envrc", "ln -s target/f one"),
    ] {
        let result = succeeds(yard, &guarded(yard), &format!("{plant} && {link}"));
        assert_eq!(put_back_paths(yard, &result), ["one"], "{plant}: {result:?}");
        assert!(!yard.granted("one").is_symlink(), "{plant}");
    }
    // In two steps, the link is not new.
    let result = succeeds(yard, &guarded(yard), "mkdir $HOME/g && ln -s $HOME/g two");
    assert!(put_back(&result).is_empty(), "{result:?}");
    let result = succeeds(yard, &guarded(yard), "mkdir two/.idea");
    assert_eq!(put_back_paths(yard, &result), ["two"], "{result:?}");
    let result = succeeds(yard, &guarded(yard), "mkdir $HOME/h && ln -s $HOME/h three");
    assert!(put_back(&result).is_empty() && yard.granted("three").is_symlink(), "{result:?}");
}

/// Runs a command in `granted` for a user whose home directory is `spare`.
fn run_as_user(yard: &Yard, rules: &Rules, text: &str) -> CommandOutput {
    let mut shell = shell(yard);
    let home = yard.spare("").display().to_string();
    shell.git = Some(UserGit::new(|name| (name == "HOME").then(|| home.clone())));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let text = format!("cd ../granted && {text}");
    runtime.block_on(shell.run(rules, &yard.ws(), &text, None)).unwrap()
}

fn what_the_configuration_of_the_user_leads_to_is_protected(yard: &Yard) {
    let config = format!(
        "[core]\nhooksPath = tools/hooks\n[include]\npath = {}\n",
        yard.granted("team.cfg").display()
    );
    std::fs::write(yard.spare(".gitconfig"), config).unwrap();
    std::fs::create_dir_all(yard.granted("tools/hooks")).unwrap();
    std::fs::create_dir_all(yard.spare(".config/fish")).unwrap();
    for (name, link) in [("shell/rc", ".bashrc"), ("shell/config.fish", ".config/fish/config.fish")]
    {
        std::fs::create_dir_all(yard.granted("shell")).unwrap();
        std::fs::write(yard.granted(name), "own\n").unwrap();
        std::os::unix::fs::symlink(yard.granted(name), yard.spare(link)).unwrap();
    }
    std::fs::write(yard.granted("team.cfg"), "own\n").unwrap();
    for path in ["tools/hooks/pre-commit", "shell/rc", "shell/config.fish", "team.cfg"] {
        // Without read-only mounts it is put back.
        let result = run_as_user(yard, &guarded(yard), &format!("echo evil > {path}"));
        let text =
            std::fs::read_to_string(yard.granted(path)).unwrap_or_else(|_| "own\n".to_owned());
        assert_eq!(text, "own\n", "{path}: {result:?}");
    }
    std::fs::remove_file(yard.granted("team.cfg")).unwrap();
    let result = run_as_user(yard, &guarded(yard), "echo evil > team.cfg");
    assert_eq!(put_back_paths(yard, &result), ["team.cfg"], "{result:?}");
    let result = run_as_user(yard, &guarded(yard), "echo x > shell/other && cat shell/rc");
    assert!(result.status.unwrap().success(), "{result:?}");
    let result = run_in(yard, &guarded(yard), "echo x > shell/third");
    assert!(put_back(&result).is_empty(), "{result:?}");
}

/// The second command finds the link of the first when it starts, and creates it again when the
/// first has been checked.
fn commands_at_the_same_time_do_not_cover_for_each_other(yard: &Yard) {
    let shell = shell(yard);
    let rules = guarded(yard);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let first = "cd ../granted && mkdir cfg && echo x > cfg/tasks.json && ln -s cfg .vscode && \
                 sleep 2";
    let second = "cd ../granted && for i in $(seq 100); do \
                  [ -e .vscode ] || { ln -s cfg .vscode; break; }; sleep .1; done";
    let ws = yard.ws();
    let results = runtime.block_on(async {
        let late = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            shell.run(&rules, &ws, second, None).await
        };
        tokio::join!(shell.run(&rules, &ws, first, None), late)
    });
    let (first, second) = (results.0.unwrap(), results.1.unwrap());
    for result in [&first, &second] {
        assert_eq!(put_back_paths(yard, result), [".vscode"], "{result:?}");
    }
    assert!(!yard.granted(".vscode").is_symlink());
    // What the user agreed to for one of them stays, and nothing is left of the watch.
    let result = succeeds(yard, &unprotected(yard, &[".vscode"]), "ln -s cfg .vscode");
    assert!(put_back(&result).is_empty() && yard.granted(".vscode").is_symlink(), "{result:?}");
}
