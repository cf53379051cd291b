//! `ask_human`: a question to the person. The turn waits for the answer, also over the end of the
//! program.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Capability, Effect, Failure, Output, Tool, ToolContext};

/// Asks the person.
#[derive(Debug)]
pub(super) struct AskHuman;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// What to ask.
    question: String,
    /// Answers to choose from; the person may still say something else.
    #[serde(default)]
    choices: Vec<String>,
}

impl Tool for AskHuman {
    type Arguments = Arguments;
    const NAME: &'static str = "ask_human";
    const ABOUT: &'static str =
        "Ask the user something that only they can decide or know. The answer may take long.";
    const CAPABILITY: Capability = Capability::AskUser;

    async fn run(&self, arguments: Arguments, _: &ToolContext) -> Result<Output, Failure> {
        let Arguments { question, choices } = arguments;
        if question.trim().is_empty() {
            return Err(Failure::new("the question is empty"));
        }
        Ok(Output::default().with(Effect::Ask { question, choices }))
    }
}
