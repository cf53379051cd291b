//! ATIF, the agent trajectory interchange format: steps of system, user and agent, results inside
//! the agent's steps, sub-agents inside the document.

use std::sync::Arc;

use serde_json::Value;
use waterline::json::Fields;
use waterline::message::{Message, Part, Role, Wire};
use waterline_provider::wire::Tool;

use super::Lines;
use super::parts::{call, count, picture_at, result, text, texts, thinking, time, word};
use crate::transcript::{Compaction, Standing, Transcript, Usage};

pub(super) const NAME: &str = "atif";

/// A document that says so, or that has an agent and numbered steps.
pub(super) fn document(
    fields: &Fields<'_>,
    text: &Arc<String>,
) -> Option<Result<Vec<Transcript>, String>> {
    let told = fields.get("schema_version").is_some_and(|version| version.starts_with("\"ATIF-"));
    let is_one = told
        || fields.get("agent").is_some()
            && fields.get("steps").is_some_and(|s| s.contains("\"step_id\""));
    is_one.then(|| {
        let document: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let mut found = Vec::new();
        read(&document, None, &mut found);
        Ok(found)
    })
}

/// One document a line.
struct Documents;

/// Lines that are documents.
pub(super) fn lines(fields: &Fields<'_>) -> Option<Box<dyn Lines>> {
    let told = fields.get("schema_version").is_some_and(|version| version.starts_with("\"ATIF-"));
    told.then(|| Box::new(Documents) as Box<dyn Lines>)
}

impl Lines for Documents {
    fn name(&self) -> &'static str {
        NAME
    }

    fn line(&mut self, text: &Arc<String>) -> Result<Vec<Transcript>, String> {
        let fields = Fields::parse(text).unwrap_or_default();
        document(&fields, text).unwrap_or_else(|| Err("no trajectory".to_owned()))
    }

    fn finish(self: Box<Self>) -> Vec<Transcript> {
        Vec::new()
    }
}

fn read(document: &Value, parent: Option<&str>, found: &mut Vec<Transcript>) {
    let id = word(&document["trajectory_id"]).or_else(|| word(&document["session_id"]));
    let mut transcript =
        Transcript::new(id.unwrap_or_else(|| "trajectory".to_owned()), Wire::OPENAI_CHAT);
    transcript.model = word(&document["agent"]["model_name"]);
    let definitions =
        document["agent"]["tool_definitions"].as_array().map_or(&[][..], Vec::as_slice);
    transcript.tools = definitions.iter().map(tool).collect();
    transcript.parent = parent.map(str::to_owned).or_else(|| word(&document["extra"]["parent"]));
    if transcript.parent.is_some() {
        let is_branch = document["extra"]["role"] == Standing::Branch.name();
        transcript.role = if is_branch { Standing::Branch } else { Standing::SubAgent };
    }
    let mut after_cut = false;
    for step in document["steps"].as_array().map_or(&[][..], Vec::as_slice) {
        add(&mut transcript, step, &mut after_cut);
    }
    let id = transcript.id.clone();
    found.push(transcript);
    for child in document["subagent_trajectories"].as_array().map_or(&[][..], Vec::as_slice) {
        read(child, Some(&id), found);
    }
}

fn add(found: &mut Transcript, step: &Value, after_cut: &mut bool) {
    let cut = &step["extra"]["context_management"];
    let is_cut = cut["type"] == "compaction" || step["extra"]["pi_event_type"] == "compaction";
    let copied = step["is_copied_context"] == true;
    if is_cut {
        found.compactions.push(Compaction { at: found.entries.len(), ..Compaction::default() });
    }
    let said = parts(&step["message"]);
    let role = match step["source"].as_str().unwrap_or_default() {
        "agent" if !is_cut => Role::Assistant,
        "system" if !is_cut => Role::System,
        _ => Role::User,
    };
    let results = step["observation"]["results"].as_array().map_or(&[][..], Vec::as_slice);
    let message = match role {
        Role::Assistant => Message::new(role, answer(step, said)),
        // The text of a cut stands among its results, or in the step behind it.
        _ if is_cut => {
            let told = if step["source"] == "agent" { said } else { Vec::new() };
            let summary: Vec<Part> = told
                .into_iter()
                .chain(results.iter().flat_map(|result| parts(&result["content"])))
                .collect();
            *after_cut = summary.is_empty();
            Message::new(role, summary)
        }
        _ => Message::new(role, said),
    };
    let is_summary = is_cut || copied || *after_cut && role == Role::User;
    *after_cut &= is_cut;
    push(found, step, message, is_summary);
    if !is_cut && !results.is_empty() {
        let (answers, loose): (Vec<&Value>, Vec<&Value>) =
            results.iter().partition(|r| r["source_call_id"].is_string());
        let answers: Vec<Part> = answers.into_iter().map(outcome).collect();
        push(found, step, Message::new(Role::Tool, answers), is_summary);
        let seen: Vec<Part> =
            loose.into_iter().flat_map(|result| parts(&result["content"])).collect();
        push(found, step, Message::new(Role::User, seen), is_summary);
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

fn answer(step: &Value, said: Vec<Part>) -> Vec<Part> {
    let thought = text(&step["reasoning_content"]).map(|text| thinking(text, None));
    let calls = step["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
    let calls = calls
        .iter()
        .map(|made| call(&made["tool_call_id"], &made["function_name"], &made["arguments"]));
    thought.into_iter().chain(said).chain(calls).collect()
}

fn outcome(value: &Value) -> Part {
    result(&value["source_call_id"], parts(&value["content"]), value["extra"]["is_error"] == true)
}

fn parts(content: &Value) -> Vec<Part> {
    let Value::Array(list) = content else { return texts(content) };
    let part = |part: &Value| match part["type"].as_str()? {
        "text" => text(&part["text"]).map(Part::text),
        "image" => text(&part["source"]["path"]).map(picture_at),
        _ => None,
    };
    list.iter().filter_map(part).collect()
}

fn tool(definition: &Value) -> Tool {
    let function = &definition["function"];
    Tool {
        name: word(&function["name"]).unwrap_or_default(),
        description: word(&function["description"]),
        schema: function.get("parameters").map(ToString::to_string),
    }
}

fn usage(metrics: &Value) -> Option<Usage> {
    let (prompt, cached) = (count(&metrics["prompt_tokens"]), count(&metrics["cached_tokens"]));
    let written = count(&metrics["extra"]["cache_creation_input_tokens"]);
    (prompt > 0).then(|| Usage {
        prompt,
        cached,
        written,
        output: count(&metrics["completion_tokens"]),
    })
}
