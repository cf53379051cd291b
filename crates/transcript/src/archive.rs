//! Imports transcripts into the log, and exports stored sessions as transcripts. These functions
//! block, as the log does.

use serde_json::Value;
use waterline::message::{Message, Role, Wire};
use waterline::model::Models;
use waterline::phrase;
use waterline::phrase::Phrase;
use waterline::reason::Reason;
use waterline::tokens::Counter;
use waterline_log::{
    Encoding, Entry, Fold, Id, Incoming, Log, LogError, Offered, Refusal, Relation, Result,
    Session, Summary, Tip, Usage,
};
use waterline_provider::wire::parse_stored;

use crate::title::title_of;
use crate::transcript::{
    Compaction, Entry as Recorded, Transcript, TranscriptKind, Usage as Reported,
};

/// The key in the session's state that holds the transcript's wire format.
const WIRE: &str = "wire";

/// The result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imported {
    /// The number of new messages.
    pub messages: usize,
    /// Whether the session was created.
    pub is_new: bool,
    /// Whether messages were appended to an existing session.
    pub continued: bool,
    /// The existing session it is a fork of, if the two diverge.
    pub forked: Option<String>,
}

/// Imports a recorded conversation: its messages, the usage of its model calls, and its
/// compactions. Messages that are already in the log are not stored again. `models` decides how
/// tokens are counted.
///
/// # Errors
/// When the log cannot be read or written.
pub fn import(
    log: &Log,
    transcript: &Transcript,
    user: Option<&str>,
    models: &Models,
) -> Result<Imported> {
    let model = models.resolve(transcript.model.as_deref().unwrap_or_default());
    let counter = model.counter();
    let recorded: Vec<&Recorded> =
        transcript.entries.iter().filter(|entry| !entry.is_summary).collect();
    let times = times(&recorded);
    let incoming: Vec<Incoming> = recorded
        .iter()
        .zip(times)
        .map(|(entry, time)| Incoming::of(&entry.message, &counter).at(time))
        .collect();
    let Some(first) = incoming.first() else { return Ok(Imported::default()) };
    let root = Id::of(None, first.role, first.encoding, &first.bytes);

    let mut session = describe(transcript, &recorded);
    session.user = user.map(str::to_owned);
    session.set_imported_at(log.now());
    let last_time = incoming.iter().filter_map(|message| message.time).max();
    let is_new = find_or_create(log, &mut session, root)?;
    let active_before = if is_new { 0 } else { log.session(&session.id)?.active };
    let mut imported = Imported { is_new, ..Imported::default() };
    let (mut offered, appended) = log.offer(&session.id, incoming.clone())?;
    imported.messages = appended.new;
    if offered == Offered::Apart {
        offered = resolve_divergence(log, &mut session, appended.tip, incoming, &mut imported)?;
    }
    if imported.is_new && !transcript.tools.is_empty() {
        let definitions = serde_json::to_vec(&transcript.tools)
            .map_err(|error| invalid_tools(&session.id, &error))?;
        log.set_tools(&session.id, definitions)?;
    }
    imported.continued = offered == Offered::Continued && !imported.is_new;
    if imported.continued {
        update_session(log, &session)?;
    }
    note_usage(log, &session.id, transcript, &recorded)?;
    note_folds(log, &session.id, transcript, &counter)?;
    if let Some(time) = last_time.filter(|_| imported.is_new || imported.continued) {
        // The session was used when its last message was written, not now.
        let before = if imported.is_new { 0 } else { active_before };
        log.set_active(&session.id, time.max(before).min(log.now()))?;
    }
    Ok(imported)
}

/// Handles a recorded conversation that diverges from the stored one. If they differ only in an
/// answer that was unfinished at the earlier import, the session moves to the new one; otherwise
/// the recorded conversation becomes a fork.
fn resolve_divergence(
    log: &Log,
    session: &mut Session,
    tip: Tip,
    incoming: Vec<Incoming>,
    imported: &mut Imported,
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
        imported.is_new = true;
        imported.forked = Some(parent);
    }
    Ok(log.offer(&session.id, incoming)?.0)
}

/// Updates what an earlier import of a shorter file could not know: the length, the model, and a
/// better title unless the user set one.
fn update_session(log: &Log, newer: &Session) -> Result<()> {
    let mut known = log.session(&newer.id)?;
    let first = log.entries_in(known.tip, 0..known.tip.position().min(20))?;
    let messages: Vec<Message> = first.iter().map(|entry| entry.message(parse_stored)).collect();
    let is_generated = |title: &str| {
        title.is_empty()
            || title.starts_with(['<', '/', '#'])
            || messages.iter().any(|message| message.text().starts_with(title))
            || *title == title_of(messages.iter())
    };
    let title = if is_generated(&known.title) { newer.title.clone() } else { known.title.clone() };
    known.imported = known.imported.max(newer.imported);
    known.model = known.model.or_else(|| newer.model.clone());
    known.title = title;
    known.set_imported_at(log.now());
    log.save(&known)
}

