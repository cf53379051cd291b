//! `now`: returns the date and time.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Capability, Failure, Output, Tool, ToolContext};

#[derive(Debug)]
pub(super) struct Now;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// An IANA time zone such as Europe/Berlin. Default: the user's time zone.
    #[serde(default)]
    zone: Option<String>,
}

impl Tool for Now {
    type Arguments = Arguments;
    const NAME: &'static str = "now";
    const ABOUT: &'static str = "Get the current date, time, UTC offset and weekday.";
    const CAPABILITY: Capability = Capability::Read;

    async fn run(&self, arguments: Arguments, _: &ToolContext) -> Result<Output, Failure> {
        let now = match arguments.zone {
            Some(zone) => {
                let there = jiff::Timestamp::now().in_tz(&zone);
                there.map_err(|_| {
                    Failure::new(format!(
                        "Unknown time zone {zone:?}. Use an IANA name such as Europe/Berlin."
                    ))
                })?
            }
            None => jiff::Zoned::now(),
        };
        Ok(Output::text(now.strftime("%Y-%m-%d %H:%M:%S %:z, %A").to_string()))
    }
}
