//! Imports transcripts into the log, and exports stored sessions as transcripts. The log blocks,
//! and so do these.

use serde_json::Value;
use waterline::message::{Message, Role, Wire};
use waterline::model::Models;
use waterline::tokens::Counter;
use waterline_log::{
    Encoding, Entry, Fold, Id, Incoming, Log, LogError, Offered, Relation, Result, Session,
    Summary, Tip, Usage,
};
use waterline_provider::wire::parse_stored;

use crate::transcript::{Compaction, Entry as Recorded, Standing, Transcript, Usage as Reported};

/// Where the state names the wire that a transcript came on.
const WIRE: &str = "wire";

/// The most characters of a title.
const TITLE: usize = 80;

/// What an import added to the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imported {
    /// Messages that were new.
    pub messages: usize,
    /// Whether the session was new.
    pub is_new: bool,
    /// Whether it existed and was continued.
    pub continued: bool,
    /// The session that it is a fork of, because the two differ.
    pub forked: Option<String>,
}

/// Imports a recorded conversation: its messages, its model calls, and where the program that
/// recorded it compacted its context. What the log has already is not stored again.
///
/// # Errors
/// When the log cannot be read or written.
pub fn import(log: &Log, transcript: &Transcript, user: Option<&str>) -> Result<Imported> {
    let model = Models::builtin().resolve(transcript.model.as_deref().unwrap_or_default());
    let counter = model.counter();
    let said: Vec<&Recorded> =
        transcript.entries.iter().filter(|entry| !entry.is_summary).collect();
    let times = times(&said);
    let incoming: Vec<Incoming> = said
        .iter()
        .zip(times)
        .map(|(entry, time)| Incoming::of(&entry.message, &counter).at(time))
        .collect();
    let Some(first) = incoming.first() else { return Ok(Imported::default()) };
    let root = Id::of(None, first.role, first.encoding, &first.bytes);

    let mut session = describe(transcript, &said);
    session.user = user.map(str::to_owned);
    let mut stored = Imported { is_new: make(log, &mut session, root)?, ..Imported::default() };
    let (mut offered, appended) = log.offer(&session.id, incoming.clone())?;
    stored.messages = appended.new;
    if offered == Offered::Apart {
        offered = part(log, &mut session, appended.tip, incoming, &mut stored)?;
    }
    if stored.is_new && !transcript.tools.is_empty() {
        let definitions = serde_json::to_vec(&transcript.tools)
            .map_err(|error| unreadable(&session.id, &error))?;
        log.set_tools(&session.id, definitions)?;
    }
    stored.continued = offered == Offered::Continued && !stored.is_new;
    if stored.continued {
        learn(log, &session)?;
    }
    note_usage(log, &session.id, transcript, &said)?;
    note_folds(log, &session.id, transcript, &counter)?;
    Ok(stored)
}

/// The recorded conversation left the way that the stored one went. If all that differs is an
/// answer that was not finished when it was imported before, the session follows; else it is a
/// fork.
fn part(
    log: &Log,
    session: &mut Session,
    tip: Tip,
    incoming: Vec<Incoming>,
    stored: &mut Imported,
) -> Result<Offered> {
    let known = log.session(&session.id)?;
    let shared = log.compare_tips(known.tip, tip)?.shared;
    let own = log.entries_in(known.tip, shared..known.tip.position())?;
    if own.iter().all(|entry| entry.role != Role::User) && tip.position() >= known.tip.position() {
        log.resend(&session.id, incoming)?;
        return Ok(Offered::Continued);
    }
    let end = log.id_at(tip)?.map(|id| id.short()).unwrap_or_default();
    let parent = session.id.clone();
    session.parent = Some(parent.clone());
    session.relation = Relation::Fork;
    session.id = format!("{}-{end}", session.id);
    if create(log, session)? {
        stored.is_new = true;
        stored.forked = Some(parent);
    }
    Ok(log.offer(&session.id, incoming)?.0)
}

