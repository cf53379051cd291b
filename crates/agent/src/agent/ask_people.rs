//! What people are asked in the middle of a turn: whether a call may be run, and what the model
//! wants to know.

use std::sync::Arc;

use waterline::message::Part;

use super::run_calls::result;
use super::turn_state::{Next, TurnState};
use super::{Agent, View};
use crate::approval::{self, Approval, CallRequest, Decision};
use crate::approver::ApprovalReply;
use crate::error::AgentError;
use crate::middleware::{Hook, SyntheticResult, To, Verdict};
use crate::outcome::Ending;
use crate::state::{ApprovalRequest, Local, Question, State, Waiting};

impl Agent {
    /// Asks the middlewares of one kind. Where one wants a person's consent, that is asked for
    /// once, and then the middlewares again. `None` where nothing keeps the turn from going its
    /// way.
    pub(super) async fn decided(
        &mut self,
        hook: Hook,
        turn: &mut TurnState,
        view: &mut View<'_>,
    ) -> Result<Option<Next>, AgentError> {
        loop {
            let next = match self.ask_about(hook, turn, view).await? {
                Verdict::Interrupt(request) => match self.consent(&request, turn, view).await? {
                    Some(next) => Some(next),
                    // Before tools a no is a result of the call; elsewhere there is nothing else
                    // that could be left out.
                    None if hook != Hook::BeforeTools
                        && view.instead.contains_key(&request.call_id) =>
                    {
                        Some(Next::End(Ending::Halted(format!(
                            "nobody agreed to it: {}",
                            request.reason
                        ))))
                    }
                    None => continue,
                },
                Verdict::Halt(why) => Some(Next::End(Ending::Halted(why))),
                Verdict::Goto(To::End) => Some(Next::End(Ending::Done)),
                Verdict::Goto(To::Model)
                    if matches!(hook, Hook::AfterModel | Hook::BeforeTools) =>
                {
                    Some(Next::Model)
                }
                Verdict::Goto(To::Tools) if hook == Hook::BeforeModel => Some(Next::Tools),
                Verdict::Ok | Verdict::Update | Verdict::Goto(To::Model | To::Tools) => None,
            };
            return Ok(next);
        }
    }

    /// Has the consent that a middleware wants. It counts for the middleware only: what is a risk
    /// is asked about all the same.
    async fn consent(
        &mut self,
        request: &ApprovalRequest,
        turn: &mut TurnState,
        view: &mut View<'_>,
    ) -> Result<Option<Next>, AgentError> {
        let reply = match turn.consents.get(&request.call_id) {
            Some(reply) => reply.clone(),
            None => self.approve(request).await?,
        };
        let next = Self::obey(request, &reply, view);
        if next.is_none() {
            turn.consents.insert(request.call_id.clone(), reply.clone());
            view.replies.insert(request.call_id.clone(), reply);
        }
        Ok(next)
    }

    /// Asks a person about the calls that somebody must agree to. No list of middlewares can leave
    /// this out.
    pub(super) async fn ask_people(
        &mut self,
        view: &mut View<'_>,
        turn: &mut TurnState,
    ) -> Result<Option<Next>, AgentError> {
        for call in view.calls.clone() {
            if view.instead.contains_key(&call.id) {
                continue;
            }
            let tool = self.config.toolbox.find(&call.name);
            let identity = tool.and_then(|tool| approval::identity(&**tool));
            let (info, identity) = (self.info(&call), identity.as_deref());
            let asked =
                CallRequest { tool: &call.name, info: &info, arguments: &call.arguments, identity };
            match self.config.approval.decide(asked, &self.local()?) {
                Decision::Run => {}
                Decision::Refuse(why) => {
                    drop(view.instead.insert(
                        call.id.clone(),
                        SyntheticResult::refusal(format!("not run: {why}")),
                    ))
                }
                Decision::Ask { reason, may_always } => {
                    let (call_id, tool, arguments) =
                        (call.id.clone(), call.name.clone(), call.arguments.clone());
                    let info = Box::new(info.clone());
                    let request = ApprovalRequest {
                        call_id,
                        tool,
                        arguments,
                        reason,
                        may_always,
                        context_id: None,
                        info,
                    };
                    let reply = match turn.replies.get(&call.id) {
                        Some(reply) => reply.clone(),
                        None => self.approve(&request).await?,
                    };
                    if let Some(next) = Self::obey(&request, &reply, view) {
                        return Ok(Some(next));
                    }
                    turn.replies.insert(call.id.clone(), reply.clone());
                    if reply == ApprovalReply::AllowAlways {
                        let grant = Approval::grant(asked);
                        self.stage(move |_, local| local.approvals.push(grant.clone())).await?;
                    }
                }
            }
        }
        Ok(None)
    }

    /// Does what a person's reply on a call says.
    fn obey(request: &ApprovalRequest, reply: &ApprovalReply, view: &mut View<'_>) -> Option<Next> {
        let refusal = match reply {
            ApprovalReply::Allow | ApprovalReply::AllowAlways => return None,
            ApprovalReply::Deferred => {
                return Some(Next::End(Ending::Waiting(Waiting::Approval(request.clone()))));
            }
            ApprovalReply::Deny(None) => "the user refused this call".to_owned(),
            ApprovalReply::Deny(Some(why)) => format!("the user refused this call: {why}"),
            ApprovalReply::NoReply(why) => format!("not run: {why}"),
        };
        view.instead.insert(request.call_id.clone(), SyntheticResult::refusal(refusal));
        None
    }

    /// Has somebody agree to a call, or not. What waits is stored before anybody is asked; what
    /// nobody answers in time is not run. The time begins when the question is seen: who asks waits
    /// for whoever asked before.
    pub(super) async fn approve(
        &mut self,
        request: &ApprovalRequest,
    ) -> Result<ApprovalReply, AgentError> {
        self.set_pending(Waiting::Approval(request.clone())).await?;
        let time = self.config.approval.time;
        let (approver, shared) = (Arc::clone(&self.approver), Arc::clone(&self.shared));
        let reply = {
            let _one = shared.asking.lock().await;
            tokio::time::timeout(time, approver.approve(request)).await
        };
        let reply = match reply {
            // Who cannot agree once and for all has not agreed at all.
            Ok(ApprovalReply::AllowAlways) if !request.may_always => {
                ApprovalReply::Deny(Some("it can only be agreed to each time".to_owned()))
            }
            Ok(reply) => reply,
            Err(_) => {
                ApprovalReply::NoReply(format!("nobody agreed to it within {} s", time.as_secs()))
            }
        };
        if reply != ApprovalReply::Deferred {
            // Stored with what comes of the call: a program that ends before asks again.
            self.stage(|state, _| state.pending = None).await?;
        }
        Ok(reply)
    }

    /// Has somebody answer a question, now or later.
    pub(super) async fn wait_for_answer(&mut self, question: Question) -> Result<Next, AgentError> {
        self.set_pending(Waiting::Question(question.clone())).await?;
        let (approver, shared) = (Arc::clone(&self.approver), Arc::clone(&self.shared));
        let answer = {
            let _one = shared.asking.lock().await;
            approver.ask(&question).await
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
    pub(super) async fn answer_question(
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
