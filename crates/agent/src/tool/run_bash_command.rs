//! `run_bash_command`: runs a command in the workspace, confined by the kernel.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use waterline::message::{Body, Part};
use waterline::truncate::join;
use waterline_sandbox::protected::{self, NAMES};
use waterline_sandbox::{CommandOutput, ExceededLimit, Network, OnOutput, Refusal, Rules, Shell};

use super::{Capability, Failure, Output, Subject, Tool, ToolContext, terminal_output};
use crate::changes::BLOCKED_DIRECTORY;
use crate::describe::{text, values};

/// How much of the output is kept to report its last line.
const TAIL_BYTES: usize = 2_000;

/// Maximum timeout in seconds.
const MAX_TIMEOUT: u64 = 600;

/// The exit status of a shell whose last program was killed because it wrote too large a file.
const FILE_TOO_LARGE: i32 = 128 + 25;

/// Settings of git: its maintenance must not move to the background, because commands cannot leave
/// their session.
const GIT_SETTINGS: [(&str, &str); 5] = [
    ("GIT_CONFIG_COUNT", "2"),
    ("GIT_CONFIG_KEY_0", "maintenance.autoDetach"),
    ("GIT_CONFIG_VALUE_0", "false"),
    ("GIT_CONFIG_KEY_1", "gc.autoDetach"),
    ("GIT_CONFIG_VALUE_1", "false"),
];

#[derive(Debug)]
pub(super) struct RunBashCommand(pub(crate) Arc<Shell>);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The bash command. It starts in the working directory.
    command: String,
    /// Timeout in seconds, at most 600. Default: 120, unless the user configured another.
    #[serde(default)]
    timeout: Option<u64>,
    /// Protected paths in granted directories that the command must change, such as `.git` for a
    /// commit, `.git/config`, `.git/hooks` or `.vscode`. The user must approve them.
    #[serde(default)]
    protected: Vec<String>,
}

impl Tool for RunBashCommand {
    type Arguments = Arguments;
    const NAME: &'static str = "run_bash_command";
    const ABOUT: &'static str = "\
        Run a bash command in the working directory and return its combined stdout and stderr. \
        Long output is truncated in the middle; `read_artifact` returns the rest. A failed command \
        also returns its exit status. Color codes are removed, and overwritten lines, such as \
        progress bars, show only their final state. The command is sandboxed: it can access only \
        your directories and system programs, and has no network unless the user allows it. Each \
        call starts a new shell, and background processes are killed when the command ends.";
    const CAPABILITY: Capability = Capability::Execute;

    fn subject(arguments: &Value) -> Subject {
        text(arguments, "command").map_or(Subject::Unknown, Subject::Command)
    }

    fn summary(arguments: &Value) -> String {
        // The approval names the protected paths.
        let command = text(arguments, "command").unwrap_or_else(|| values(arguments));
        let line = command.replace('\n', " ");
        match arguments.get("timeout").and_then(Value::as_u64) {
            Some(seconds) => format!("{line} (timeout {seconds} s)"),
            None => line,
        }
    }

