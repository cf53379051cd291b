//! `waterline sessions show`.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use waterline_agent::State;
use waterline_log::{Detail, Filter, Log, Session};
use waterline_provider::wire::parse_stored;

use super::ago;
use crate::db::Database;
use crate::input::{output, raw_output};
use crate::show::{count_of, cut, number, one_line, plain, room};

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

/// A session as it was after some of its messages.
struct View {
    detail: Detail,
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
    let end = arguments.at.unwrap_or(session.tip.position());
    if end > session.tip.position() {
        bail!(
            "session {} has {}, not {end}",
            session.id,
            count_of(session.tip.position(), "message")
        );
    }
    let all = arguments.last == 0 || arguments.json;
    let start = if all { 0 } else { end.saturating_sub(arguments.last) };
    Ok(View { detail: log.detail(session, start..end)?, end })
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
        let line = format!(
            "{indent}└ {} {}, {}",
            child.relation.name(),
            child.id,
            count_of(child.tip.position(), "message")
        );
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
    let session = &view.detail.session;
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
    children(out, log, &view.detail.children, 1)?;
    for branch in view.detail.branches.iter().filter(|branch| !branch.is_current) {
        let id = branch.id.map(|id| id.short()).unwrap_or_default();
        let messages = count_of(branch.tip.position(), "message");
        writeln!(out, "  left at message {}: {messages}, up to {id}", branch.shared)?;
    }
    for generation in &view.detail.generations {
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
    if let Some(summary) = &view.detail.summary {
        let (version, tokens) = (summary.version, number(summary.tokens));
        writeln!(
            out,
            "  summary {version} of messages {}–{}: {tokens} tokens",
            summary.start + 1,
            summary.until
        )?;
    }
    if view.detail.cleared > 0 {
        writeln!(
            out,
            "  cleared after message {}: what lies before is kept and not sent",
            view.detail.cleared
        )?;
    }
    state(out, session)
}

fn state(out: &mut impl Write, session: &Session) -> Result<()> {
    if let Some(path) = &session.workspace {
        writeln!(out, "  workspace {}", plain(path))?;
    }
    let state = State::of(session)?;
    if !state.todos.is_empty() {
        writeln!(out, "  {} todos", state.todos.len())?;
    }
    if let Some(pending) = &state.pending {
        writeln!(out, "  {}", cut(&pending.line(), 80))?;
    }
    Ok(())
}

fn messages(out: &mut impl Write, view: &View) -> Result<()> {
    let first = view.detail.entries.first().map_or(view.end, |entry| entry.position - 1);
    writeln!(out)?;
    if first > 0 {
        writeln!(out, "… {} before these (-n 0 shows all)", count_of(first, "message"))?;
    }
    for entry in &view.detail.entries {
        let message = entry.message(parse_stored);
        writeln!(
            out,
            "{:>6}  {:<9} {:>8}  {}",
            entry.position,
            entry.role.name(),
            number(entry.tokens),
            cut(&one_line(&message), room(28))
        )?;
    }
    Ok(())
}
