//! `run_bash_command`: runs a command in the workspace, confined by the kernel.

use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use waterline_sandbox::{Rules, Shell};

use super::{Capability, Failure, Output, Subject, Tool, ToolContext};
use crate::describe::text;

/// Maximum timeout in seconds.
const MAX_TIMEOUT: u64 = 600;

#[derive(Debug)]
pub(super) struct RunBashCommand(pub(crate) Arc<Shell>);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The bash command. It starts in the workspace directory.
    command: String,
    /// Timeout in seconds, at most 600.
    #[serde(default)]
    timeout: Option<u64>,
}

impl Tool for RunBashCommand {
    type Arguments = Arguments;
    const NAME: &'static str = "run_bash_command";
    const ABOUT: &'static str = "\
        Run a bash command in the workspace and return its combined output; a failed command also \
        returns its exit status. The command is sandboxed: it can access only the workspace, \
        granted directories and system programs, and has no network unless the user allows it. \
        Each call starts a new shell, and background processes are killed when the command ends.";
    const CAPABILITY: Capability = Capability::Execute;

    fn subject(arguments: &Value) -> Subject {
        text(arguments, "command").map_or(Subject::Unknown, Subject::Command)
    }

    async fn run(&self, arguments: Arguments, context: &ToolContext) -> Result<Output, Failure> {
        let root = context.workspace.path();
        let mut rules = Rules {
            write: vec![root.to_owned()],
            read: self.0.read.clone(),
            network: self.0.network,
        };
        for grant in context.workspace.grants() {
            let list = if grant.writable { &mut rules.write } else { &mut rules.read };
            list.push(grant.path);
        }
        let rules = rules.without_nested();
        let mut shell = (*self.0).clone();
        shell.environment.push(("HOME".to_owned(), root.display().to_string()));
        shell.environment.push(("TMPDIR".to_owned(), root.join("temp").display().to_string()));
        let timeout =
            arguments.timeout.map(|seconds| Duration::from_secs(seconds.clamp(1, MAX_TIMEOUT)));
        let ended = shell.run(&rules, root, &arguments.command, timeout).await?;
        let output = ended.output.trim_end();
        let output = if output.is_empty() { "[no output]" } else { output };
        match ended.status {
            Some(status) if status.success() => Ok(Output::text(output)),
            Some(status) => {
                let how = match (status.code(), status.signal()) {
                    (Some(code), _) => format!("command exited with status {code}"),
                    (None, signal) => {
                        format!("command was killed by signal {}", signal.unwrap_or_default())
                    }
                };
                Err(Failure::new(format!("{output}\n[{how}]")))
            }
            None => {
                let seconds = timeout.unwrap_or(self.0.timeout).as_secs();
                Err(Failure::new(format!(
                    "{output}\n[command timed out after {seconds} s and was killed, with all its \
                     child processes]"
                )))
            }
        }
    }
}
