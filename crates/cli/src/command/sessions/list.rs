//! `waterline sessions list`.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use waterline_agent::Local;
use waterline_log::{Filter, Log, Relation, Session};

use super::{ago, ids, relation, short};
use crate::db::Database;
use crate::input::{output, raw_output};
use crate::show::{align_right, number, pad, room, truncate, width};
use crate::text;

/// List the sessions, latest first
///
/// Ids are shortened to a unique prefix.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// List only the sessions of this user
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Maximum number of sessions (default: 20, with --json all; 0 for all)
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,
    /// List all sessions
    #[arg(long, conflicts_with = "limit")]
    all: bool,
    /// Print one JSON object per session
    #[arg(long)]
    json: bool,
}

/// The number of sessions listed by default.
const SHOWN: usize = 20;

/// The widths of a model and of a directory, and the terminals that have room for them.
const MODEL: usize = 15;
const WITH_MODEL: usize = 100;
const DIRECTORY: usize = 14;
const WITH_DIRECTORY: usize = 80;

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_existing()?;
    let filter = Filter { user: arguments.user.clone(), ..Filter::default() };
    let mut sessions = log.sessions(&filter)?;
    // A chat killed before its first message leaves an empty session.
    sessions.retain(|session| !session.is_blank());
    let all = sessions.len();
    let limit = arguments.limit.unwrap_or(if arguments.json { 0 } else { SHOWN });
    if limit > 0 && !arguments.all {
        sessions.truncate(limit);
    }
    if arguments.json {
        let mut out = raw_output();
        for session in &sessions {
            writeln!(out, "{}", serde_json::to_string(session)?)?;
        }
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = output();
    if sessions.is_empty() {
        writeln!(out, "{}", text!("list-empty"))?;
    } else {
        table(&mut out, &log, &sessions)?;
    }
    if sessions.len() < all {
        writeln!(out, "{}", text!("list-more", count = all - sessions.len()))?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// The columns of a table of sessions, as far as the terminal has room for them. The titles come
/// first: a narrow terminal shows neither models nor directories.
struct Columns {
    id: usize,
    model: usize,
    directory: usize,
}

impl Columns {
    fn new(id: usize) -> Self {
        let columns = room(0);
        let model = if columns >= WITH_MODEL { MODEL } else { 0 };
        let directory = if columns >= WITH_DIRECTORY { DIRECTORY } else { 0 };
        Self { id, model, directory }
    }

    fn row(&self, [id, count, used]: [&str; 3], [model, directory, title]: [&str; 3]) -> String {
        let mut row =
            format!("{}  {}  {}  ", pad(id, self.id), align_right(count, 8), pad(used, 10));
        for (text, wide) in [(model, self.model), (directory, self.directory)] {
            if wide > 0 {
                row += &format!("{}  ", pad(&truncate(text, wide), wide));
            }
        }
        let left = room(width(&row));
        row + &truncate(title, left)
    }
}

fn table(out: &mut impl Write, log: &Log, sessions: &[Session]) -> Result<()> {
    let now = log.now();
    let ids = ids(sessions);
    let names: Vec<String> = sessions.iter().map(|session| short(&session.id, &ids)).collect();
    let columns = Columns::new(names.iter().map(|name| width(name)).max().unwrap_or(0).max(7));
    let head = [text!("list-session"), text!("list-messages"), text!("list-used")];
    let more = [text!("list-model"), text!("list-directory"), text!("list-title")];
    writeln!(out, "{}", columns.row(head.each_ref().map(|x| &**x), more.each_ref().map(|x| &**x)))?;
    for (session, name) in sessions.iter().zip(&names) {
        let messages = log.numbering(session)?.count(session.tip.position());
        let count = number(usize::try_from(messages).unwrap_or(usize::MAX));
        let kind = match session.relation {
            Relation::Main => String::new(),
            other => format!("[{}] ", relation(other)),
        };
        let facts = [name.as_str(), &count, &ago(now, session.active)];
        let model = session.model.as_deref().unwrap_or("–");
        let title = format!("{kind}{}", session.title);
        writeln!(out, "{}", columns.row(facts, [model, &directory(session), &title]))?;
    }
    Ok(())
}

/// Returns the name of the directory that a session works in.
fn directory(session: &Session) -> String {
    // State that does not parse is reported when the session is opened.
    let local = Local::of(session).ok();
    let name = local.as_ref().and_then(|local| local.directory()?.file_name());
    name.map_or_else(|| "–".to_owned(), |name| name.to_string_lossy().into_owned())
}
