//! `now`: the time.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Capability, Failure, Output, Tool, ToolContext};

/// Tells the time.
#[derive(Debug)]
pub(super) struct Now;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// A time zone such as Europe/Berlin; the user's own if none is named.
    #[serde(default)]
    zone: Option<String>,
}

impl Tool for Now {
    type Arguments = Arguments;
    const NAME: &'static str = "now";
    const ABOUT: &'static str = "Tell the date and the time.";
    const CAPABILITY: Capability = Capability::Read;

    async fn run(&self, arguments: Arguments, _: &ToolContext) -> Result<Output, Failure> {
        let now = match arguments.zone {
            Some(zone) => {
                let there = jiff::Timestamp::now().in_tz(&zone);
                there.map_err(|_| Failure::new(format!("there is no time zone {zone:?}")))?
            }
            None => jiff::Zoned::now(),
        };
        Ok(Output::text(now.strftime("%Y-%m-%d %H:%M:%S %:z, %A").to_string()))
    }
}