/// Creates the session unless it exists. If another conversation has its id, the short id of the
/// first message is appended to it. Returns whether the session was created.
fn find_or_create(log: &Log, session: &mut Session, root: Id) -> Result<bool> {
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

/// Creates a session. Returns `false` if it exists, because another process imports the same file.
fn create(log: &Log, session: &Session) -> Result<bool> {
    match log.create(session.clone()) {
        Ok(_) => Ok(true),
        Err(LogError::Exists { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns the time of each message in milliseconds. A message without a time gets that of the next
/// one that has one.
fn times(recorded: &[&Recorded]) -> Vec<Option<i64>> {
    let mut next = recorded.iter().rev().find_map(|entry| entry.time);
    let mut times: Vec<Option<i64>> = Vec::with_capacity(recorded.len());
    for entry in recorded.iter().rev() {
        next = entry.time.or(next);
        times.push(next.map(|seconds| seconds * 1_000));
    }
    times.reverse();
    times
}

fn describe(transcript: &Transcript, recorded: &[&Recorded]) -> Session {
    let mut session = Session::new(&transcript.id);
    session.title = title_of(recorded.iter().map(|entry| &entry.message));
    session.created =
        recorded.iter().find_map(|entry| entry.time).map_or(0, |seconds| seconds * 1_000);
    session.model.clone_from(&transcript.model);
    session.parent.clone_from(&transcript.parent);
    session.state.insert(WIRE.to_owned(), Value::from(transcript.wire.name()));
    session.imported = recorded.len() as u64;
    session.relation = match transcript.role {
        TranscriptKind::Main => Relation::Main,
        TranscriptKind::Branch => Relation::Fork,
        TranscriptKind::SubAgent => Relation::SubAgent,
    };
    if session.relation == Relation::SubAgent {
        // A hash, so that every import gives the same id.
        let digits = Id::of(None, Role::User, Encoding::Bytes, transcript.id.as_bytes()).short();
        session.context_id = format!("subagent-{}", digits.chars().take(8).collect::<String>());
        session.parent_context = Some("main".to_owned());
    }
    session
}

/// The error for tool definitions that are not the expected JSON.
fn invalid_tools(session: &str, error: &serde_json::Error) -> LogError {
    LogError::Refused(Refusal::Other(phrase!(
        "transcript-tools",
        "invalid tool definitions in session {session}: {cause}",
        session = session,
        cause = Phrase::from(error.to_string())
    )))
}

fn note_usage(
    log: &Log,
    session: &str,
    transcript: &Transcript,
    recorded: &[&Recorded],
) -> Result<()> {
    let calls = recorded.iter().enumerate().filter_map(|(at, entry)| {
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

/// Stores each compaction of the recording program as a generation, with the summary it wrote.
fn note_folds(log: &Log, session: &str, transcript: &Transcript, counter: &Counter) -> Result<()> {
    for (at, compaction) in transcript.compactions.iter().enumerate() {
        let before = transcript.entries.iter().take(compaction.at);
        let folded: Vec<&Recorded> = before.filter(|entry| !entry.is_summary).collect();
        let position = folded.len() as u64;
        let summaries =
            transcript.entries.iter().skip(compaction.at).take_while(|entry| entry.is_summary);
        let text = summaries.map(|entry| entry.message.text()).collect::<Vec<_>>().join("\n\n");
        let original: usize = folded.iter().map(|entry| counter.message(&entry.message)).sum();
        let fold = Fold {
            reasons: match &compaction.trigger {
                Some(trigger) => trigger.as_str().into(),
                None => Reason::OtherProgram.into(),
            },
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
            log.add_summary(session, summary)?;
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
        Relation::Main => TranscriptKind::Main,
        Relation::Fork => TranscriptKind::Branch,
        Relation::SubAgent => TranscriptKind::SubAgent,
    };
    found.model.clone_from(&session.model);
    if let Some(hash) = &session.tools {
        let definitions = log.tools(hash)?;
        found.tools = serde_json::from_slice(&definitions)
            .map_err(|error| invalid_tools(&session.id, &error))?;
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
            trigger: Some(generation.fold.reasons.to_string()),
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
