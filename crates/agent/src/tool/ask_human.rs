//! `ask_human`: asks the user a question. The turn waits for the answer, even across restarts.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Capability, Effect, Failure, Output, Tool, ToolContext};

#[derive(Debug)]
pub(super) struct AskHuman;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The question, complete and specific.
    question: String,
    /// Suggested answers. The user may still reply with something else.
    #[serde(default)]
    choices: Vec<String>,
}

impl Tool for AskHuman {
    type Arguments = Arguments;
    const NAME: &'static str = "ask_human";
    const ABOUT: &'static str = "\
        Ask the user a question and wait for the answer. Use it only for decisions or information \
        that you cannot find yourself with the other tools. Returns the user's answer, which may \
        take a long time to arrive.";
    const CAPABILITY: Capability = Capability::AskUser;

    async fn run(&self, arguments: Arguments, _: &ToolContext) -> Result<Output, Failure> {
        let Arguments { question, choices } = arguments;
        if question.trim().is_empty() {
            return Err(Failure::new("`question` must not be empty."));
        }
        Ok(Output::default().with(Effect::Ask { question, choices }))
    }
}
