//! The JSON lines of a run, for programs: the session first, then the events, and the answer or the
//! error last. Other programs depend on the names, so they do not follow the Rust names.

use serde::Serialize;
use waterline_session::{Event as CallEvent, LiveSession};

use crate::event::Event;
use crate::observer::Source;
use crate::outcome::{Ending, Outcome};

/// One line of a run.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunLine<'a> {
    /// The line that opens the output.
    Session {
        /// The id of the session.
        session: &'a str,
        /// The name of the model.
        model: &'a str,
        /// The directory that the agent works in.
        directory: &'a str,
    },
    /// A notice that is not an event of the turn.
    Notice {
        /// The notice in English.
        text: &'a str,
    },
    /// The last line of a turn.
    Answer(AnswerLine<'a>),
    /// The last line if the turn failed.
    Error {
        /// The id of the session.
        session: &'a str,
        /// What happened.
        message: &'a str,
    },
}

/// How a turn ended, and what it used.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct AnswerLine<'a> {
    /// The id of the session.
    pub session: &'a str,
    /// The id of the run, which checkpoints name too.
    pub run: &'a str,
    /// The name of the model.
    pub model: &'a str,
    /// The text of the answer.
    pub text: &'a str,
    /// How the turn ended.
    pub stop: StopName,
    /// Why it ended, unless it ended with an answer.
    pub why: Option<String>,
    /// The number of model calls.
    pub steps: usize,
    /// The tokens of all prompts.
    pub prompt_tokens: usize,
    /// How many of them the provider read from its cache.
    pub cached_tokens: usize,
    /// The tokens of all answers.
    pub output_tokens: usize,
    /// The tokens that a prompt may take.
    pub window: usize,
    /// How full the window is.
    pub level: String,
    /// The number of folds of the session.
    pub folds: u64,
}

/// How a turn ended, as programs read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopName {
    /// With an answer.
    End,
    /// A limit of the turn was reached.
    Limit,
    /// It was stopped.
    Halted,
    /// It waits for the user.
    Waiting,
}

impl<'a> AnswerLine<'a> {
    /// Returns the last line of a turn. `waiting` is the text of what the turn waits for.
    #[must_use]
    pub fn new(live: &'a LiveSession, outcome: &'a Outcome, waiting: Option<String>) -> Self {
        let (stop, why) = match &outcome.ending {
            Ending::Done | Ending::HandOff { .. } => (StopName::End, None),
            Ending::Limit(why) => (StopName::Limit, Some(why.to_string())),
            Ending::Halted(why) => (StopName::Halted, Some(why.to_string())),
            Ending::Waiting(_) => (StopName::Waiting, waiting),
        };
        Self {
            session: &live.session().id,
            run: &outcome.run_id,
            model: &live.model().name,
            text: &outcome.text,
            stop,
            why,
            steps: outcome.steps,
            prompt_tokens: outcome.usage.prompt(),
            cached_tokens: outcome.usage.cache_read,
            output_tokens: outcome.usage.output,
            window: live.window(),
            level: live.level().to_string(),
            folds: live.generation().number,
        }
    }
}

/// An event with the session, the run and the step that it belongs to.
#[derive(Debug, Serialize)]
pub struct EventLine<'a> {
    #[serde(flatten)]
    event: &'a Event,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
    run: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<usize>,
}

impl<'a> EventLine<'a> {
    /// Returns the line of an event. Some events have none, because the first and the last line of
    /// the run report the same.
    #[must_use]
    pub fn new(source: &'a Source, event: &'a Event) -> Option<Self> {
        (!is_internal(event)).then_some(Self {
            event,
            // These events have a session or a step of their own.
            session: (!matches!(event, Event::HandedOff { .. })).then_some(&source.session),
            run: &source.run_id,
            step: (!matches!(event, Event::Asks(_))).then_some(source.step),
        })
    }
}

fn is_internal(event: &Event) -> bool {
    match event {
        Event::Begins
        | Event::Ends
        | Event::Failed { .. }
        | Event::Output { .. }
        | Event::Call(CallEvent::Raw(_) | CallEvent::Sending { .. } | CallEvent::Responds) => true,
        Event::Below { event, .. } => is_internal(event),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn source() -> Source {
        Source { session: "s".to_owned(), run_id: "r".to_owned(), step: 2, ..Source::default() }
    }

    fn line(event: &Event) -> serde_json::Value {
        serde_json::to_value(EventLine::new(&source(), event)).unwrap()
    }

    #[test]
    fn an_event_has_its_session_run_and_step_once() {
        let steered = Event::Steered("left".to_owned());
        let with_source = json!({
            "event": "steered", "text": "left", "session": "s", "run": "r", "step": 2
        });
        assert_eq!(line(&steered), with_source);
        assert_eq!(
            line(&Event::Asks(3)),
            json!({
                "event": "asks", "step": 3, "session": "s", "run": "r"
            })
        );
        let handed = Event::HandedOff { to: "execute".to_owned(), session: "t".to_owned() };
        assert_eq!(
            line(&handed),
            json!({
                "event": "handed_off", "to": "execute", "session": "t", "run": "r", "step": 2
            })
        );
    }

    #[test]
    fn what_the_first_and_last_line_report_has_no_line() {
        assert!(EventLine::new(&source(), &Event::Begins).is_none());
        let below = Event::Below { context_id: "a".to_owned(), event: Box::new(Event::Ends) };
        assert!(EventLine::new(&source(), &below).is_none());
    }

    #[test]
    fn the_lines_of_a_run_have_the_documented_names() {
        let session = RunLine::Session { session: "s", model: "m", directory: "/d" };
        assert_eq!(
            serde_json::to_string(&session).unwrap(),
            r#"{"event":"session","session":"s","model":"m","directory":"/d"}"#
        );
    }
}
