//! `/memory`: lists, searches and changes what later sessions remember.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_log::Log;
use waterline_memory::{Added, Line, Memory, Note, Remembered, Source, Topic};

use super::{Next, Spec};
use crate::chat::Chat;
use crate::error::describe_note;
use crate::ids;
use crate::text;

/// Maximum number of lines of a search.
const FOUND: usize = 10;

/// How many lines of the daily files the list ends with.
const NEWEST: usize = 5;

pub(super) const SPEC: Spec = Spec {
    names: &["memory"],
    takes: "[list|search TEXT|add TEXT|edit N TEXT|forget N]",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Next> {
    let Some(memory) = chat.runner.agent.live().config().memory.clone() else {
        chat.screen.print_line(&text!("memory-off"));
        return Ok(Next::Prompt);
    };
    let live = chat.runner.agent.live();
    let newest = live.history().len().checked_sub(1).and_then(|at| live.history().number(at));
    let source = Source::new(&live.session().id, newest.unwrap_or_default() as u64);
    let Some(request) = Request::parse(rest) else {
        chat.screen.print_line(&SPEC.usage());
        return Ok(Next::Prompt);
    };
    let recall = chat.runner.agent.recall();
    let work = move |log: &Log, _: &str| {
        let find = |question: &str| recall.find_in_memory(log, &memory, question, FOUND);
        Ok(answer(&memory, request, source, find))
    };
    let lines = chat.on_log(work).await??;
    lines.iter().for_each(|line| chat.screen.print_line(line));
    Ok(Next::Prompt)
}

/// What the user asks for.
#[derive(Debug, PartialEq, Eq)]
enum Request {
    List,
    Search(String),
    Add(String),
    Edit(usize, String),
    Forget(usize),
}

impl Request {
    /// Reads the arguments. A text without a command is searched for.
    fn parse(rest: &str) -> Option<Self> {
        let (command, text) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
        let text = text.trim();
        match command {
            "" | "list" => Some(Self::List),
            "search" | "add" | "edit" | "forget" if text.is_empty() => None,
            "search" => Some(Self::Search(text.to_owned())),
            "add" => Some(Self::Add(text.to_owned())),
            "forget" => text.parse().ok().map(Self::Forget),
            "edit" => {
                let (number, text) = text.split_once(' ')?;
                Some(Self::Edit(number.parse().ok()?, text.trim().to_owned()))
            }
            _ => Some(Self::Search(rest.trim().to_owned())),
        }
    }
}

/// Carries out a request. `find` returns the lines that answer a question. Returns the lines to
/// print.
fn answer(
    memory: &Memory,
    request: Request,
    source: Source,
    find: impl FnOnce(&str) -> std::io::Result<Vec<Remembered>>,
) -> Result<Vec<String>> {
    let done = match request {
        Request::List => return list(memory),
        Request::Search(question) => {
            let lines: Vec<String> = find(&question)?.iter().map(found_line).collect();
            return Ok(if lines.is_empty() { vec![text!("memory-no-match")] } else { lines });
        }
        Request::Add(fact) => memory.remember(&fact, Some(source)).map(|added| match added {
            Added::New => text!("memory-added"),
            Added::Known => text!("memory-known"),
            Added::Replaced(earlier) => text!("memory-replaced", earlier = earlier),
        }),
        Request::Edit(number, fact) => {
            let day = jiff::Zoned::now().strftime("%Y-%m-%d").to_string();
            let line = Line::new(&fact, &day, Some(source));
            let earlier = memory.notes().edit(number, &line);
            earlier.map(|earlier| text!("memory-replaced", earlier = earlier.line.text))
        }
        Request::Forget(number) => {
            let gone = memory.notes().forget(number);
            gone.map(|gone| text!("memory-forgotten", fact = gone.line.text))
        }
    };
    Ok(vec![done.unwrap_or_else(|error| describe_note(&error))])
}

fn list(memory: &Memory) -> Result<Vec<String>> {
    let notes = memory.notes().list()?;
    let mut lines = vec![memory.notes().path().display().to_string()];
    let mut topic = None;
    for (number, note) in notes.iter().enumerate() {
        if topic.replace(note.topic) != Some(note.topic) {
            lines.push(heading(note.topic));
        }
        lines.push(note_line(number + 1, note));
    }
    let newest = memory.newest(NEWEST)?;
    if !newest.is_empty() {
        lines.push(text!("memory-newest"));
        lines.extend(newest.iter().map(found_line));
    }
    if lines.len() == 1 {
        lines.push(text!("memory-empty"));
    }
    Ok(lines)
}

fn heading(topic: Topic) -> String {
    match topic {
        Topic::Instruction => text!("memory-instructions"),
        Topic::Preference => text!("memory-preferences"),
        Topic::Superseded => text!("memory-superseded"),
        _ => text!("memory-facts"),
    }
}

/// Returns a fact with its number and where it is from.
pub(in crate::chat) fn note_line(number: usize, note: &Note) -> String {
    let from = match &note.line.source {
        Some(source) => text!(
            "memory-source",
            day = note.line.day.as_str(),
            session = ids::short(&source.session),
            message = source.message
        ),
        None if note.line.day.is_empty() => String::new(),
        None => text!("memory-day", day = note.line.day.as_str()),
    };
    format!("{number:>4}  {}  {from}", crate::show::plain(&note.line.text)).trim_end().to_owned()
}

fn found_line(found: &Remembered) -> String {
    let place = match found.is_superseded {
        true => text!("memory-found-superseded", day = found.day.as_str()),
        false => found.place.clone(),
    };
    let text = crate::show::plain(&found.text);
    format!("  {}", text!("error-with-cause", error = place, cause = text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read() {
        let cases = [
            ("", Some(Request::List)),
            ("list", Some(Request::List)),
            ("search door code", Some(Request::Search("door code".to_owned()))),
            ("door code", Some(Request::Search("door code".to_owned()))),
            ("add The API is on port 80", Some(Request::Add("The API is on port 80".to_owned()))),
            ("edit 2 new text", Some(Request::Edit(2, "new text".to_owned()))),
            ("forget 3", Some(Request::Forget(3))),
            ("forget it", None),
            ("edit two text", None),
            ("add", None),
        ];
        for (text, request) in cases {
            assert_eq!(Request::parse(text), request, "{text}");
        }
    }

    #[test]
    fn a_fact_from_before_the_first_message_names_only_its_session() {
        let source = |message: u64| {
            text!("memory-source", day = "2026-11-18", session = "a1b2", message = message)
        };
        assert_eq!(source(0), "(2026-11-18, session a1b2)");
        assert_eq!(source(3), "(2026-11-18, session a1b2, message 3)");
    }
}
