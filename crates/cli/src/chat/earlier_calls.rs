//! The calls that earlier processes made in a session: `/unfold` shows them like those of this one,
//! and the numbers of new calls continue theirs.

use anyhow::Result;
use waterline::message::{Message, ToolCall, ToolResult};
use waterline_agent::WholeOutput;
use waterline_agent::tool::{Toolbox, info_of};
use waterline_log::{Artifact, Log};
use waterline_provider::wire::parse_stored;

use super::Chat;
use crate::terminal::FinishedCall;

/// The number of messages that are read, the newest: a session may have any number, and the start
/// of a chat should not depend on it.
const NEWEST: u64 = 5_000;

impl Chat {
    /// Gives the screen the calls of the session that have results, in their order.
    pub(super) async fn read_earlier_calls(&self) -> Result<()> {
        let tip = self.session().tip;
        let end = tip.position();
        let read = move |log: &Log, id: &str| {
            Ok((log.entries_in(tip, end.saturating_sub(NEWEST)..end)?, log.artifacts(id)?))
        };
        let (entries, artifacts) = self.on_log(read).await?;
        let messages: Vec<Message> =
            entries.iter().map(|entry| entry.message(parse_stored)).collect();
        let toolbox = &self.runner.agent.config().toolbox;
        self.screen.set_calls(finished(&messages, toolbox, &artifacts));
        Ok(())
    }
}

/// Returns the calls that have results.
fn finished(messages: &[Message], toolbox: &Toolbox, artifacts: &[Artifact]) -> Vec<FinishedCall> {
    let mut open: Vec<&ToolCall> = Vec::new();
    let mut finished = Vec::new();
    for message in messages {
        open.extend(message.calls());
        for result in message.results() {
            let Some(at) = open.iter().position(|call| call.id == result.call_id) else { continue };
            let call = open.remove(at);
            let tool = toolbox.find(&call.name);
            finished.push(FinishedCall {
                name: call.name.clone(),
                arguments: call.arguments.clone(),
                text: result.text(),
                info: tool.map(|tool| info_of(&**tool, &call.arguments)).unwrap_or_default(),
                changes: Vec::new(),
                whole: whole(result, artifacts),
            });
        }
    }
    finished
}

/// Returns the whole output of a result that is only a part of it.
fn whole(result: &ToolResult, artifacts: &[Artifact]) -> Option<WholeOutput> {
    let truncated = result.parts.iter().find_map(|part| part.truncated.as_deref());
    let id = truncated?.artifact.as_deref()?;
    let artifact = artifacts.iter().find(|artifact| artifact.hash.starts_with(id))?;
    Some(WholeOutput::new(artifact.hash.clone(), result.text().lines().count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_with_results_are_found_in_the_order_of_their_results() {
        let call = |id: &str, name: &str| ToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: "{}".to_owned(),
        };
        let result = |id: &str, text: &str| Message::tool_result(id, text);
        let messages = [
            Message::user("go"),
            Message::assistant_with_calls("", [call("1", "a"), call("2", "b")]),
            result("2", "second"),
            result("1", "first"),
            Message::assistant_with_calls("", [call("3", "c")]),
        ];
        let found = finished(&messages, &Toolbox::without_commands(), &[]);
        let found: Vec<(&str, &str)> =
            found.iter().map(|call| (call.name.as_str(), call.text.as_str())).collect();
        assert_eq!(found, [("b", "second"), ("a", "first")]);
    }
}
