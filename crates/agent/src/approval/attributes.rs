//! Finds commands that change the mode, owner or times of files outside the agent's directories.
//! The kernel refuses that only in a mount namespace, which some systems do not allow.

use std::path::{Path, PathBuf};

use super::script::{self, MARK};
use crate::describe::normalize_path;

/// Programs that change the attributes of the files that they are given.
const PROGRAMS: [&str; 5] = ["chmod", "chown", "chgrp", "touch", "setfacl"];

/// Programs that change the directory in which the following ones run.
const MOVES: [&str; 2] = ["cd", "pushd"];

/// Returns whether a command changes attributes of a file outside directories, as far as its text
/// shows. `working` is the directory in which it starts.
pub(super) fn changes_outside(command: &str, working: &Path, directories: &[PathBuf]) -> bool {
    let commands = script::commands(command);
    let runs = commands.lines().flat_map(|line| line.split(MARK).skip(1));
    let names_outside = |run: &str, programs: &[&str]| {
        let mut words = run.split(' ');
        let program = words.next().unwrap_or_default();
        programs.contains(&program) && words.any(|word| is_outside(word, working, directories))
    };
    let runs: Vec<&str> = runs.collect();
    let is_changer =
        |run: &&str| run.split(' ').next().is_some_and(|program| PROGRAMS.contains(&program));
    let moves_out = || runs.iter().any(|run| names_outside(run, &MOVES));
    runs.iter().any(|run| names_outside(run, &PROGRAMS))
        || runs.iter().any(is_changer) && moves_out()
}

/// Returns whether a word is a path outside directories.
fn is_outside(word: &str, working: &Path, directories: &[PathBuf]) -> bool {
    // `~` is the workspace for commands, `~name` the home directory of a user.
    let is_home_of_user = word.starts_with('~') && word != "~" && !word.starts_with("~/");
    let leads_up = word.split('/').any(|part| part == "..");
    if is_home_of_user || !word.starts_with('/') && !leads_up {
        return is_home_of_user;
    }
    let whole = normalize_path(&working.join(word).display().to_string());
    !directories.iter().any(|directory| Path::new(&whole).starts_with(directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_outside_are_recognized() {
        let directories = ["/srv/ws".into(), "/srv/project".into()];
        let outside = |text: &str| changes_outside(text, Path::new("/srv/project"), &directories);
        for text in [
            "chmod 644 /home/ada/.ssh/id",
            "ls; touch -d 2001-01-01 '/etc/passwd'",
            "chown ada ../other/file",
            "chgrp -R staff ~ada/x",
            "cd /home/ada && chmod 644 key",
            "x=$(touch /home/ada/x)",
            "find . | xargs chmod 644 /home/ada/key",
        ] {
            assert!(outside(text), "{text}");
        }
        for text in [
            "chmod +x run.sh",
            "touch /srv/project/a /srv/ws/temp/b",
            "chmod 644 sub/../a ~/x",
            "echo chmod 644 /home/ada/key",
            "cat /etc/passwd; cd /usr && ls",
            "cd sub && touch x",
        ] {
            assert!(!outside(text), "{text}");
        }
    }
}
