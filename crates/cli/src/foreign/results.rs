//! The wordings of results of calls. The model reads them, so they are English.

/// The wordings of failed calls and the ids of their texts.
pub(super) const FAILED: &[(&str, &str)] = &[
    ("Denied by the user.", "foreign-denied"),
    ("Denied by the user: {}", "foreign-denied-because"),
    (
        "Not run: {} failed {#} times in a row and is blocked until you call another tool. Try a \
         different approach.",
        "foreign-blocked",
    ),
    (
        "Not run: {} failed {#} times in a row with the same arguments. Change the arguments or \
         try a different approach.",
        "foreign-blocked-arguments",
    ),
    ("Not run: {} is disabled. The user can allow it by mentioning @{}.", "foreign-disabled"),
    ("no approval within {#} s", "foreign-no-approval"),
    ("at most {#} calls are run per message", "foreign-too-many-calls"),
    ("the turn must end ({*})", "foreign-must-end"),
    (
        "no one is available to approve it; the user can start with --yes, which approves all \
         calls except critical ones, commands without a sandbox, and protected paths",
        "foreign-no-terminal",
    ),
    (
        "no one is available to approve it, and --yes does not cover critical calls, commands \
         without a sandbox, or protected paths",
        "foreign-not-covered",
    ),
    ("no one is available to approve it", "foreign-no-one"),
    ("no one available to approve it", "foreign-no-one"),
    ("Unknown tool \"{}\". {}", "foreign-unknown-tool"),
    ("[cancelled by the user before it started]", "foreign-cancelled"),
    (
        "[cancelled by the user while it was running; its effect is unknown. Verify before \
         retrying.]",
        "foreign-cancelled-running",
    ),
    // The limits that end a turn.
    ("the limit of {#} model call{} per turn was reached", "foreign-turn-calls"),
    (
        "the limit of {#} model call{} since the session was opened was reached",
        "foreign-session-calls",
    ),
    ("the limit of {#} model call{} for this task was reached", "foreign-task-calls"),
    ("the limit of {#} tool call{} per turn was reached", "foreign-tool-calls"),
    ("the time limit of {#} s per turn was reached", "foreign-turn-time"),
    ("{} was called {#} times in a row with the same arguments", "foreign-same-call"),
    ("{} failed or was refused {#} times in a row", "foreign-unsuccessful"),
    // Arguments.
    (
        "The arguments are not valid JSON ({*}). The call may have been truncated by the output \
         token limit.",
        "foreign-arguments-not-json",
    ),
    ("Invalid arguments for {}: {*}. They must match this schema: {}", "foreign-arguments"),
    ("Invalid regular expression: {*}", "foreign-bad-regex"),
    ("regex parse error:", "foreign-regex-syntax"),
    ("Invalid glob: {}.", "foreign-bad-glob"),
    ("Invalid URL {}: {}.", "foreign-bad-url"),
    // Edits and web pages.
    ("No match for `old` in {}. Re-read the file and copy the text exactly.", "foreign-no-match"),
    (
        "`old` matches {#} times in {}. Add context to make it unique, or set `all` to true.",
        "foreign-several-matches",
    ),
    ("{} is not valid UTF-8 and cannot be edited as text.", "foreign-not-utf8"),
    ("{} is a private or local address, which cannot be fetched.", "foreign-private-address"),
    ("{} timed out after {#} s.", "foreign-fetch-timeout"),
    ("Redirected to {}; fetch that URL instead.", "foreign-redirected"),
    ("Unsupported content type {}: not text.", "foreign-content-type"),
    ("Only http and https URLs are supported.", "foreign-url-scheme"),
    // Paths.
    ("{} does not exist", "foreign-path-missing"),
    (
        "{} is outside the directories that may be accessed: {,}; only the user can grant more",
        "foreign-path-outside",
    ),
    ("{} is a directory", "foreign-path-directory"),
    ("{} is a file", "foreign-path-file"),
    ("{} is not a regular file", "foreign-path-irregular"),
    ("{} is read-only: the user granted read access only", "foreign-path-read-only"),
    ("{} is not a text file ({} bytes)", "foreign-path-binary"),
    ("permission denied: {} or a directory above it", "foreign-path-denied"),
    ("{} is not a text file.", "foreign-not-text"),
    // Commands.
    (
        "[the command had read-only access to {,}: the user has not approved changes there]",
        "foreign-command-read-only",
    ),
    ("command exited with status {#}", "foreign-command-status"),
    ("command exited with status {#}: a file became too large", "foreign-command-file"),
    ("command was killed: it started too many processes", "foreign-command-processes"),
    ("command was killed: it used too much memory", "foreign-command-memory"),
    ("command was killed: it used too much disk space", "foreign-command-disk"),
    ("command was killed by signal {#}", "foreign-command-signal"),
    (
        "command timed out after {#} s and was killed, with all its child processes",
        "foreign-command-timeout",
    ),
    // Any other reason comes last: it fits each of the reasons above.
    ("Not run: {*}.", "foreign-not-run"),
];

/// The wordings of calls that succeeded: their first lines.
pub(super) const DONE: &[(&str, &str)] = &[
    ("Created {} ({#} byte{})", "foreign-created"),
    ("Overwrote {} ({#} byte{})", "foreign-overwrote"),
    ("Edited {}: 1 replacement at line {#}", "foreign-edited"),
    ("Edited {}: {#} replacements, the first at line {#}", "foreign-edited-several"),
    ("{} already has this content; it was not written.", "foreign-not-written"),
    ("[no output]", "foreign-no-output"),
    ("[no files match {}]", "foreign-no-files"),
    ("[no lines match {}]", "foreign-no-lines"),
    ("[no message before this turn matches {}]", "foreign-no-messages"),
    ("[the directory is empty]", "foreign-empty-directory"),
    ("[the file is empty]", "foreign-empty-file"),
    ("[the task list is empty]", "foreign-empty-list"),
    ("[the tool returned no content]", "foreign-no-content"),
    ("[lines {#} to {#} of {#}]", "foreign-lines"),
    ("[Image: {}]", "foreign-image"),
    ("The context will be compacted before the next call.", "foreign-will-fold"),
    ("Handed over to {}.", "foreign-handed-over"),
];