    fn protected(arguments: &Value) -> Vec<String> {
        let listed = arguments.get("protected").and_then(Value::as_array);
        listed.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    async fn run(&self, arguments: Arguments, context: &ToolContext) -> Result<Output, Failure> {
        let unknown = arguments.protected.iter().find(|name| !NAMES.contains(&name.as_str()));
        if let Some(name) = unknown {
            return Err(Failure::new(format!(
                "{name:?} is not a protected path. Protected paths are: {}.",
                NAMES.join(", ")
            )));
        }
        let root = context.workspace.path();
        let rules = rules(&self.0, context, arguments.protected);
        let identity = identity(&self.0, context, &rules).await;
        let mut shell = shell(&self.0, root, identity);
        shell.on_output = Some(on_output(context));
        let timeout =
            arguments.timeout.map(|seconds| Duration::from_secs(seconds.clamp(1, MAX_TIMEOUT)));
        let recorder = Arc::clone(&context.recorder);
        let call = context.call_key();
        context
            .on_files(move |workspace| {
                recorder.before_command(workspace, &call);
                Ok(())
            })
            .await?;
        let directory = context.workspace.working_directory();
        let ended = shell.run(&rules, directory, &arguments.command, timeout).await;
        // Also recorded if it failed.
        let recorder = Arc::clone(&context.recorder);
        let call = context.call_key();
        let recorded = context.on_files(move |workspace| {
            recorder.after_command(workspace, &call).map_err(|why| Failure::new(why.to_string()))
        });
        recorded.await?;
        let mut ended = ended?;
        show_as_terminal(&mut ended);
        if !ended.status.is_some_and(|status| status.success()) {
            ended.output = explained(&ended.output, &context.read_only);
        }
        result(ended, timeout.unwrap_or(self.0.timeout), &rules.network)
    }
}

/// Reports the last line of the output while a command runs.
fn on_output(context: &ToolContext) -> OnOutput {
    let context = context.clone();
    let tail = Mutex::new(Vec::new());
    OnOutput::new(move |bytes| {
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend_from_slice(bytes);
        let excess = tail.len().saturating_sub(TAIL_BYTES);
        tail.drain(..excess);
        let text = terminal_output::plain(&String::from_utf8_lossy(&tail));
        if let Some(line) = text.lines().rev().find(|line| !line.trim().is_empty()) {
            context.report_output(line);
        }
    })
}

/// Returns the permissions of a command: the workspace, the granted directories, and the user's
/// toolchains.
fn rules(shell: &Shell, context: &ToolContext, names: Vec<String>) -> Rules {
    let workspace = &context.workspace;
    let read = shell.read.iter().chain(&shell.toolchains.read).cloned().collect();
    let mut rules = Rules {
        write: vec![workspace.path().to_owned()],
        read,
        read_only: Vec::new(),
        guarded: Vec::new(),
        unguarded: vec![workspace.path().to_owned()],
        unprotected: shell.unprotected.iter().cloned().chain(names).collect(),
        network: shell.network.clone(),
        limits: shell.limits.clone(),
    };
    for grant in workspace.grants() {
        let is_writable = grant.writable && !context.read_only.contains(&grant.path);
        if let Some(directory) = protected::git_directory_outside(&grant.path) {
            allow_git_directory(&mut rules, directory, is_writable);
        }
        if is_writable {
            rules.guarded.push(grant.path.clone());
            rules.write.push(grant.path);
        } else {
            rules.read_only.push(grant.path);
        }
    }
    rules.without_nested()
}

/// Lets a command read the git directory of a worktree, and change it if the user agreed to `.git`.
fn allow_git_directory(rules: &mut Rules, directory: PathBuf, is_writable: bool) {
    let names = [protected::GIT, protected::GIT_CONFIG, protected::GIT_HOOKS];
    let is_agreed = rules.unprotected.iter().any(|name| names.contains(&name.as_str()));
    if is_writable && is_agreed {
        rules.guarded.push(directory.clone());
        rules.write.push(directory);
    } else {
        rules.read.push(directory);
    }
}

/// Returns the variables that name the author of commits, for a command that may commit in a
/// granted directory.
async fn identity(shell: &Shell, context: &ToolContext, rules: &Rules) -> Vec<(String, String)> {
    let is_agreed = rules.unprotected.iter().any(|name| name == protected::GIT);
    match &shell.git {
        Some(git) if is_agreed => {
            git.identity(context.workspace.working_directory(), &rules.write).await
        }
        _ => Vec::new(),
    }
}

/// Returns a shell whose home directory is the workspace. `identity` names the author of commits.
fn shell(shell: &Shell, root: &Path, identity: Vec<(String, String)>) -> Shell {
    let mut shell = shell.clone();
    let is_offline = shell.network == Network::Off;
    shell.toolchains.link_packages(root, is_offline);
    let own = [("HOME", root.to_owned()), ("TMPDIR", root.join("temp"))]
        .map(|(name, path)| (name.to_owned(), path.display().to_string()));
    // Java takes the home directory from the system's list of users, not from `HOME`.
    let gradle = ("GRADLE_USER_HOME".to_owned(), root.join(".gradle").display().to_string());
    // The variables that the user chose come last and take precedence.
    let chosen = std::mem::take(&mut shell.environment);
    shell.environment = shell.toolchains.variables.clone();
    if is_offline {
        shell.environment.extend(shell.toolchains.offline_variables.clone());
    }
    // The system's configuration is not readable, and git fails if it cannot read it.
    shell.environment.push(("GIT_CONFIG_NOSYSTEM".to_owned(), "1".to_owned()));
    shell.environment.extend(GIT_SETTINGS.map(|(name, value)| (name.to_owned(), value.to_owned())));
    shell.environment.extend(identity);
    shell.environment.push(gradle);
    shell.environment.extend(chosen);
    shell.environment.extend(own);
    shell.blocked = Some(root.join(BLOCKED_DIRECTORY));
    shell
}

/// Replaces the output with what a terminal would show of it. Its gap stays where it is.
fn show_as_terminal(ended: &mut CommandOutput) {
    let gap = ended.gap.as_ref().map(|gap| gap.at);
    let (head, tail) = ended.output.split_at_checked(gap.unwrap_or(0)).unwrap_or_default();
    let mut shown = terminal_output::plain(head);
    if let Some(gap) = &mut ended.gap {
        gap.at = shown.len();
    }
    shown.push_str(&terminal_output::plain(tail));
    ended.output = shown;
}

/// Returns the result for the model.
fn result(ended: CommandOutput, timeout: Duration, network: &Network) -> Result<Output, Failure> {
    let output = ended.output.trim_end();
    let mut part = match ended.gap.and_then(|gap| Some((gap, output.split_at_checked(gap.at)?))) {
        Some((gap, (head, tail))) => join(head, tail, gap.chars).into_part(),
        None if output.is_empty() => Part::text("[no output]"),
        None => Part::text(output),
    };
    let how = match (ended.status, ended.exceeded) {
        (_, Some(ExceededLimit::Processes)) => {
            Some("command was killed: it started too many processes".to_owned())
        }
        (_, Some(ExceededLimit::Memory)) => {
            Some("command was killed: it used too much memory".to_owned())
        }
        (_, Some(ExceededLimit::Disk)) => {
            Some("command was killed: it used too much disk space".to_owned())
        }
        (None, _) => Some(format!(
            "command timed out after {} s and was killed, with all its child processes",
            timeout.as_secs()
        )),
        (Some(status), _) if status.success() => None,
        (Some(status), _) => Some(match (status.code(), status.signal()) {
            (Some(FILE_TOO_LARGE), _) => {
                format!("command exited with status {FILE_TOO_LARGE}: a file became too large")
            }
            (Some(code), _) => format!("command exited with status {code}"),
            (None, signal) => {
                format!("command was killed by signal {}", signal.unwrap_or_default())
            }
        }),
    };
    let failed = how.is_some();
    let notes = ended.refused.iter().map(|refusal| note(refusal, network));
    if let Body::Text(text) = &mut part.body {
        for line in how.into_iter().chain(notes) {
            text.push_str(&format!("\n[{line}]"));
        }
    }
    let output = Output { parts: vec![part], refused: ended.refused, ..Output::default() };
    if failed { Err(output.into_failure()) } else { Ok(output) }
}

/// Explains a refusal of the sandbox to the model.
fn note(refusal: &Refusal, network: &Network) -> String {
    match refusal {
        Refusal::Outside { path, .. } | Refusal::File { path, .. } => format!(
            "the sandbox may have refused access to {}: it is outside the directories that \
             commands may access; only the user can allow it",
            path.display()
        ),
        Refusal::ReadOnly { path } => format!(
            "the sandbox may have refused to change {}: its directory was granted for reading only",
            path.display()
        ),
        Refusal::Protected { name } => format!(
            "{name} is read-only for commands; if the task needs it, repeat the call with {name:?} \
             in `protected`, and the user is asked"
        ),
        Refusal::PutBack(blocked) => {
            let moved = blocked.moved_to.as_ref().map_or_else(
                || "was restored".to_owned(),
                |path| format!("was moved to {}", path.display()),
            );
            format!(
                "{} {moved}: {name} is protected; if the task needs it, repeat the call with \
                 {name:?} in `protected`, and the user is asked",
                blocked.path.display(),
                name = blocked.name
            )
        }
        Refusal::Unchecked { path } => format!(
            "protected paths below {} could not be checked: it has too many files, or cannot be \
             read or renamed",
            path.display()
        ),
        Refusal::Socket => "commands cannot listen on a port or connect to anything themselves, \
             not even on this machine; only the user can allow the network"
            .to_owned(),
        Refusal::Offline { program, host } => format!(
            "{program} works offline, because commands have no network access, and has only the \
             packages that were downloaded before; only the user can allow {host}"
        ),
        Refusal::Host { host } => no_host(network, host, host),
        _ => no_host(network, "more", "it"),
    }
}

/// Explains that a host cannot be reached. `more` says what the user can allow if some hosts are
/// allowed, `any` if none are.
fn no_host(network: &Network, more: &str, any: &str) -> String {
    match network {
        Network::Hosts(hosts) => format!(
            "commands can reach only these hosts, through the proxy in HTTPS_PROXY: {}; only the \
             user can allow {more}",
            hosts.join(", ")
        ),
        _ => format!("commands have no network access; only the user can allow {any}"),
    }
}

/// What programs print if they may not change a file.
const REFUSED: [&str; 4] = ["denied", "not permitted", "read-only", "Read-only"];

/// Adds to the output of a failed command which directories it could not change, if that may be why
/// it failed.
fn explained(output: &str, read_only: &[PathBuf]) -> String {
    let names: Vec<String> = read_only.iter().map(|path| path.display().to_string()).collect();
    let was_refused = REFUSED.iter().any(|message| output.contains(message));
    match names.is_empty() || !was_refused {
        true => output.to_owned(),
        false => format!(
            "{output}\n[the command had read-only access to {}: the user has not approved changes \
             there]",
            names.join(", ")
        ),
    }
}