/// What the beginning of a file did not tell yet: how long it is, the model, and a better title,
/// unless somebody gave it one.
fn learn(log: &Log, told: &Session) -> Result<()> {
    let mut known = log.session(&told.id)?;
    let first = log.entries_in(known.tip, 0..known.tip.position().min(20))?;
    let was_made = |title: &str| {
        title.is_empty()
            || title.starts_with(['<', '/'])
            || first.iter().any(|entry| entry.message(parse_stored).text().starts_with(title))
    };
    let title = if was_made(&known.title) { told.title.clone() } else { known.title.clone() };
    let is_longer = told.imported > known.imported;
    if is_longer || known.model.is_none() && told.model.is_some() || title != known.title {
        known.imported = known.imported.max(told.imported);
        known.model = known.model.or_else(|| told.model.clone());
        known.title = title;
        log.save(&known)?;
    }
    Ok(())
}

/// Makes the session, unless it is there. An id that another conversation has gets the beginning of
/// the first message's id.
fn make(log: &Log, session: &mut Session, root: Id) -> Result<bool> {
    match log.session(&session.id) {
        Err(LogError::NoSession { .. }) => {}
        Err(error) => return Err(error),
        Ok(known) => {
            let first = log.entries_in(known.tip, 0..1)?.first().map(|entry| entry.id);
            if first.is_none_or(|first| first == root) {
                return Ok(false);
            }
            session.id = format!("{}-{}", session.id, root.short());
        }
    }
    create(log, session)
}

