//! `waterline check`: the validity checker for anyone's message list.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use waterline::message::Wire;
use waterline_provider::wire;

use crate::input::{Input, output, raw_output};
use crate::show::plain;

/// Check anyone's message list against the rules of a wire
///
/// Exit status: 0 all valid, 1 something is not, 2 the input is no conversation.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// A JSON conversation, a request body, or JSON lines with one conversation a line; `-` for
    /// standard input
    file: String,
    /// The wire whose rules apply: openai-chat, openai-responses, anthropic, gemini (default: the
    /// one it is written in)
    #[arg(long, value_parser = wire::named)]
    wire: Option<Wire>,
    /// One JSON object a conversation
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let input = Input::open(&arguments.file, arguments.wire)?;
    input.count()?;
    let mut out = if arguments.json { raw_output() } else { output() };
    let (mut conversations, mut invalid) = (0, 0);
    input.each(|conversation| {
        let list: Vec<&str> = conversation.list().collect();
        let found = wire::check(conversation.wire, &list);
        let id = conversation.id.clone().unwrap_or_else(|| conversations.to_string());
        conversations += 1;
        invalid += usize::from(!found.is_empty());
        if arguments.json {
            let found: Vec<_> = found
                .iter()
                .map(|v| serde_json::json!({"message": v.at, "rule": v.rule, "text": v.text}))
                .collect();
            let line = serde_json::json!({"id": id, "wire": conversation.wire.name(), "messages": list.len(), "violations": found});
            writeln!(out, "{line}")?;
        } else {
            for violation in found {
                writeln!(out, "{}", plain(&format!("{id}: {violation}")))?;
            }
        }
        Ok(())
    })?;
    if !arguments.json {
        writeln!(out, "{conversations} conversations, {invalid} invalid")?;
    }
    out.flush()?;
    Ok(if invalid > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS })
}
