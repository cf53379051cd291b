//! `waterline sessions show`.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use serde_json::{Value, json};
use waterline::message::{Body, Message};
use waterline_log::{Branch, Entry, Filter, Generation, Log, Session, Summary};

use super::{ago, json_of, time};
use crate::db::Database;
use crate::input::{output, raw_output};
use crate::show::{count_of, cut, number, plain, room};
use crate::stored;

/// Show a session: what it carries, and what was said
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The session's id, or the beginning of it
    id: String,
    /// Show so many messages, the newest ones (0 for all)
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    last: u64,
    /// Show the session as it was after its first N messages
    #[arg(long, value_name = "N")]
    at: Option<u64>,
    /// Write one message as it is stored, and nothing else
    #[arg(long, value_name = "N", conflicts_with_all = ["json", "at"])]
    message: Option<u64>,
    /// One JSON object, with all messages
    #[arg(long)]
    json: bool,
}

/// A session with everything that is shown of it.
struct View {
    session: Session,
    entries: Vec<Entry>,
    generations: Vec<Generation>,
    summary: Option<Summary>,
    branches: Vec<Branch>,
    children: Vec<Session>,
    cleared: u64,
    end: u64,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_existing()?;
    let session = log.find(&arguments.id)?;
    if let Some(position) = arguments.message {
        return write_message(&log, &session, position);
    }
    let view = view(&log, session, arguments)?;
    if arguments.json {
        let mut out = raw_output();
        writeln!(out, "{}", as_json(&log, &view)?)?;
        out.flush()?;
    } else {
        let mut out = output();
        head(&mut out, &log, &view)?;
        messages(&mut out, &view)?;
        out.flush()?;
    }
    Ok(ExitCode::SUCCESS)
}

fn view(log: &Log, session: Session, arguments: &Arguments) -> Result<View> {
    let end = arguments.at.unwrap_or(session.tip.position());
    if end > session.tip.position() {
        bail!("session {} has {}, not {end}", session.id, count_of(session.tip.position(), "message"));
    }
    let all = arguments.last == 0 || arguments.json;
    let start = if all { 0 } else { end.saturating_sub(arguments.last) };
    Ok(View {
        entries: log.entries_in(session.tip, start..end)?,
        generations: log.generations(&session.id)?.into_iter().filter(|fold| fold.position <= end).collect(),
        summary: log.summary(&session.id)?.filter(|summary| summary.until <= end),
        branches: log.branches(&session.id)?,
        children: log.sessions(&Filter { parent: Some(session.id.clone()), ..Filter::default() })?,
        cleared: log.cleared(&session.id)?,
        end,
        session,
    })
}