/// Makes a session; `false` when it is there, because somebody else imports the same.
fn create(log: &Log, session: &Session) -> Result<bool> {
    match log.create(session.clone()) {
        Ok(_) => Ok(true),
        Err(LogError::Exists { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// When each message was said, in milliseconds. One that has no time was said when the next one was
/// that has.
fn times(said: &[&Recorded]) -> Vec<Option<i64>> {
    let mut next = said.iter().rev().find_map(|entry| entry.time);
    let mut times: Vec<Option<i64>> = Vec::with_capacity(said.len());
    for entry in said.iter().rev() {
        next = entry.time.or(next);
        times.push(next.map(|seconds| seconds * 1_000));
    }
    times.reverse();
    times
}

fn describe(transcript: &Transcript, said: &[&Recorded]) -> Session {
    let mut session = Session::new(&transcript.id);
    session.title = title(said.iter().map(|entry| &entry.message));
    session.created = said.iter().find_map(|entry| entry.time).map_or(0, |seconds| seconds * 1_000);
    session.model.clone_from(&transcript.model);
    session.parent.clone_from(&transcript.parent);
    session.state.insert(WIRE.to_owned(), Value::from(transcript.wire.name()));
    session.imported = said.len() as u64;
    session.relation = match transcript.role {
        Standing::Main => Relation::Main,
        Standing::Branch => Relation::Fork,
        Standing::SubAgent => Relation::SubAgent,
    };
    if session.relation == Relation::SubAgent {
        // The same each time it is imported.
        let digits = Id::of(None, Role::User, Encoding::Bytes, transcript.id.as_bytes()).short();
        session.context_id = format!("subagent-{}", digits.chars().take(8).collect::<String>());
        session.parent_context = Some("main".to_owned());
    }
    session
}

/// What the user said first, on one line. What a program wrote in the user's name (`<…>`,
/// `/command`) is skipped, unless there is nothing else.
fn title<'a>(messages: impl Iterator<Item = &'a Message>) -> String {
    let texts: Vec<String> = messages
        .filter(|message| message.role == Role::User && message.has_text())
        .take(20)
        .map(Message::text)
        .collect();
    let lines =
        || texts.iter().flat_map(|text| text.lines().map(str::trim).find(|line| !line.is_empty()));
    let line = lines()
        .find(|line| !line.starts_with(['<', '/']))
        .or_else(|| lines().next())
        .unwrap_or_default();
    let cut: String = line.chars().take(TITLE).collect();
    if cut.len() < line.len() { cut + "…" } else { cut }
}

/// Tool definitions of a session that are no JSON of theirs.
fn unreadable(session: &str, error: &serde_json::Error) -> LogError {
    LogError::Refused(format!("the tool definitions of session {session} cannot be read: {error}"))
}

fn note_usage(log: &Log, session: &str, transcript: &Transcript, said: &[&Recorded]) -> Result<()> {
    let calls = said.iter().enumerate().filter_map(|(at, entry)| {
        let usage = entry.usage?;
        Some(Usage {
            position: at as u64 + 1,
            model: transcript.model.clone().unwrap_or_default(),
            input: usage.prompt.saturating_sub(usage.cached + usage.written) as u64,
            cache_read: usage.cached as u64,
            cache_write: usage.written as u64,
            output: usage.output as u64,
            time: entry.time.unwrap_or_default() * 1_000,
            ..Usage::default()
        })
    });
    let calls: Vec<Usage> = calls.collect();
    if !calls.is_empty() {
        log.note_usage(session, calls)?;
    }
    Ok(())
}

/// Where the program itself cut its context: a generation each, with the summary that it wrote.
fn note_folds(log: &Log, session: &str, transcript: &Transcript, counter: &Counter) -> Result<()> {
    for (at, compaction) in transcript.compactions.iter().enumerate() {
        let before = transcript.entries.iter().take(compaction.at);
        let said: Vec<&Recorded> = before.filter(|entry| !entry.is_summary).collect();
        let position = said.len() as u64;
        let written =
            transcript.entries.iter().skip(compaction.at).take_while(|entry| entry.is_summary);
        let text = written.map(|entry| entry.message.text()).collect::<Vec<_>>().join("\n\n");
        let original: usize = said.iter().map(|entry| counter.message(&entry.message)).sum();
        let fold = Fold {
            reason: compaction
                .trigger
                .clone()
                .unwrap_or_else(|| "compacted by the program that held it".to_owned()),
            tokens_before: compaction.before.unwrap_or(original),
            tokens_after: compaction.after.unwrap_or_else(|| counter.text(&text)),
            ..Fold::default()
        };
        let number = at as u64 + 1;
        let time = transcript
            .entries
            .get(compaction.at)
            .and_then(|entry| entry.time)
            .map(|seconds| seconds * 1_000);
        if log.note_fold(session, position, number, fold, time)?
            && !text.trim().is_empty()
            && position > 0
        {
            let summary = Summary {
                version: 0,
                start: 0,
                until: position,
                target: None,
                generation: Some(number),
                tokens: counter.text(&text),
                text,
                original_tokens: original,
                time: time.unwrap_or_default(),
            };
            log.summarise(session, summary)?;
        }
    }
    Ok(())
}

/// Exports a stored session as a transcript.
///
/// # Errors
/// When the log cannot be read.
pub fn export(log: &Log, session: &Session) -> Result<Transcript> {
    let entries = log.entries_in(session.tip, 0..session.tip.position())?;
    let named = session
        .state
        .get(WIRE)
        .and_then(Value::as_str)
        .and_then(|name| waterline_provider::wire::named(name).ok());
    let wire = named.or_else(|| entries.iter().find_map(Entry::wire)).unwrap_or(Wire::OPENAI_CHAT);
    let mut found = Transcript::new(session.id.clone(), wire);
    found.parent.clone_from(&session.parent);
    found.role = match session.relation {
        Relation::Main => Standing::Main,
        Relation::Fork => Standing::Branch,
        Relation::SubAgent => Standing::SubAgent,
    };
    found.model.clone_from(&session.model);
    if let Some(hash) = &session.tools {
        let definitions = log.tools(hash)?;
        found.tools = serde_json::from_slice(&definitions)
            .map_err(|error| unreadable(&session.id, &error))?;
    }
    for entry in &entries {
        if let Some(recorded) = found.push(entry.message(parse_stored)) {
            recorded.time = Some(entry.time / 1_000);
        }
    }
    for call in log.usage(&session.id)? {
        let at = usize::try_from(call.position).unwrap_or_default().checked_sub(1);
        if let Some(recorded) = at.and_then(|at| found.entries.get_mut(at)) {
            recorded.usage = Some(reported(&call));
        }
    }
    let size = |tokens: usize| Some(tokens).filter(|&tokens| tokens > 0);
    found.compactions = log
        .generations(&session.id)?
        .into_iter()
        .map(|generation| Compaction {
            at: usize::try_from(generation.position).unwrap_or_default(),
            before: size(generation.fold.tokens_before),
            after: size(generation.fold.tokens_after),
            trigger: Some(generation.fold.reason),
        })
        .collect();
    Ok(found)
}

fn reported(call: &Usage) -> Reported {
    let size = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    Reported {
        prompt: size(call.input + call.cache_read + call.cache_write),
        cached: size(call.cache_read),
        written: size(call.cache_write),
        output: size(call.output),
    }
}
