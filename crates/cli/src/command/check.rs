//! `waterline check`: checks message lists against the rules of a wire.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, bail};
use serde_json::json;
use waterline::message::{Message, Role, Wire};
use waterline::validity::Violation;
use waterline_provider::wire::{self, Conversation};

use crate::input::{Input, output, raw_output};
use crate::show::{phrase, plain};
use crate::text;

/// Check message lists against the rules of a wire format
///
/// Exit status: 0 if all are valid, 1 if some are not, 2 if the input is not a conversation.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// JSON conversation, request body, or JSON lines with one conversation per line; `-` for
    /// standard input
    file: String,
    /// Wire format to check against: openai-chat, openai-responses, anthropic, gemini (default:
    /// that of the file)
    #[arg(long, value_parser = wire::named)]
    wire: Option<Wire>,
    /// Print one JSON object per conversation
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let input = Input::open(&arguments.file, arguments.wire)?;
    if input.is_session_file() {
        bail!(text!("check-convert", path = arguments.file.as_str()));
    }
    let several = input.count()? > 1;
    let mut out = if arguments.json { raw_output() } else { output() };
    let mut conversations = 0_usize;
    let mut invalid = 0_usize;
    input.each(|conversation| {
        let list: Vec<&str> = conversation.list().collect();
        let found = wire::check(conversation.wire, &list);
        conversations += 1;
        let id = conversation.id.clone().unwrap_or_else(|| conversations.to_string());
        invalid += usize::from(!found.is_empty());
        if arguments.json {
            let found: Vec<_> = found
                .iter()
                .map(|v| {
                    let message = number(&conversation, v.at);
                    json!({"message": message, "rule": v.rule, "text": v.text.as_str()})
                })
                .collect();
            let line = json!({
                "id": id,
                "wire": conversation.wire.name(),
                "messages": conversation.messages.len() - prompts(&conversation),
                "violations": found,
            });
            writeln!(out, "{line}")?;
        } else {
            for violation in found {
                let mut what = describe(&violation, number(&conversation, violation.at));
                if several {
                    what = text!("error-with-cause", error = &id, cause = what);
                }
                writeln!(out, "{}", plain(&what))?;
            }
        }
        Ok(())
    })?;
    if !arguments.json {
        writeln!(out, "{}", text!("check-total", count = conversations, invalid = invalid))?;
    }
    out.flush()?;
    Ok(if invalid > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// Returns how many messages at the start of a conversation are its system prompt.
fn prompts(conversation: &Conversation) -> usize {
    let is_prompt = |message: &&Message| message.role == Role::System;
    conversation.messages.iter().take_while(is_prompt).count()
}

/// Returns the number of a message of the checked list: from 1, without the system prompt, which
/// has none.
fn number(conversation: &Conversation, at: usize) -> Option<usize> {
    (conversation.outside + at + 1).checked_sub(prompts(conversation)).filter(|number| *number > 0)
}

/// Describes a violation of the message with this number, or of the system prompt.
fn describe(violation: &Violation, number: Option<usize>) -> String {
    let text = phrase(&violation.text);
    let what = text!("with-detail", text = text, detail = violation.rule);
    match number {
        Some(number) => text!("at-message", number = number.to_string(), what = what),
        None => text!("at-system-prompt", what = what),
    }
}
