//! The person before the screen: sees what happens in a turn, agrees to calls, answers questions, steers.

use std::time::Duration;

use anstyle::{AnsiColor, Style};
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use waterline_agent::{Event, Person, Question, Request, Word};
use waterline_provider::answer::Delta;
use waterline_session::Event as CallEvent;

use super::screen::{DIM, Folded, Inner, Screen, dim};
use crate::lang::say;
use crate::show::events::call_note;
use crate::show::{asking, cut, lines};

const RED: Style = AnsiColor::Red.on_default();
const GREEN: Style = AnsiColor::Green.on_default();

/// How many lines of a failure are shown at once.
const FAILURE_LINES: usize = 4;

impl Person for Screen {
    fn hear(&self, event: &Event) {
        self.hear_at(&mut self.lock(), event, None);
    }

    fn approve<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Word> {
        Box::pin(async move {
            let (mut text, asked) = asking::request(request);
            let _one = self.asking.lock().await;
            loop {
                let Some(line) = self.ask(&text).await else {
                    return Word::Nobody(say("nobody is there to agree to it", "没有人可以批准").to_owned());
                };
                match asking::word(line) {
                    Some(word) => return word,
                    None => text.clone_from(&asked),
                }
            }
        })
    }

    fn answer<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let text = asking::question(question);
            let _one = self.asking.lock().await;
            let line = self.ask(&text).await?;
            asking::answer(question, line)
        })
    }

    fn steering(&self) -> Vec<String> {
        self.lock().steers.drain(..).collect()
    }
}

impl Screen {
    fn hear_at(&self, inner: &mut Inner, event: &Event, below: Option<&str>) {
        let at = below.map(|context| format!("{context}: ")).unwrap_or_default();
        match event {
            Event::Asks(_) => self.wait(inner, &format!("{at}{}", say("thinking", "思考中"))),
            // What a sub-agent says is for its parent, not for the person.
            Event::Call(CallEvent::Delta(Delta::Text(text))) if below.is_none() => self.write(inner, text),
            Event::Call(event) => {
                if let Some(text) = call_note(event) {
                    self.line(inner, &dim(&format!("{at}{text}")));
                }
            }
            Event::ToolBegins { id, name, arguments } => {
                inner.begun.push((id.clone(), arguments.clone()));
                self.wait(inner, &format!("{at}{name} {}", brief(arguments)));
            }
            Event::ToolEnds { id, name, text, failed, took } => {
                let begun = inner.begun.iter().position(|(known, _)| known == id).map(|at| inner.begun.remove(at));
                let arguments = begun.map(|(_, arguments)| arguments).unwrap_or_default();
                let call = Folded { name: format!("{at}{name}"), arguments, text: text.clone() };
                self.called(inner, call, *failed, *took);
            }
            Event::Todos(todos) => {
                todos.iter().for_each(|todo| self.line(inner, &format!("  {}", lines(&todo.line()))));
            }
            Event::Steered(text) | Event::Notice(text) => self.line(inner, &dim(&format!("{at}{text}"))),
            Event::HookFailed { middleware, hook, why } => {
                let failed = say("failed", "失败");
                self.line(inner, &format!("{RED}{at}{middleware}: {hook} {failed}: {}{RED:#}", lines(why)));
            }
            Event::Below { context_id, event } => self.hear_at(inner, event, Some(context_id)),
            Event::Ends if below.is_none() => self.quiet(inner),
            Event::Begins | Event::Answered { .. } | Event::Failed(_) | Event::Ends => {}
        }
    }

    /// A call is done: one line, which `/unfold` unfolds.
    fn called(&self, inner: &mut Inner, call: Folded, failed: bool, took: Duration) {
        inner.calls.push(call.clone());
        let number = inner.calls.len();
        let Folded { name, arguments, text } = call;
        let (style, mark) = if failed { (RED, "✗") } else { (GREEN, "●") };
        let first = text.lines().next().unwrap_or_default();
        let more = text.lines().count().saturating_sub(1);
        let more = if more > 0 { format!(" (+{more})") } else { String::new() };
        let end = format!("{more} {:.1} s [{number}]", took.as_secs_f64());
        let room = self.columns().saturating_sub(end.len() + 3);
        let line = cut(&format!("{name} {} → {first}", brief(&arguments)), room);
        self.line(inner, &format!("{style}{mark}{style:#} {line}{DIM}{end}{DIM:#}"));
        if failed {
            for line in text.lines().skip(1).take(FAILURE_LINES) {
                self.line(inner, &format!("  {}", dim(&cut(line, self.columns().saturating_sub(3)))));
            }
        }
    }

    /// Asks for a line; none where nobody can answer, or the turn is given up.
    async fn ask(&self, text: &str) -> Option<String> {
        let (sender, receiver) = oneshot::channel();
        {
            let mut inner = self.lock();
            if self.listens && !inner.gone {
                inner.asked = Some(sender);
            }
            self.line(&mut inner, &lines(text));
            inner.asked.as_ref()?;
        }
        receiver.await.ok()
    }
}

/// The values of a call, without the JSON around them.
fn brief(arguments: &str) -> String {
    let Ok(serde_json::Value::Object(fields)) = serde_json::from_str(arguments) else { return arguments.to_owned() };
    let word = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    fields.values().map(word).collect::<Vec<_>>().join(" ").replace('\n', " ")
}
