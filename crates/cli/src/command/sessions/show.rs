//! `waterline sessions show`.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use waterline_agent::{State, Waiting};
use waterline_log::{Detail, Filter, Log, Numbering, Session};
use waterline_provider::wire::parse_stored;

use super::{ago, relation};
use crate::db::Database;
use crate::input::{output, raw_output};
use crate::lang::list;
use crate::show::{message_number, number, one_line, pad, plain, reasons, role, room, truncate};
use crate::text;

/// Show a session: its state and its messages
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Session to show (id or unique prefix)
    id: String,
    /// Number of messages to show, newest last (0 for all)
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    last: u64,
    /// Show the session as it was after its first N messages
    #[arg(long, value_name = "N")]
    at: Option<u64>,
    /// Print only message N, as it is stored
    #[arg(long, value_name = "N", conflicts_with_all = ["json", "at"])]
    message: Option<u64>,
    /// Print one JSON object with all messages
    #[arg(long)]
    json: bool,
}

/// A session as it was after some of its messages.
struct View {
    detail: Detail,
    numbering: Numbering,
    end: u64,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_existing()?;
    let session = log.find(&arguments.id)?;
    if let Some(number) = arguments.message {
        return write_message(&log, &session, number);
    }
    let view = view(&log, session, arguments)?;
    if arguments.json {
        let mut out = raw_output();
        writeln!(out, "{}", serde_json::to_string(&view.detail)?)?;
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
    let numbering = log.numbering(&session)?;
    let tip = session.tip.position();
    let count = numbering.count(tip);
    if let Some(at) = arguments.at.filter(|at| *at > count) {
        bail!(text!("show-too-few", session = session.id.as_str(), count = count, at = at));
    }
    let end = arguments.at.map_or(tip, |number| numbering.position(number));
    let all = arguments.last == 0 || arguments.json;
    let start = if all { 0 } else { end.saturating_sub(arguments.last) };
    Ok(View { detail: log.detail(session, start..end)?, numbering, end })
}

/// Writes the bytes of a message; number 0 is the system prompt.
fn write_message(log: &Log, session: &Session, number: u64) -> Result<ExitCode> {
    let numbering = log.numbering(session)?;
    let position = if number == 0 { 1 } else { numbering.position(number) };
    let entries = log.entries_in(session.tip, position.saturating_sub(1)..position)?;
    let is_meant = number > 0 || numbering.number(position).is_none();
    let entry = entries.first().filter(|_| is_meant);
    let id = session.id.as_str();
    let number = number.to_string();
    let entry =
        entry.ok_or_else(|| anyhow!(text!("show-no-message", session = id, number = number)))?;
    let mut out = raw_output();
    out.write_all(&entry.bytes)?;
    out.write_all(b"\n")?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the tree of sessions below one.
fn children(out: &mut impl Write, log: &Log, below: &[Session], depth: usize) -> Result<()> {
    for child in below {
        let indent = "  ".repeat(depth);
        let kind = relation(child.relation);
        let count = log.numbering(child)?.count(child.tip.position());
        let messages = text!("count-messages", count = count);
        let line = format!("{indent}└ {kind} {}, {messages}", child.id);
        writeln!(out, "{}", truncate(&format!("{line}  {}", child.title), room(0)))?;
        if depth < DEPTH {
            let filter = Filter { parent: Some(child.id.clone()), ..Filter::default() };
            children(out, log, &log.sessions(&filter)?, depth + 1)?;
        }
    }
    Ok(())
}

/// The depth of the tree of sessions that is shown.
const DEPTH: usize = 8;

fn head(out: &mut impl Write, log: &Log, view: &View) -> Result<()> {
    let session = &view.detail.session;
    writeln!(out, "{}", plain(&session.id))?;
    writeln!(out, "{}", truncate(&session.title, room(0)))?;
    writeln!(out, "{}", facts(view, log.now()).join(" · "))?;
    if let Some(parent) = &session.parent {
        let line = text!(
            "show-parent",
            relation = relation(session.relation),
            parent = plain(parent),
            context = session.context_id.as_str()
        );
        writeln!(out, "{line}")?;
    }
    children(out, log, &view.detail.children, 1)?;
    for branch in view.detail.branches.iter().filter(|branch| !branch.is_current) {
        let numbering = log.numbering(&Session { tip: branch.tip, ..session.clone() })?;
        let line = text!(
            "show-branch",
            shared = numbering.count(branch.shared),
            count = numbering.count(branch.tip.position()),
            last = branch.id.map(|id| id.short()).unwrap_or_default()
        );
        writeln!(out, "  {line}")?;
    }
    folds(out, view)?;
    if view.detail.cleared > 0 {
        let cleared = view.numbering.count(view.detail.cleared);
        writeln!(out, "  {}", text!("show-cleared", position = cleared))?;
    }
    state(out, session)
}

/// Returns the length of a session, its settings and its age.
fn facts(view: &View, now: i64) -> Vec<String> {
    let session = &view.detail.session;
    let count = view.numbering.count(session.tip.position());
    let mut facts = vec![text!("count-messages", count = count)];
    if view.end < session.tip.position() {
        facts.push(text!("show-at", count = view.numbering.count(view.end)));
    }
    facts.extend(session.model.as_deref().map(plain));
    facts.extend(session.policy.as_ref().map(|name| text!("show-policy", name = plain(name))));
    facts.extend(session.user.as_ref().map(|name| text!("show-user", name = plain(name))));
    let created = ago(now, session.created);
    facts.push(text!("show-times", created = created, used = ago(now, session.active)));
    facts
}

/// Writes the folds of a session and its summary.
fn folds(out: &mut impl Write, view: &View) -> Result<()> {
    let View { detail, numbering, .. } = view;
    for generation in &detail.generations {
        let line = text!(
            "show-fold",
            number = generation.number.to_string(),
            position = numbering.count(generation.position),
            before = generation.fold.tokens_before,
            after = generation.fold.tokens_after,
            reason = plain(&reasons(&generation.fold.reasons))
        );
        let in_use = if generation.is_current { text!("show-in-use") } else { String::new() };
        writeln!(out, "  {line}{in_use}")?;
    }
    if let Some(summary) = &detail.summary {
        let line = text!(
            "show-summary",
            version = summary.version.to_string(),
            start = numbering.count(summary.start) + 1,
            end = numbering.count(summary.until),
            tokens = summary.tokens
        );
        writeln!(out, "  {line}")?;
    }
    Ok(())
}

fn state(out: &mut impl Write, session: &Session) -> Result<()> {
    if let Some(path) = &session.workspace {
        writeln!(out, "  {}", text!("show-workspace", path = plain(path)))?;
    }
    let state = State::of(session)?;
    if !state.todos.is_empty() {
        writeln!(out, "  {}", text!("show-todos", count = state.todos.len()))?;
    }
    if !state.uploads.is_empty() {
        let paths: Vec<String> = state.uploads.iter().map(|upload| plain(&upload.path)).collect();
        writeln!(out, "  {}", truncate(&text!("show-uploads", paths = list(&paths)), room(2)))?;
    }
    if !state.mentioned.is_empty() {
        let names = plain(&list(&state.mentioned));
        writeln!(out, "  {}", truncate(&text!("show-mentions", names = names), room(2)))?;
    }
    if let Some(pending) = &state.pending {
        writeln!(out, "  {}", truncate(&waiting(pending), 80))?;
    }
    Ok(())
}

/// Describes the call that a session waits for.
fn waiting(pending: &Waiting) -> String {
    match pending {
        Waiting::Approval(request) => {
            let call = format!("{} {}", request.tool, request.arguments);
            text!("turn-approval", call = call)
        }
        Waiting::Question(question) => {
            text!("show-question", question = question.question.as_str())
        }
        _ => text!("status-turn-interrupted"),
    }
}

fn messages(out: &mut impl Write, view: &View) -> Result<()> {
    let before = view.detail.entries.first().map_or(view.end, |entry| entry.position - 1);
    let earlier = view.numbering.count(before);
    writeln!(out)?;
    if earlier > 0 {
        writeln!(out, "{}", text!("show-earlier", count = earlier))?;
    }
    for entry in &view.detail.entries {
        let message = entry.message(parse_stored);
        writeln!(
            out,
            "{:>6}  {} {:>8}  {}",
            message_number(&view.numbering, entry.position),
            pad(&role(entry.role), 9),
            number(entry.tokens),
            truncate(&one_line(&message), room(28))
        )?;
    }
    Ok(())
}
