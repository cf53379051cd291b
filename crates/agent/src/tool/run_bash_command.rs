//! `run_bash_command`: a command in the workspace, confined by the kernel.

use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use waterline_sandbox::{Rules, Shell};

use super::{Capability, Failure, Output, Subject, Tool, ToolContext};
use crate::describe::text;

/// The longest time a command may ask for, in seconds.
const LONGEST: u64 = 600;

/// Runs commands.
#[derive(Debug)]
pub(super) struct RunBashCommand(pub(crate) Arc<Shell>);

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The command, as bash reads it. It begins in the workspace.
    command: String,
    /// Seconds it may take, up to 600.
    #[serde(default)]
    timeout: Option<u64>,
}

impl Tool for RunBashCommand {
    type Arguments = Arguments;
    const NAME: &'static str = "run_bash_command";
    const ABOUT: &'static str = "Run a bash command in the workspace. It sees only the workspace, granted folders and the system's programs; it \
        has no network unless the user allows it; what it leaves running is ended with it.";
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
        let time = arguments.timeout.map(|seconds| Duration::from_secs(seconds.clamp(1, LONGEST)));
        let ended = shell.run(&rules, root, &arguments.command, time).await?;
        let output = ended.output.trim_end();
        let output = if output.is_empty() { "[no output]" } else { output };
        match ended.status {
            Some(status) if status.success() => Ok(Output::text(output)),
            Some(status) => {
                let how = match (status.code(), status.signal()) {
                    (Some(code), _) => format!("exit status {code}"),
                    (None, signal) => format!("ended by signal {}", signal.unwrap_or_default()),
                };
                Err(Failure::new(format!("{output}\n[{how}]")))
            }
            None => {
                let seconds = time.unwrap_or(self.0.timeout).as_secs();
                Err(Failure::new(format!(
                    "{output}\n[ended after {seconds} s, with everything it had started]"
                )))
            }
        }
    }
}
