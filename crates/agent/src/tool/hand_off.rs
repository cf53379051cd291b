//! `hand_off`: hands the work to another role, with a summary and file paths.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{Capability, Effect, Failure, Output, Tool, ToolContext};

/// Maximum length of a package in characters: it passes paths, not contents.
const PACKAGE_CHARS: usize = 20_000;

#[derive(Debug)]
pub(super) struct HandOff;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The role that takes over.
    to: String,
    /// What was done and what that role should do next.
    summary: String,
    /// Paths of the files it needs.
    #[serde(default)]
    paths: Vec<String>,
    /// What it must not change or decide on its own.
    #[serde(default)]
    constraints: Vec<String>,
}

impl Tool for HandOff {
    type Arguments = Arguments;
    const NAME: &'static str = "hand_off";
    const ABOUT: &'static str = "\
        Hand the work over to another role, which continues with its own context. Pass file \
        paths, not file contents: all arguments together may have at most 20,000 characters. Your \
        turn ends after the call.";
    const CAPABILITY: Capability = Capability::HandOff;
    const ENABLED_BY_DEFAULT: bool = false;

    async fn run(&self, arguments: Arguments, context: &ToolContext) -> Result<Output, Failure> {
        let Arguments { to, summary, paths, constraints } = arguments;
        let own_role = context.host.may_hand_off(&to)?;
        let package = json!({
            "version": 1,
            "handoff_type": format!("{own_role}_to_{to}"),
            "timestamp": jiff::Timestamp::now().to_string(),
            "summary": summary,
            "paths": paths,
            "constraints": constraints,
        });
        if package.to_string().chars().count() > PACKAGE_CHARS {
            return Err(Failure::new(
                "The arguments are too long. Write the details to files and pass their paths.",
            ));
        }
        Ok(Output::text(format!("Handed over to {to}.")).with(Effect::HandOff { to, package }))
    }
}
