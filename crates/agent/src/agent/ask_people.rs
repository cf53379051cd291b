//! The points of a turn where a person decides: approvals of calls, and questions of the model.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use waterline::message::{Part, ToolCall};
use waterline_sandbox::protected;

use super::results::result_message;
use super::run_state::{Next, RunState};
use super::{Agent, HookData};
use crate::approval::{self, Approval, CallRequest, Decision};
use crate::approver::ApprovalReply;
use crate::describe::CallInfo;
use crate::error::AgentError;
use crate::middleware::{Hook, SyntheticResult, To, Verdict};
use crate::outcome::Ending;
use crate::reason::EndReason;
use crate::state::{ApprovalRequest, Local, Question, State, Waiting};
use crate::tool::Capability;

impl Agent {
    /// Runs one hook of every middleware, and returns the action they force, or `None` if the turn
    /// continues as usual. If a middleware requires approval, the user is asked and the hooks run
    /// again.
    pub(super) async fn run_hooks(
        &mut self,
        hook: Hook,
        run: &mut RunState,
        data: &mut HookData<'_>,
    ) -> Result<Option<Next>, AgentError> {
        loop {
            let next = match self.call_hooks(hook, run, data).await? {
                Verdict::Interrupt(request) => {
                    match self.approve_for_middleware(&request, run, data).await? {
                        Some(next) => Some(next),
                        // Before tools, a denial becomes the result of the call. At other hooks
                        // no call is left to skip, so the turn ends.
                        None if hook != Hook::BeforeTools
                            && data.synthetic.contains_key(&request.call_id) =>
                        {
                            let why = EndReason::NotApproved(request.reason);
                            Some(Next::End(Ending::Halted(why)))
                        }
                        None => continue,
                    }
                }
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

    /// Asks for the approval that a middleware requires. It counts for that middleware only: the
    /// agent's own approval rules still apply.
    async fn approve_for_middleware(
        &mut self,
        request: &ApprovalRequest,
        run: &mut RunState,
        data: &mut HookData<'_>,
    ) -> Result<Option<Next>, AgentError> {
        let reply = match run.middleware_replies.get(&request.call_id) {
            Some(reply) => reply.clone(),
            None => self.approve(request).await?,
        };
        let next = Self::apply_reply(request, &reply, data);
        if next.is_none() {
            run.middleware_replies.insert(request.call_id.clone(), reply.clone());
            data.replies.insert(request.call_id.clone(), reply);
        }
        Ok(next)
    }

    /// Asks the user to approve the calls that need approval. Middlewares cannot skip this.
    pub(super) async fn ask_people(
        &mut self,
        data: &mut HookData<'_>,
        run: &mut RunState,
    ) -> Result<Option<Next>, AgentError> {
        let mut files_may_change = false;
        for call in data.calls.clone() {
            if data.synthetic.contains_key(&call.id) {
                continue;
            }
            self.read_only.remove(&call.id);
            let tool = self.config.toolbox.find(&call.name);
            let identity = tool.and_then(|tool| approval::identity(&**tool));
            let mut info = self.info(&call);
            self.add_protected(&mut info).await;
            let call_request = CallRequest {
                tool: &call.name,
                info: &info,
                arguments: &call.arguments,
                identity: identity.as_deref(),
            };
            let mut directories = Vec::new();
            let mut decision = self.config.approval.decide(call_request, &self.local_state()?);
            let is_write = info.capability == Capability::Write;
            if decision == Decision::Run && is_write && !self.changed_directories(&info).is_empty()
            {
                decision = self.config.approval.decide_protected(call_request);
            }
            if decision == Decision::Run && info.capability == Capability::Execute {
                decision = self.decide_attributes(call_request)?;
            }
            if decision == Decision::Run {
                directories = self.unapproved_directories(&info)?;
                if self.config.approval.only_reads(call_request, &directories) {
                    self.read_only.insert(call.id.clone(), std::mem::take(&mut directories));
                }
                decision = self.config.approval.decide_change(call_request, &directories);
            }
            match decision {
                Decision::Run => {}
                Decision::Refuse(why) => {
                    let refusal = SyntheticResult::refusal(format!("Not run: {why}."));
                    data.synthetic.insert(call.id.clone(), refusal);
                }
                // What a call would do depends on the files as they are when it runs.
                Decision::Ask { .. } if !files_may_change && self.settle(&call, data).await => {}
                Decision::Ask { reason, may_always, in_advance } => {
                    let diff = self.preview(&call).await;
                    let request = ApprovalRequest {
                        call_id: call.id.clone(),
                        tool: call.name.clone(),
                        arguments: call.arguments.clone(),
                        reason,
                        may_always,
                        in_advance,
                        context_id: None,
                        directories,
                        protected: self.config.approval.protected_names(call_request),
                        info: Box::new(CallInfo { diff, ..info.clone() }),
                    };
                    let grant = Approval::grant(call_request);
                    if let Some(next) = self.ask_about(request, grant, data, run).await? {
                        return Ok(Some(next));
                    }
                }
            }
            let runs = !data.synthetic.contains_key(&call.id);
            files_may_change |= runs && info.capability.may_change_files();
        }
        Ok(None)
    }

    /// Adds the result of a call that can have no effect, so that no one is asked about it. Returns
    /// whether it added one.
    async fn settle(&self, call: &ToolCall, data: &mut HookData<'_>) -> bool {
        let Some(tool) = self.config.toolbox.find(&call.name).map(Arc::clone) else { return false };
        let Ok(arguments) = serde_json::from_str::<Value>(&call.arguments) else { return false };
        let workspace = Arc::clone(&self.workspace);
        let settled = tokio::task::spawn_blocking(move || tool.settled(&arguments, &workspace));
        let result = match settled.await.ok().flatten() {
            Some(Ok(text)) => SyntheticResult { text, failed: false },
            Some(Err(text)) => SyntheticResult::refusal(text),
            None => return false,
        };
        data.synthetic.insert(call.id.clone(), result);
        true
    }

    /// Asks about one call and applies the reply. `grant` is what "always" applies to.
    async fn ask_about(
        &mut self,
        request: ApprovalRequest,
        grant: String,
        data: &mut HookData<'_>,
        run: &mut RunState,
    ) -> Result<Option<Next>, AgentError> {
        let reply = match run.replies.get(&request.call_id) {
            Some(reply) => reply.clone(),
            None => self.approve(&request).await?,
        };
        if Self::runs_read_only(&request, &reply) {
            self.read_only.insert(request.call_id, request.directories);
            return Ok(None);
        }
        if let Some(next) = Self::apply_reply(&request, &reply, data) {
            return Ok(Some(next));
        }
        run.replies.insert(request.call_id, reply.clone());
        if !request.directories.is_empty() {
            self.approve_directories(request.directories, &reply).await?;
        } else if reply == ApprovalReply::AllowAlways {
            self.change_state(move |_, local| local.approvals.push(grant.clone())).await?;
        }
        Ok(None)
    }

    /// Decides on a command that may change attributes of files outside the agent's directories.
    fn decide_attributes(&self, call_request: CallRequest<'_>) -> Result<Decision, AgentError> {
        let workspace = &self.workspace;
        let mut directories = vec![workspace.path().to_owned()];
        directories.extend(workspace.grants().map(|grant| grant.path));
        let working = workspace.working_directory();
        let approval = &self.config.approval;
        Ok(approval.decide_attributes(call_request, &self.local_state()?, working, &directories))
    }

    /// Adds the name of the protected path that a file tool's call changes. The tool itself knows
    /// only the path as it is written.
    async fn add_protected(&self, info: &mut CallInfo) {
        if info.capability != Capability::Write {
            return;
        }
        let directories = self.changed_directories(info);
        let Some(path) = info.subject.path().filter(|_| !directories.is_empty()) else { return };
        let Ok(path) = self.workspace.resolve(path) else { return };
        let look_up = move || protected::name_at(&directories, &path);
        let name = tokio::task::spawn_blocking(look_up)
            .await
            .ok()
            .flatten()
            .filter(|name| !info.protected.iter().any(|known| known == name));
        info.protected.extend(name.map(str::to_owned));
    }

    /// Returns the granted directories that a call may change.
    fn changed_directories(&self, info: &CallInfo) -> Vec<PathBuf> {
        let granted = self.workspace.grants().filter(|grant| grant.writable);
        match info.capability {
            Capability::Execute => granted.map(|grant| grant.path).collect(),
            Capability::Write => {
                let location = info.subject.path().map(|path| self.workspace.location(path));
                let Some(Ok(location)) = location else { return Vec::new() };
                let is_own = location.whole.starts_with(self.workspace.path());
                let inside = granted.filter(|grant| location.whole.starts_with(&grant.path));
                inside.filter(|_| !is_own).map(|grant| grant.path).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the granted directories that a call may change and in which the user has not
    /// approved changes yet.
    fn unapproved_directories(&self, info: &CallInfo) -> Result<Vec<PathBuf>, AgentError> {
        let local = self.local_state()?;
        let is_approved = |path: &PathBuf| {
            let grant = Approval::change_grant(path);
            local.approvals.contains(&grant)
                || self.shared.has_approved(&grant)
                || self.config.approval.directories.iter().any(|known| known == path)
        };
        let changed = self.changed_directories(info).into_iter();
        Ok(changed.filter(|path| !is_approved(path)).collect())
    }

    /// Returns whether a command runs although no one could be asked about changes: the kernel
    /// keeps it from writing to the directories.
    fn runs_read_only(request: &ApprovalRequest, reply: &ApprovalReply) -> bool {
        !request.directories.is_empty()
            && request.info.capability == Capability::Execute
            && matches!(reply, ApprovalReply::NoReply(_))
    }

    /// Stores that the user approved changes in directories: for this session, and with "always"
    /// for later ones.
    async fn approve_directories(
        &mut self,
        directories: Vec<PathBuf>,
        reply: &ApprovalReply,
    ) -> Result<(), AgentError> {
        if !matches!(reply, ApprovalReply::Allow | ApprovalReply::AllowAlways) {
            return Ok(());
        }
        if let Some(remember) = &self.config.approval.remember
            && *reply == ApprovalReply::AllowAlways
        {
            directories.iter().for_each(|path| remember(path));
        }
        let grants: Vec<String> =
            directories.iter().map(|path| Approval::change_grant(path)).collect();
        self.shared.approve_directories(grants.clone());
        self.change_state(move |_, local| local.approvals.extend(grants.clone())).await
    }

    /// Applies a reply: a denied call gets a synthetic result, and a deferred one ends the turn.
    fn apply_reply(
        request: &ApprovalRequest,
        reply: &ApprovalReply,
        data: &mut HookData<'_>,
    ) -> Option<Next> {
        let refusal = match reply {
            ApprovalReply::Allow | ApprovalReply::AllowAlways => return None,
            ApprovalReply::Deferred => {
                return Some(Next::End(Ending::Waiting(Waiting::Approval(request.clone()))));
            }
            ApprovalReply::Deny(None) => "Denied by the user.".to_owned(),
            ApprovalReply::Deny(Some(why)) => format!("Denied by the user: {why}"),
            ApprovalReply::NoReply(why) => format!("Not run: {why}."),
            ApprovalReply::TimedOut(after) => {
                format!("Not run: no approval within {} s.", after.as_secs())
            }
        };
        data.synthetic.insert(request.call_id.clone(), SyntheticResult::refusal(refusal));
        None
    }

    /// Asks the approver about a call. The request is stored before anyone is asked. It waits as
    /// long as it takes, unless a timeout is set: then a call without a reply in time is not run.
    /// Requests are shown one at a time; the timeout starts when the request is shown.
    pub(super) async fn approve(
        &mut self,
        request: &ApprovalRequest,
    ) -> Result<ApprovalReply, AgentError> {
        self.set_pending(Waiting::Approval(request.clone())).await?;
        let timeout = self.config.approval.time;
        let approver = Arc::clone(&self.approver);
        let shared = Arc::clone(&self.shared);
        let reply = {
            let _one_at_a_time = shared.asking.lock().await;
            let asked = approver.approve(request);
            match timeout {
                Some(timeout) => tokio::time::timeout(timeout, asked)
                    .await
                    .unwrap_or(ApprovalReply::TimedOut(timeout)),
                None => asked.await,
            }
        };
        let reply = match reply {
            // "Always" is not available for this call, so the reply is not an approval.
            ApprovalReply::AllowAlways if !request.may_always => {
                ApprovalReply::Deny(Some("this call must be approved each time".to_owned()))
            }
            reply => reply,
        };
        if reply != ApprovalReply::Deferred {
            // Stored together with the result: after a crash before that, the user is asked again.
            self.change_state(|state, _| state.pending = None).await?;
        }
        Ok(reply)
    }

    /// Asks the user a question. The answer comes now, or the turn ends and waits for it.
    pub(super) async fn wait_for_answer(&mut self, question: Question) -> Result<Next, AgentError> {
        self.set_pending(Waiting::Question(question.clone())).await?;
        let approver = Arc::clone(&self.approver);
        let shared = Arc::clone(&self.shared);
        let answer = {
            let _one_at_a_time = shared.asking.lock().await;
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

    /// Stores the answer to a question as the result of the call that asked it.
    pub(super) async fn answer_question(
        &mut self,
        question: &Question,
        answer: &str,
        attachments: Vec<Part>,
    ) -> Result<(), AgentError> {
        let open = self.open_tool_calls();
        if let Some(call) = open.iter().find(|call| call.id == question.call_id) {
            let parts = std::iter::once(Part::text(answer)).chain(attachments).collect();
            self.live.add_messages(vec![result_message(call, parts, false)]).await?;
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
