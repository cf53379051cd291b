//! Recognizes commands that only read. The user is not asked about changes by them, and they run
//! without permission to write in the project, so a wrong guess costs an error message and nothing
//! else.

use super::script::{self, MARK, UNREAD};

/// Programs that only read the files that they are given.
const PROGRAMS: &[&str] = &[
    "basename", "cat", "cd", "cmp", "comm", "cut", "date", "diff", "dirname", "du", "echo",
    "egrep", "false", "fgrep", "file", "grep", "head", "jq", "ls", "nl", "printf", "pwd",
    "readlink", "realpath", "rg", "stat", "tail", "test", "tr", "tree", "true", "type", "uniq",
    "wc", "which",
];

/// Programs that only read without these options, given without their dashes. Options that begin
/// with one of them count too.
const UNLESS: &[(&str, &[&str])] = &[
    ("fd", &["x", "X", "exec"]),
    ("find", &["delete", "exec", "fls", "fprint", "ok"]),
    ("sed", &["i", "in-place"]),
    ("sort", &["o", "output"]),
];

/// The options of git with which a subcommand that reads may write or run a program.
const GIT_OPTIONS: &[&str] = &["output", "ext"];

/// The subcommands of git that only read.
const GIT: &[&str] = &[
    "blame",
    "cat-file",
    "describe",
    "diff",
    "grep",
    "log",
    "ls-files",
    "ls-tree",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "status",
];

/// Redirections that write to no file.
const HARMLESS: [&str; 5] = ["2>&1", "&>/dev/null", "2>/dev/null", ">/dev/null", "> /dev/null"];

/// Returns whether a command only reads, as far as its text shows.
pub(super) fn only_reads(command: &str) -> bool {
    let written =
        HARMLESS.iter().fold(command.to_owned(), |text, harmless| text.replace(harmless, ""));
    let commands = script::commands(&written);
    let mut runs = commands.lines().flat_map(|line| line.split(MARK).skip(1)).peekable();
    !written.contains('>')
        && !commands.ends_with(UNREAD)
        && runs.peek().is_some()
        && runs.all(|run| reads(run.trim(), &written))
}

/// Returns whether one program of a command only reads.
fn reads(run: &str, command: &str) -> bool {
    let mut words = run.split(' ');
    let program = words.next().unwrap_or_default();
    // A program with a path may be any program.
    if command.contains(&format!("/{program}")) {
        return false;
    }
    if program == "git" {
        // An option before the subcommand may name another directory or a program.
        return words.next().is_some_and(|subcommand| GIT.contains(&subcommand))
            && !has_option(words, GIT_OPTIONS);
    }
    match UNLESS.iter().find(|(name, _)| *name == program) {
        Some((_, options)) => !has_option(words, options),
        None => PROGRAMS.contains(&program),
    }
}

/// Returns whether one of the words is one of the options. Options of one letter may be joined.
fn has_option<'a>(words: impl Iterator<Item = &'a str>, options: &[&str]) -> bool {
    let mut given = words.filter_map(|word| word.strip_prefix('-'));
    given.any(|option| match option.strip_prefix('-') {
        Some(long) => options.iter().any(|start| start.len() > 1 && long.starts_with(start)),
        None => options.iter().any(|start| match start.len() {
            1 => option.contains(start),
            _ => option.starts_with(start),
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::only_reads;

    #[test]
    fn reading_commands_are_recognized() {
        for command in [
            "ls -la",
            "cd src && cat main.rs | head -n 20",
            "grep -rn 'fn main' src 2>/dev/null | wc -l",
            "find . -name '*.rs' -not -path './target/*' | sort",
            "git status --short; git log --oneline -5",
            "sed -n '1,20p' notes.md",
            "test -f Cargo.toml && echo yes 2>&1",
        ] {
            assert!(only_reads(command), "{command}");
        }
        for command in [
            "",
            "rm -r target",
            "ls > list.txt",
            "cat a >> b",
            "echo x | tee b",
            "find . -name '*.tmp' -delete",
            "find . -exec rm {} ;",
            "sed -i s/a/b/ notes.md",
            "sed -Ei s/a/b/ notes.md",
            "sort -uo a a",
            "./test",
            "cd x; bin/date",
            "git commit -m done",
            "git -C /other log",
            "git diff --output=x",
            "sort -o a a",
            "cat $(touch b)",
            "python3 -c 'open(\"x\", \"w\")'",
            "cat 'unclosed",
            "cargo test",
        ] {
            assert!(!only_reads(command), "{command}");
        }
    }
}
