//! `run_bash_command`: runs a command in the workspace, confined by the kernel.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use waterline_sandbox::protected::{self, NAMES};
use waterline_sandbox::{CommandOutput, ExceededLimit, Network, Refusal, Rules, Shell};

use super::{Capability, Failure, Output, Subject, Tool, ToolContext};
use crate::describe::text;

/// Maximum timeout in seconds.
const MAX_TIMEOUT: u64 = 600;

#[derive(Debug)]
pub(super) struct RunBashCommand(pub(crate) Arc<Shell>);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The bash command. It starts in the working directory.
    command: String,
    /// Timeout in seconds, at most 600.
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
        Run a bash command in the working directory and return its combined output; a failed \
        command also returns its exit status. The command is sandboxed: it can access only your \
        directories and system programs, and has no network unless the user allows it. \
        Each call starts a new shell, and background processes are killed when the command ends.";
    const CAPABILITY: Capability = Capability::Execute;

    fn subject(arguments: &Value) -> Subject {
        text(arguments, "command").map_or(Subject::Unknown, Subject::Command)
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
        let shell = shell(&self.0, root);
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
        if !ended.status.is_some_and(|status| status.success()) {
            ended.output = explained(&ended.output, &context.read_only);
        }
        result(ended, timeout.unwrap_or(self.0.timeout), &rules.network)
    }
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

/// Returns a shell whose home directory is the workspace.
fn shell(shell: &Shell, root: &Path) -> Shell {
    let mut shell = shell.clone();
    let is_offline = shell.network == Network::Off;
    shell.toolchains.link_packages(root, is_offline);
    let own = [("HOME", root.to_owned()), ("TMPDIR", root.join("temp"))]
        .map(|(name, path)| (name.to_owned(), path.display().to_string()));
    // The variables that the user chose come last and take precedence.
    let chosen = std::mem::take(&mut shell.environment);
    shell.environment = shell.toolchains.variables.clone();
    if is_offline {
        shell.environment.extend(shell.toolchains.offline_variables.clone());
    }
    // The system's configuration is not readable, and git fails if it cannot read it.
    shell.environment.push(("GIT_CONFIG_NOSYSTEM".to_owned(), "1".to_owned()));
    shell.environment.extend(chosen);
    shell.environment.extend(own);
    shell
}

/// Returns the result for the model.
fn result(ended: CommandOutput, timeout: Duration, network: &Network) -> Result<Output, Failure> {
    let output = ended.output.trim_end();
    let mut text = if output.is_empty() { "[no output]" } else { output }.to_owned();
    let how = match (ended.status, ended.exceeded) {
        (_, Some(ExceededLimit::Processes)) => {
            Some("command was killed: it started too many processes".to_owned())
        }
        (_, Some(ExceededLimit::Memory)) => {
            Some("command was killed: it used too much memory".to_owned())
        }
        (None, _) => Some(format!(
            "command timed out after {} s and was killed, with all its child processes",
            timeout.as_secs()
        )),
        (Some(status), _) if status.success() => None,
        (Some(status), _) => Some(match (status.code(), status.signal()) {
            (Some(code), _) => format!("command exited with status {code}"),
            (None, signal) => {
                format!("command was killed by signal {}", signal.unwrap_or_default())
            }
        }),
    };
    let failed = how.is_some();
    let notes = ended.refused.iter().map(|refusal| note(refusal, network));
    for line in how.into_iter().chain(notes) {
        text.push_str(&format!("\n[{line}]"));
    }
    match failed {
        true => Err(Failure { refused: ended.refused, ..Failure::new(text) }),
        false => Ok(Output { refused: ended.refused, ..Output::text(text) }),
    }
}

/// Explains a refusal of the sandbox to the model.
fn note(refusal: &Refusal, network: &Network) -> String {
    match refusal {
        Refusal::Outside { path } => format!(
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
                |path| format!("was renamed to {}", path.display()),
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
        _ => match network {
            Network::Hosts(hosts) => format!(
                "commands can reach only these hosts, through the proxy in HTTPS_PROXY: {}; only \
                 the user can allow more",
                hosts.join(", ")
            ),
            _ => "commands have no network access; only the user can allow it".to_owned(),
        },
    }
}

/// Adds to the output of a failed command which directories it could not change.
fn explained(output: &str, read_only: &[PathBuf]) -> String {
    let names: Vec<String> = read_only.iter().map(|path| path.display().to_string()).collect();
    match names.is_empty() {
        true => output.to_owned(),
        false => format!(
            "{output}\n[the command had read-only access to {}: the user has not approved changes there]",
            names.join(", ")
        ),
    }
}
