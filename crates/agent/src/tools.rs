//! The tools' part of a turn: open calls are looked at, agreed to, run, and answered, each result in the log as soon as it is there.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use waterline::message::{Body, Call, Message, Part, Role, ToolResult};

use crate::agent::{Agent, View};
use crate::error::AgentError;
use crate::event::Event;
use crate::middleware::{Finished, Hook, To, Verdict};
use crate::outcome::{Ending, Waiting};
use crate::person::{Question, Request, Word};
use crate::repeats;
use crate::run::{Next, Run};
use crate::tool::{Effect, Failure, Nature, Output, Todo};

/// How many calls run side by side, where they may.
const SIDE_BY_SIDE: usize = 3;

/// An output longer than this becomes an artifact, and at most this share of the window.
const LONGEST_CHARS: usize = 32_000;
const WINDOW_SHARE: usize = 8;

/// A call that was run.
struct Ran {
    call: Call,
    output: Result<Output, Failure>,
    took: Duration,
}

/// A result, as it is said.
pub(crate) fn result(call: &Call, parts: Vec<Part>, is_error: bool) -> Message {
    let result = ToolResult { call_id: call.id.clone(), name: Some(call.name.clone()), parts, is_error };
    Message::new(Role::Tool, vec![Body::Result(result).into()])
}

impl Agent {
    /// Runs the open calls.
    pub(crate) async fn tools(&mut self, run: &mut Run) -> Result<Next, AgentError> {
        let open = self.open_calls();
        let open = self.answer_interrupted(open).await?;
        if let Some(Waiting::Question(question)) = Waiting::of(self.state())
            && open.iter().any(|call| call.id == question.call_id)
        {
            return self.wait_for_answer(question).await;
        }
        let mut view = View { calls: open, ..View::default() };
        self.refuse(&mut view, run);
        loop {
            match self.ask_about(Hook::BeforeTools, run, &mut view).await? {
                Verdict::Interrupt(request) => match self.approve(&request).await? {
                    Word::Later => return Ok(Next::End(Ending::Waiting(Waiting::Approval(request)))),
                    word => drop(view.words.insert(request.call_id, word)),
                },
                Verdict::Halt(why) => return Ok(Next::End(Ending::Halted(why))),
                Verdict::Goto(To::End) => return Ok(Next::End(Ending::Done)),
                Verdict::Ok | Verdict::Update | Verdict::Goto(_) => break,
            }
        }
        let mut calls = view.calls.as_slice();
        while let Some((group, rest)) = self.group(calls, &view.instead) {
            if let Some(next) = self.run_group(group, &view.instead, run).await? {
                return Ok(next);
            }
            calls = rest;
        }
        self.live.checkpoint(json!({"step": run.steps, "after": "tools", "source": "agent"})).await?;
        Ok(match (run.hand_off.take(), run.last_words.take_if(|_| run.reported)) {
            (Some((to, package)), _) => Next::End(Ending::HandOff { to, package }),
            // It called tools instead of reporting: the turn ends all the same.
            (None, Some(why)) => Next::End(Ending::Limit(why)),
            (None, None) => Next::Model,
        })
    }

    /// Calls that are not run, with what the model is told: those of tools that may not be used, and those that go in circles.
    fn refuse(&self, view: &mut View<'_>, run: &mut Run) {
        for call in &view.calls {
            let why = if let Some(why) = &run.last_words {
                Some(format!("not run: the turn must end ({why})"))
            } else if self.equipment.toolbox.find(&call.name).is_none() {
                Some(format!("there is no tool {:?}", call.name))
            } else if !self.equipment.toolbox.may_use(&call.name, self.state()) {
                Some(format!("refused: {} is switched off; the user can allow it by mentioning @{0}", call.name))
            } else {
                match run.repeats.consider(&call.name, &call.arguments) {
                    repeats::Verdict::Run => None,
                    repeats::Verdict::Refuse(why) => Some(why),
                    repeats::Verdict::End(why) => {
                        run.last_words = Some(why.clone());
                        Some(format!("not run: {why}"))
                    }
                }
            };
            if let Some(why) = why {
                view.instead.insert(call.id.clone(), (why, true));
            }
        }
    }