fn write_message(log: &Log, session: &Session, position: u64) -> Result<ExitCode> {
    let entries = log.entries_in(session.tip, position.saturating_sub(1)..position)?;
    let entry = entries.first().filter(|_| position > 0);
    let entry = entry.ok_or_else(|| anyhow!("session {} has no message {position}", session.id))?;
    let mut out = raw_output();
    out.write_all(&entry.bytes)?;
    out.write_all(b"\n")?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// The sessions below one, and those below them.
fn children(out: &mut impl Write, log: &Log, below: &[Session], depth: usize) -> Result<()> {
    for child in below {
        let indent = "  ".repeat(depth);
        let line =
            format!("{indent}└ {} {}, {}", child.relation.name(), child.id, count_of(child.tip.position(), "message"));
        writeln!(out, "{}", cut(&format!("{line}  {}", child.title), room(0)))?;
        if depth < DEPTH {
            let filter = Filter { parent: Some(child.id.clone()), ..Filter::default() };
            children(out, log, &log.sessions(&filter)?, depth + 1)?;
        }
    }
    Ok(())
}

/// How deep the tree of sessions is shown.
const DEPTH: usize = 8;

fn head(out: &mut impl Write, log: &Log, view: &View) -> Result<()> {
    let session = &view.session;
    let now = log.now();
    writeln!(out, "{}", plain(&session.id))?;
    writeln!(out, "{}", cut(&session.title, room(0)))?;
    let mut facts = vec![count_of(session.tip.position(), "message")];
    if view.end < session.tip.position() {
        facts.push(format!("as it was after {}", view.end));
    }
    facts.extend(session.model.as_deref().map(plain));
    facts.extend(session.policy.as_ref().map(|policy| format!("policy {}", plain(policy))));
    facts.extend(session.user.as_ref().map(|user| format!("user {}", plain(user))));
    facts.push(format!("made {}, used {}", ago(now, session.created), ago(now, session.active)));
    writeln!(out, "{}", facts.join(" · "))?;
    if let Some(parent) = &session.parent {
        writeln!(out, "{} of {} ({})", session.relation.name(), plain(parent), session.context_id)?;
    }
    children(out, log, &view.children, 1)?;
    for branch in view.branches.iter().filter(|branch| !branch.is_current) {
        let id = branch.id.map(|id| id.short()).unwrap_or_default();
        let messages = count_of(branch.tip.position(), "message");
        writeln!(out, "  left at message {}: {messages}, up to {id}", branch.shared)?;
    }
    for generation in &view.generations {
        let fold = &generation.fold;
        writeln!(
            out,
            "  fold {} after message {}: {} → {} tokens, {}{}",
            generation.number,
            generation.position,
            number(fold.tokens_before),
            number(fold.tokens_after),
            plain(&fold.reason),
            if generation.is_current { " (in use)" } else { "" }
        )?;
    }
    if let Some(summary) = &view.summary {
        let (version, tokens) = (summary.version, number(summary.tokens));
        writeln!(out, "  summary {version} of messages {}–{}: {tokens} tokens", summary.start + 1, summary.until)?;
    }
    if view.cleared > 0 {
        writeln!(out, "  cleared after message {}: what lies before is kept and not sent", view.cleared)?;
    }
    state(out, session)
}

fn state(out: &mut impl Write, session: &Session) -> Result<()> {
    let state = &session.state;
    if let Some(path) = &state.workspace_path {
        writeln!(out, "  workspace {}", plain(path))?;
    }
    if !state.todos.is_empty() {
        writeln!(out, "  {} todos", state.todos.len())?;
    }
    if !state.pending_action.is_null() {
        writeln!(out, "  waits for an answer: {}", cut(&state.pending_action.to_string(), 80))?;
    }
    Ok(())
}

fn messages(out: &mut impl Write, view: &View) -> Result<()> {
    let first = view.entries.first().map_or(view.end, |entry| entry.position - 1);
    writeln!(out)?;
    if first > 0 {
        writeln!(out, "… {} before these (-n 0 shows all)", count_of(first, "message"))?;
    }
    for entry in &view.entries {
        let message = entry.message(stored::parse);
        writeln!(
            out,
            "{:>6}  {:<9} {:>8}  {}",
            entry.position,
            entry.role.name(),
            number(entry.tokens),
            cut(&gist(&message), room(28))
        )?;
    }
    Ok(())
}

/// What a message says, on one line.
pub fn gist(message: &Message) -> String {
    let text = message.parts.iter().map(|part| match &part.body {
        Body::Text(text) => text.clone(),
        Body::Thinking(thinking) => format!("(thinks) {}", thinking.text),
        Body::Image(_) => "(picture)".to_owned(),
        Body::Call(call) => format!("{}({})", call.name, call.arguments),
        Body::Result(result) => result.text(),
        Body::Opaque(opaque) => opaque.json.clone(),
    });
    let text: Vec<String> = text.map(|text| text.chars().take(300).collect()).collect();
    text.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

fn as_json(log: &Log, view: &View) -> Result<Value> {
    let entry = |entry: &Entry| {
        json!({
            "position": entry.position,
            "id": entry.id.to_string(),
            "role": entry.role.name(),
            "encoding": entry.encoding.name(),
            "tokens": entry.tokens,
            "time": time(entry.time),
            "raw": String::from_utf8_lossy(&entry.bytes),
        })
    };
    let generation = |generation: &Generation| {
        json!({
            "number": generation.number,
            "position": generation.position,
            "reason": generation.fold.reason,
            "tokens_before": generation.fold.tokens_before,
            "tokens_after": generation.fold.tokens_after,
            "cost_before": generation.fold.cost_before,
            "cost_after": generation.fold.cost_after,
            "time": time(generation.time),
            "is_current": generation.is_current,
        })
    };
    let summary = |summary: &Summary| {
        json!({
            "version": summary.version,
            "summary": summary.text,
            "summarized_from": summary.start,
            "summarized_until": summary.until,
            "summary_tokens": summary.tokens,
            "original_tokens": summary.original_tokens,
            "message_count": summary.messages(),
            "compression_rate": summary.compression_rate(),
            "created_at": time(summary.time),
        })
    };
    let branch = |branch: &Branch| {
        json!({
            "id": branch.id.map(|id| id.to_string()),
            "messages": branch.tip.position(),
            "shared": branch.shared,
            "is_current": branch.is_current,
        })
    };
    let mut json = json_of(&view.session);
    if let Some(fields) = json.as_object_mut() {
        fields.insert("state".to_owned(), serde_json::to_value(&view.session.state)?);
        fields.insert("cleared".to_owned(), json!(view.cleared));
        fields.insert("children".to_owned(), view.children.iter().map(json_of).collect());
        fields.insert("branches".to_owned(), view.branches.iter().map(branch).collect());
        fields.insert("generations".to_owned(), view.generations.iter().map(generation).collect());
        fields.insert("summary".to_owned(), view.summary.as_ref().map(summary).into());
        let calls = log.usage(&view.session.id)?;
        let sum = |of: fn(&waterline_log::Usage) -> u64| calls.iter().map(of).sum::<u64>();
        let usage = json!({
            "calls": calls.len(),
            "input": sum(|call| call.input),
            "cache_read": sum(|call| call.cache_read),
            "cache_write": sum(|call| call.cache_write),
            "output": sum(|call| call.output),
        });
        fields.insert("usage".to_owned(), usage);
        fields.insert("entries".to_owned(), view.entries.iter().map(entry).collect());
    }
    Ok(json)
}
