//! ATIF, the agent trajectory interchange format: steps of system, user and agent, with results
//! inside the agent's steps and sub-agents inside the document.

use std::sync::Arc;

use serde_json::Value;
use waterline::json::Fields;
use waterline::message::{Message, Part, Role, Wire};
use waterline::phrase;
use waterline::phrase::Phrase;
use waterline_provider::wire::Tool;

use super::Lines;
use super::parts::{call, count, image_at, result, string, text, texts, thinking, time};
use crate::notice::invalid_json;
use crate::transcript::{Compaction, Transcript, TranscriptKind, Usage};

pub(super) const NAME: &str = "atif";

/// Reads a document with an ATIF version, or with an agent and numbered steps.
pub(super) fn document(
    fields: &Fields<'_>,
    text: &Arc<String>,
) -> Option<Result<Vec<Transcript>, Phrase>> {
    let looks_like_atif = fields.get("agent").is_some()
        && fields.get("steps").is_some_and(|steps| steps.contains("\"step_id\""));
    (has_version(fields) || looks_like_atif).then(|| {
        let document: Value = serde_json::from_str(text).map_err(|error| invalid_json(&error))?;
        let mut found = Vec::new();
        read(&document, None, &mut found);
        Ok(found)
    })
}

fn has_version(fields: &Fields<'_>) -> bool {
    fields.get("schema_version").is_some_and(|version| version.starts_with("\"ATIF-"))
}

/// Lines with one document each.
struct Documents;

/// Recognizes lines that are documents.
pub(super) fn lines(fields: &Fields<'_>) -> Option<Box<dyn Lines>> {
    has_version(fields).then(|| Box::new(Documents) as Box<dyn Lines>)
}

impl Lines for Documents {
    fn name(&self) -> &'static str {
        NAME
    }

    fn line(&mut self, text: &Arc<String>) -> Result<Vec<Transcript>, Phrase> {
        let fields = Fields::parse(text).unwrap_or_default();
        document(&fields, text)
            .unwrap_or_else(|| Err(phrase!("transcript-not-atif", "not an ATIF trajectory")))
    }

    fn finish(self: Box<Self>) -> Vec<Transcript> {
        Vec::new()
    }
}

fn read(document: &Value, parent: Option<&str>, found: &mut Vec<Transcript>) {
    let id = string(&document["trajectory_id"]).or_else(|| string(&document["session_id"]));
    let mut transcript =
        Transcript::new(id.unwrap_or_else(|| "trajectory".to_owned()), Wire::OPENAI_CHAT);
    transcript.model = string(&document["agent"]["model_name"]);
    let definitions =
        document["agent"]["tool_definitions"].as_array().map_or(&[][..], Vec::as_slice);
    transcript.tools = definitions.iter().map(tool).collect();
    transcript.parent = parent.map(str::to_owned).or_else(|| string(&document["extra"]["parent"]));
    if transcript.parent.is_some() {
        let is_branch = document["extra"]["role"] == TranscriptKind::Branch.name();
        transcript.role = if is_branch { TranscriptKind::Branch } else { TranscriptKind::SubAgent };
    }
    let mut after_compaction = false;
    for step in document["steps"].as_array().map_or(&[][..], Vec::as_slice) {
        add(&mut transcript, step, &mut after_compaction);
    }
    let id = transcript.id.clone();
    found.push(transcript);
    for child in document["subagent_trajectories"].as_array().map_or(&[][..], Vec::as_slice) {
        read(child, Some(&id), found);
    }
}

fn add(found: &mut Transcript, step: &Value, after_compaction: &mut bool) {
    let extra = &step["extra"];
    let is_compaction = extra["context_management"]["type"] == "compaction"
        || extra["pi_event_type"] == "compaction";
    let is_copied = step["is_copied_context"] == true;
    if is_compaction {
        found.compactions.push(Compaction { at: found.entries.len(), ..Compaction::default() });
    }
    let content = parts(&step["message"]);
    let role = match step["source"].as_str().unwrap_or_default() {
        "agent" if !is_compaction => Role::Assistant,
        "system" if !is_compaction => Role::System,
        _ => Role::User,
    };
    let results = step["observation"]["results"].as_array().map_or(&[][..], Vec::as_slice);
    let message = match role {
        Role::Assistant => Message::new(role, answer(step, content)),
        // The summary is among the results of the compaction step, or in the step after it.
        _ if is_compaction => {
            let own = if step["source"] == "agent" { content } else { Vec::new() };
            let summary: Vec<Part> = own
                .into_iter()
                .chain(results.iter().flat_map(|result| parts(&result["content"])))
                .collect();
            *after_compaction = summary.is_empty();
            Message::new(role, summary)
        }
        _ => Message::new(role, content),
    };
    let is_summary = is_compaction || is_copied || *after_compaction && role == Role::User;
    *after_compaction &= is_compaction;
    push(found, step, message, is_summary);
    if !is_compaction && !results.is_empty() {
        let (answers, other): (Vec<&Value>, Vec<&Value>) =
            results.iter().partition(|result| result["source_call_id"].is_string());
        let answers: Vec<Part> = answers.into_iter().map(outcome).collect();
        push(found, step, Message::new(Role::Tool, answers), is_summary);
        let observed: Vec<Part> =
            other.into_iter().flat_map(|result| parts(&result["content"])).collect();
        push(found, step, Message::new(Role::User, observed), is_summary);
    }
}

fn push(found: &mut Transcript, step: &Value, message: Message, is_summary: bool) {
    if message.parts.is_empty() {
        return;
    }
    let is_answer = message.role == Role::Assistant;
    if let Some(entry) = found.push(message) {
        entry.time = time(&step["timestamp"]);
        entry.is_summary = is_summary;
        entry.usage = if is_answer { usage(&step["metrics"]) } else { None };
    }
}

fn answer(step: &Value, content: Vec<Part>) -> Vec<Part> {
    let thought = text(&step["reasoning_content"]).map(|text| thinking(text, None));
    let made_calls = step["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
    let calls = made_calls
        .iter()
        .map(|made| call(&made["tool_call_id"], &made["function_name"], &made["arguments"]));
    thought.into_iter().chain(content).chain(calls).collect()
}

fn outcome(value: &Value) -> Part {
    result(&value["source_call_id"], parts(&value["content"]), value["extra"]["is_error"] == true)
}

fn parts(content: &Value) -> Vec<Part> {
    let Value::Array(list) = content else { return texts(content) };
    let part = |part: &Value| match part["type"].as_str()? {
        "text" => text(&part["text"]).map(Part::text),
        "image" => text(&part["source"]["path"]).map(image_at),
        _ => None,
    };
    list.iter().filter_map(part).collect()
}

fn tool(definition: &Value) -> Tool {
    let function = &definition["function"];
    Tool {
        name: string(&function["name"]).unwrap_or_default(),
        description: string(&function["description"]),
        schema: function.get("parameters").map(ToString::to_string),
    }
}

fn usage(metrics: &Value) -> Option<Usage> {
    let prompt = count(&metrics["prompt_tokens"]);
    (prompt > 0).then(|| Usage {
        prompt,
        cached: count(&metrics["cached_tokens"]),
        written: count(&metrics["extra"]["cache_creation_input_tokens"]),
        output: count(&metrics["completion_tokens"]),
    })
}
