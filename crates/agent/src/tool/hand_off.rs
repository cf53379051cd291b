//! `hand_off`: another role goes on with the work, from a package of paths and a few words.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{Capability, Effect, Failure, Output, Tool, ToolContext};

/// How long a package may be, in characters: it passes paths, not contents.
const PACKAGE_CHARS: usize = 20_000;

/// Hands off.
#[derive(Debug)]
pub(super) struct HandOff;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The role that goes on.
    to: String,
    /// What was done, and what it should do.
    summary: String,
    /// The files it needs, as paths.
    #[serde(default)]
    paths: Vec<String>,
    /// What it must not change or decide by itself.
    #[serde(default)]
    constraints: Vec<String>,
}

impl Tool for HandOff {
    type Arguments = Arguments;
    const NAME: &'static str = "hand_off";
    const ABOUT: &'static str =
        "Hand the work over to another role. Pass paths of files, not what is in them.";
    const CAPABILITY: Capability = Capability::HandOff;
    const ENABLED_BY_DEFAULT: bool = false;

    async fn run(&self, arguments: Arguments, context: &ToolContext) -> Result<Output, Failure> {
        let Arguments { to, summary, paths, constraints } = arguments;
        let own = context.host.may_hand_off(&to)?;
        let package = json!({
            "version": 1,
            "handoff_type": format!("{own}_to_{to}"),
            "timestamp": jiff::Timestamp::now().to_string(),
            "summary": summary,
            "paths": paths,
            "constraints": constraints,
        });
        if package.to_string().chars().count() > PACKAGE_CHARS {
            return Err(Failure::new(
                "the package is too long; write the details into files and pass their paths",
            ));
        }
        Ok(Output::text(format!("{to} goes on")).with(Effect::HandOff { to, package }))
    }
}
