//! What people are asked in the middle of a turn: whether a call may be run, and what the model wants to know.

use std::sync::Arc;

use waterline::message::Part;

use crate::agent::{Agent, View};
use crate::approval::{self, Approval, Asked, Decision};
use crate::error::AgentError;
use crate::middleware::{Hook, Instead, To, Verdict};
use crate::outcome::Ending;
use crate::person::Word;
use crate::run::{Next, Run};
use crate::state::{Local, Question, Request, State, Waiting};
use crate::tool::Nature;
use crate::tools::result;

impl Agent {
    /// Asks the middlewares of one kind. Where one wants a person's consent, that is asked for once, and then the middlewares again.
    /// `None` where nothing keeps the turn from going its way.
    pub(crate) async fn decided(
        &mut self,
        hook: Hook,
        run: &mut Run,
        view: &mut View<'_>,
    ) -> Result<Option<Next>, AgentError> {
        loop {
            let next = match self.ask_about(hook, run, view).await? {
                Verdict::Interrupt(request) => match self.consent(&request, run, view).await? {
                    Some(next) => Some(next),
                    // Before tools a no is a result of the call; elsewhere there is nothing else that could be left out.
                    None if hook != Hook::BeforeTools && view.instead.contains_key(&request.call_id) => {
                        Some(Next::End(Ending::Halted(format!("nobody agreed to it: {}", request.reason))))
                    }
                    None => continue,
                },
                Verdict::Halt(why) => Some(Next::End(Ending::Halted(why))),
                Verdict::Goto(To::End) => Some(Next::End(Ending::Done)),
                Verdict::Goto(To::Model) if matches!(hook, Hook::AfterModel | Hook::BeforeTools) => Some(Next::Model),
                Verdict::Goto(To::Tools) if hook == Hook::BeforeModel => Some(Next::Tools),
                Verdict::Ok | Verdict::Update | Verdict::Goto(To::Model | To::Tools) => None,
            };
            return Ok(next);
        }
    }

    /// Has the consent that a middleware wants. It counts for the middleware only: what is a risk is asked about all the same.
    async fn consent(
        &mut self,
        request: &Request,
        run: &mut Run,
        view: &mut View<'_>,
    ) -> Result<Option<Next>, AgentError> {
        let word = match run.consents.get(&request.call_id) {
            Some(word) => word.clone(),
            None => self.approve(request).await?,
        };
        let next = Self::obey(request, &word, view);
        if next.is_none() {
            run.consents.insert(request.call_id.clone(), word.clone());
            view.words.insert(request.call_id.clone(), word);
        }
        Ok(next)
    }

    /// Asks a person about the calls that somebody must agree to. No list of middlewares can leave this out.
    pub(crate) async fn ask_people(&mut self, view: &mut View<'_>, run: &mut Run) -> Result<Option<Next>, AgentError> {
        for call in view.calls.clone() {
            if view.instead.contains_key(&call.id) {
                continue;
            }
            let tool = self.config.toolbox.find(&call.name);
            let nature = tool.map_or(Nature::Reaches, |tool| tool.nature());
            let identity = tool.and_then(|tool| approval::identity(&**tool));
            let asked = Asked { tool: &call.name, nature, arguments: &call.arguments, identity: identity.as_deref() };
            match self.config.approval.decide(asked, &self.local()?) {
                Decision::Run => {}
                Decision::Refuse(why) => {
                    drop(view.instead.insert(call.id.clone(), Instead::refusal(format!("not run: {why}"))))
                }
                Decision::Ask { reason, may_always } => {
                    let (call_id, tool, arguments) = (call.id.clone(), call.name.clone(), call.arguments.clone());
                    let request = Request { call_id, tool, arguments, reason, may_always, context_id: None };
                    let word = match run.words.get(&call.id) {
                        Some(word) => word.clone(),
                        None => self.approve(&request).await?,
                    };
                    if let Some(next) = Self::obey(&request, &word, view) {
                        return Ok(Some(next));
                    }
                    run.words.insert(call.id.clone(), word.clone());
                    if word == Word::Always {
                        let grant = Approval::grant(asked);
                        self.stage(move |_, local| local.approvals.push(grant.clone())).await?;
                    }
                }
            }
        }
        Ok(None)
    }

    /// Does what a person's word on a call says.
    fn obey(request: &Request, word: &Word, view: &mut View<'_>) -> Option<Next> {
        let refusal = match word {
            Word::Yes | Word::Always => return None,
            Word::Later => return Some(Next::End(Ending::Waiting(Waiting::Approval(request.clone())))),
            Word::No(None) => "the user refused this call".to_owned(),
            Word::No(Some(why)) => format!("the user refused this call: {why}"),
            Word::Unanswered(why) => format!("not run: {why}"),
        };
        view.instead.insert(request.call_id.clone(), Instead::refusal(refusal));
        None
    }

    /// Has somebody agree to a call, or not. What waits is stored before anybody is asked; what nobody answers in time is not run.
    /// The time begins when the question is seen: who asks waits for whoever asked before.
    pub(crate) async fn approve(&mut self, request: &Request) -> Result<Word, AgentError> {
        self.set_pending(Waiting::Approval(request.clone())).await?;
        let time = self.config.approval.time;
        let (person, crew) = (Arc::clone(&self.person), Arc::clone(&self.crew));
        let word = {
            let _one = crew.asking.lock().await;
            tokio::time::timeout(time, person.approve(request)).await
        };
        let word = match word {
            // Who cannot agree once and for all has not agreed at all.
            Ok(Word::Always) if !request.may_always => Word::No(Some("it can only be agreed to each time".to_owned())),
            Ok(word) => word,
            Err(_) => Word::Unanswered(format!("nobody agreed to it within {} s", time.as_secs())),
        };
        if word != Word::Later {
            // Stored with what comes of the call: a program that ends before asks again.
            self.stage(|state, _| state.pending = None).await?;
        }
        Ok(word)
    }

    /// Has somebody answer a question, now or later.
    pub(crate) async fn wait_for_answer(&mut self, question: Question) -> Result<Next, AgentError> {
        self.set_pending(Waiting::Question(question.clone())).await?;
        let (person, crew) = (Arc::clone(&self.person), Arc::clone(&self.crew));
        let answer = {
            let _one = crew.asking.lock().await;
            person.answer(&question).await
        };
        match answer {
            Some(answer) => {
                self.answer_question(&question, &answer, Vec::new()).await?;
                Ok(Next::Tools)
            }
            None => Ok(Next::End(Ending::Waiting(Waiting::Question(question)))),
        }
    }

    /// The answer to a question is the result of the call that asked it.
    pub(crate) async fn answer_question(
        &mut self,
        question: &Question,
        answer: &str,
        more: Vec<Part>,
    ) -> Result<(), AgentError> {
        let open = self.open_calls();
        if let Some(call) = open.iter().find(|call| call.id == question.call_id) {
            let parts = std::iter::once(Part::text(answer)).chain(more).collect();
            self.live.stage(vec![result(call, parts, false)]).await?;
        }
        let id = question.call_id.clone();
        let answered = move |state: &mut State, local: &mut Local| {
            state.pending = None;
            local.started.retain(|started| *started != id);
        };
        self.change(answered).await
    }

    async fn set_pending(&mut self, pending: Waiting) -> Result<(), AgentError> {
        self.change(move |state, _| state.pending = Some(pending.clone())).await
    }
}