    /// The calls that are run next: one, or several beside each other where none of them changes anything.
    fn group<'a>(
        &self,
        calls: &'a [Call],
        instead: &BTreeMap<String, (String, bool)>,
    ) -> Option<(&'a [Call], &'a [Call])> {
        let together = |call: &&Call| {
            let nature = self.equipment.toolbox.find(&call.name).map(|tool| tool.nature());
            let harmless = matches!(nature, Some(Nature::Reads | Nature::Delegates));
            harmless && !instead.contains_key(&call.id) && call.name != "ask_human" && call.name != "hand_off"
        };
        let count = calls.iter().take_while(together).count().clamp(usize::from(!calls.is_empty()), SIDE_BY_SIDE);
        if count == 0 { None } else { calls.split_at_checked(count) }
    }

    /// Runs calls beside each other and stores their results in order. Says what comes next where the turn cannot go on.
    async fn run_group(
        &mut self,
        group: &[Call],
        instead: &BTreeMap<String, (String, bool)>,
        run: &mut Run,
    ) -> Result<Option<Next>, AgentError> {
        // Written before they begin, so that nobody runs them twice.
        if !group.iter().all(|call| instead.contains_key(&call.id)) {
            self.note_started(group).await?;
        }
        let agent = &*self;
        let works = group.iter().map(|call| async move {
            match instead.get(&call.id) {
                Some((text, true)) => Ran { call: call.clone(), output: Err(Failure::new(text)), took: Duration::ZERO },
                Some((text, false)) => Ran { call: call.clone(), output: Ok(Output::text(text)), took: Duration::ZERO },
                None => agent.run_call(call).await,
            }
        });
        let works: Vec<_> = works.collect();
        let ran: Vec<Ran> = futures_util::stream::iter(works).buffered(SIDE_BY_SIDE).collect().await;
        run.tool_calls += ran.len();
        for ran in ran {
            if let Some(next) = self.take(ran, run).await? {
                return Ok(Some(next));
            }
        }
        Ok(None)
    }

    /// Runs one call; again after a while where its trouble may pass.
    async fn run_call(&self, call: &Call) -> Ran {
        self.hear(&Event::ToolBegins {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
        });
        let since = Instant::now();
        let mut waits = self.equipment.tool_waits.iter();
        let output = loop {
            match (self.try_call(call).await, waits.next()) {
                (Err(failure), Some(wait)) if failure.transient => tokio::time::sleep(*wait).await,
                (output, _) => break output,
            }
        };
        Ran { call: call.clone(), output, took: since.elapsed() }
    }

    async fn try_call(&self, call: &Call) -> Result<Output, Failure> {
        let text = if call.arguments.trim().is_empty() { "{}" } else { &call.arguments };
        let arguments: Value = serde_json::from_str(text).map_err(|error| {
            Failure::new(format!("the arguments are no JSON ({error}); perhaps the answer was cut"))
        })?;
        let tool = self.equipment.toolbox.find(&call.name).ok_or_else(|| Failure::new("there is no such tool"))?;
        let scene = self.scene(&call.id);
        tool.call(arguments, &scene).await
    }

    /// Does what a call wants done, and stores its result.
    async fn take(&mut self, ran: Ran, run: &mut Run) -> Result<Option<Next>, AgentError> {
        let Ran { call, output, took } = ran;
        let (output, failed) = match output {
            Ok(output) => (output, false),
            Err(failure) => (Output::text(failure.text), true),
        };
        run.repeats.note(&call.name, &call.arguments, failed);
        for effect in &output.effects {
            match effect {
                Effect::Todos(todos) => self.set_todos(todos).await?,
                Effect::Fold(reason) => self.live.fold_next(reason),
                Effect::HandOff { to, package } => run.hand_off = Some((to.clone(), package.clone())),
                Effect::Ask { question, choices } => {
                    let question =
                        Question { call_id: call.id.clone(), question: question.clone(), choices: choices.clone() };
                    return self.wait_for_answer(question).await.map(Some);
                }
            }
        }
        let finished = Finished { call: call.clone(), text: output.words(), failed };
        let mut view = View { finished: vec![finished], ..View::default() };
        let verdict = self.ask_about(Hook::AfterTools, run, &mut view).await?;
        let finished = view.finished.pop().unwrap_or(Finished { call, text: String::new(), failed });
        let text = self.shorten(finished.text).await?;
        let (id, name) = (finished.call.id.clone(), finished.call.name.clone());
        self.hear(&Event::ToolEnds { id, name, text: text.clone(), failed: finished.failed, took });
        let sees = self.sees();
        let pictures = output.parts.into_iter().filter(|part| matches!(part.body, Body::Image(_)));
        let pictures = pictures.map(|part| if sees { part } else { Part::text("[the model cannot see pictures]") });
        let parts: Vec<Part> = std::iter::once(Part::text(text)).chain(pictures).collect();
        self.live.say(vec![result(&finished.call, parts, finished.failed)]).await?;
        Ok(match verdict {
            Verdict::Halt(why) => Some(Next::End(Ending::Halted(why))),
            Verdict::Goto(To::End) => Some(Next::End(Ending::Done)),
            _ => None,
        })
    }

    /// A text that is too long becomes an artifact before it is ever sent; its beginning and its end stand for it.
    async fn shorten(&self, text: String) -> Result<String, AgentError> {
        let limit = LONGEST_CHARS.min(self.live.window() * 3 / WINDOW_SHARE).max(400);
        let chars = text.chars().count();
        if chars <= limit {
            return Ok(text);
        }
        let head: String = text.chars().take(limit / 2).collect();
        let tail: String = text.chars().skip(chars - limit / 4).collect();
        let (id, preview) = (self.live.session().id.clone(), head.chars().take(200).collect::<String>());
        let artifact =
            self.live.on_log(move |log| log.put_artifact(&id, "text/plain", &preview, text.into_bytes())).await?;
        let handle: String = artifact.hash.chars().take(16).collect();
        let left = chars - limit / 2 - limit / 4;
        Ok(format!("{head}\n[... {left} chars omitted; read_artifact with {handle} reads the whole ...]\n{tail}"))
    }

    async fn set_todos(&mut self, todos: &[Todo]) -> Result<(), AgentError> {
        let values: Vec<Value> = todos.iter().filter_map(|todo| serde_json::to_value(todo).ok()).collect();
        self.live.change(|session| session.state.todos = values).await?;
        self.hear(&Event::Todos(todos.to_vec()));
        Ok(())
    }

    /// Has somebody agree to a call, or not. What waits is stored before anybody is asked; who does not answer in time says no.
    async fn approve(&mut self, request: &Request) -> Result<Word, AgentError> {
        self.set_waiting(Some(&Waiting::Approval(request.clone()))).await?;
        let time = self.equipment.approval.time;
        let person = std::sync::Arc::clone(&self.person);
        let word = match tokio::time::timeout(time, person.approve(request)).await {
            Ok(Word::Always) if !request.may_always => Word::Yes,
            Ok(word) => word,
            Err(_) => Word::No(Some(format!("nobody answered within {} s", time.as_secs()))),
        };
        if word != Word::Later {
            self.set_waiting(None).await?;
        }
        Ok(word)
    }

    /// Has somebody answer a question, now or later.
    async fn wait_for_answer(&mut self, question: Question) -> Result<Next, AgentError> {
        self.set_waiting(Some(&Waiting::Question(question.clone()))).await?;
        let person = std::sync::Arc::clone(&self.person);
        match person.answer(&question).await {
            Some(answer) => {
                self.answer_question(&question, &answer).await?;
                Ok(Next::Tools)
            }
            None => Ok(Next::End(Ending::Waiting(Waiting::Question(question)))),
        }
    }

    /// The answer to a question is the result of the call that asked it.
    pub(crate) async fn answer_question(&mut self, question: &Question, answer: &str) -> Result<(), AgentError> {
        let open = self.open_calls();
        if let Some(call) = open.iter().find(|call| call.id == question.call_id) {
            self.live.say(vec![result(call, vec![Part::text(answer)], false)]).await?;
        }
        self.set_waiting(None).await
    }

    async fn set_waiting(&mut self, waiting: Option<&Waiting>) -> Result<(), AgentError> {
        let value = waiting.and_then(|waiting| serde_json::to_value(waiting).ok()).unwrap_or_default();
        self.live.change(|session| session.state.pending_action = value).await?;
        Ok(())
    }
}
