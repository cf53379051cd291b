//! Plans the next call, including the summary that a fold may need.

use std::sync::Arc;

use waterline::history::History;
use waterline::model::Model;
use waterline::plan::{
    Action, Budget, FoldLevel, FoldRequest, Generation, Input, Keep, Passage, Plan, SummaryRequest,
    extend, plan,
};
use waterline::policy::Policy;
use waterline::reason::{Reason, Reasons};
use waterline::summary::Summary;
use waterline_log::{ContextUpdate, Fold};

use crate::error::SessionError;
use crate::event::Event;
use crate::fold_escalation::Outcome;
use crate::live::LiveSession;
use crate::notice::Notice;
use crate::summarize::is_blocking;
use crate::trace;

/// The messages, and the tokens, from which a fold takes several milliseconds.
const LONG_MESSAGES: usize = 500;
const LONG_TOKENS: usize = 100_000;

/// The input of one plan, in addition to the session.
#[derive(Debug, Default)]
pub(crate) struct PlanRequest {
    pub(crate) summaries: Vec<Summary>,
    pub(crate) requested: Option<(FoldLevel, Reasons)>,
    /// Passages for the newest user message; `None` if they were not searched for.
    pub(crate) found_passages: Option<Vec<Passage>>,
}

impl PlanRequest {
    /// Requests the next harder fold, if there is one.
    fn climb(&mut self) -> bool {
        let Some((level, reasons)) = &mut self.requested else { return false };
        let Some(next) = level.next() else { return false };
        *level = next;
        reasons.push(next.reason());
        true
    }

    fn input<'a>(&'a self, usual: Input<'a>, margin: usize, keep: Keep<'a>) -> Input<'a> {
        let requested_fold =
            self.requested.as_ref().map(|(level, reasons)| FoldRequest::new(*level, reasons));
        let found_passages = self.found_passages.as_deref();
        Input { margin, summaries: &self.summaries, keep, requested_fold, found_passages, ..usual }
    }
}

/// What a fold needs of a session, so that another thread can plan it.
struct FoldInput {
    history: Arc<History>,
    generation: Arc<Generation>,
    policy: Policy,
    budget: Budget,
    margin: usize,
    model: Arc<Model>,
    pins: Vec<usize>,
    lines: Vec<String>,
}

impl FoldInput {
    fn of(live: &LiveSession) -> Self {
        let focused = live.focus.iter().flat_map(|focus| &focus.pins);
        let pins = (live.kept.pins.iter().chain(focused))
            .filter_map(|position| usize::try_from(position.checked_sub(live.cleared + 1)?).ok())
            .collect();
        let budget = live.usable_budget();
        Self {
            history: Arc::clone(&live.history),
            generation: Arc::clone(&live.generation),
            policy: live.policy().clone(),
            budget,
            margin: live.budget.window - budget.window,
            model: Arc::clone(&live.model),
            pins,
            lines: live.kept.lines.clone(),
        }
    }

    fn plan(&self, request: &mut PlanRequest) -> Plan {
        let Self { history, generation, policy, model, .. } = self;
        let keep = Keep { pins: &self.pins, lines: &self.lines };
        loop {
            let usual = Input::new(history, generation, policy, self.budget, model);
            let planned = plan(&request.input(usual, self.margin, keep));
            if matches!(planned.action, Action::Fold { .. }) || !request.climb() {
                return planned;
            }
        }
    }
}

/// Returns whether planning a fold takes longer than handing it to another thread.
fn is_long(history: &History) -> bool {
    history.len() >= LONG_MESSAGES || history.tokens() >= LONG_TOKENS
}

impl LiveSession {
    /// Plans the next call. Extending the context needs only the newest messages; a fold needs the
    /// whole history.
    pub(crate) async fn plan(
        &mut self,
        starts_turn: bool,
        emit: &mut impl FnMut(Event),
    ) -> Result<Plan, SessionError> {
        let mut request =
            PlanRequest { requested: self.requested.take(), ..PlanRequest::default() };
        if starts_turn
            && self.may_be_ready()
            && let Some(summary) = self.ready_summary().await?
        {
            let reasons = Reason::SummaryReady.into();
            request = PlanRequest {
                summaries: vec![summary],
                requested: request.requested.or(Some((FoldLevel::ByPolicy, reasons))),
                found_passages: None,
            };
        }
        self.read_enough().await?;
        request.found_passages = self.passages_for_new().await;
        if request.requested.is_none()
            && let Some(extension) = self.extension(&request)
        {
            self.prepare_fold();
            return Ok(extension);
        }
        // A fold can take long and may call a model, so new messages are stored first.
        self.commit().await?;
        self.load_history().await?;
        if request.found_passages.is_none() {
            request.found_passages = self.passages().await;
        }
        let mut planned = self.folded(&mut request).await?;
        if request.requested.is_none()
            && let Action::Fold { reasons, .. } = &planned.action
            && let Some(level) = self.fold_escalation.level()
        {
            // The policy's own folds did not free enough.
            let reasons = reasons.clone().and(Reason::NotEnough).and(level.reason());
            request.requested = Some((level, reasons));
            planned = self.folded(&mut request).await?;
        }
        if let Some(wanted) = planned.wanted.clone().filter(|_| request.summaries.is_empty())
            && let Some(summary) = self.summary_for(&wanted, emit).await?
        {
            request.summaries.push(summary);
            planned = self.folded(&mut request).await?;
        }
        Ok(planned)
    }

    /// Returns the summary that a fold wants: the previous one if too little is new, otherwise a
    /// new one. If a new one fails or is made in the background, the previous one is used until
    /// then.
    async fn summary_for(
        &mut self,
        wanted: &SummaryRequest,
        emit: &mut impl FnMut(Event),
    ) -> Result<Option<Summary>, SessionError> {
        let earlier = self.earlier_summary(wanted).await?;
        if earlier.as_ref().is_some_and(|earlier| !wanted.is_worth_making(&self.history, earlier)) {
            return Ok(earlier);
        }
        if is_blocking(wanted) {
            let made = self.summarize(wanted, emit).await?;
            return Ok(made.or(earlier));
        }
        if !self.continue_summary(wanted) {
            self.start_summary(wanted).await?;
        }
        Ok(earlier)
    }

    /// Plans a fold. A requested fold that frees nothing is repeated one level harder until one
    /// does; `request` holds the level that was used.
    pub(crate) async fn folded(&self, request: &mut PlanRequest) -> Result<Plan, SessionError> {
        let fold = FoldInput::of(self);
        if !is_long(&self.history) {
            return Ok(fold.plan(request));
        }
        let mut own = std::mem::take(request);
        let (planned, used) = self
            .on_log(move |_| {
                let planned = fold.plan(&mut own);
                Ok((planned, own))
            })
            .await?;
        *request = used;
        Ok(planned)
    }

    /// Plans an extension; `None` if a fold is due.
    fn extension(&self, request: &PlanRequest) -> Option<Plan> {
        let budget = self.usable_budget();
        let usual = Input::new(&self.history, &self.generation, self.policy(), budget, &self.model);
        extend(&request.input(usual, self.budget.window - budget.window, Keep::default()))
    }

    /// Makes a plan the context and adds it to what is unsaved: what will be sent is stored before
    /// it is sent, with the messages that are new in it.
    pub(crate) async fn use_plan(
        &mut self,
        plan: Plan,
        emit: &mut impl FnMut(Event),
    ) -> Result<(), SessionError> {
        if truncates(&plan) {
            // Full texts become artifacts, in a write of their own. New messages are stored first.
            self.commit().await?;
            self.keep_truncated(&plan).await?;
        }
        let fold = match &plan.action {
            Action::Fold { reasons, from } => {
                let before = self.budget.calibration.to_provider_tokens(*from);
                let fold = Fold {
                    reasons: reasons.clone(),
                    tokens_before: before,
                    tokens_after: plan.tokens.context,
                    ..Fold::default()
                };
                self.report_fold(&plan, &fold, emit);
                self.remember_dropped(&plan);
                Some(fold)
            }
            _ => None,
        };
        let tokens = plan.tokens.context;
        let window = self.budget.window;
        if tokens > window && !std::mem::replace(&mut self.warned_full, true) {
            emit(Event::Notice(Notice::OverWindow { tokens, window }));
        }
        self.add_plan(plan, fold);
        Ok(())
    }

    /// Freezes a plan in memory, and adds its part of the context to the unsaved changes.
    fn add_plan(&mut self, plan: Plan, fold: Option<Fold>) {
        let is_known = self.session.request_context.is_some();
        let from = if fold.is_some() { 0 } else { self.generation.slots().len() };
        let adds = fold.is_some() || !plan.slots.is_empty() || !is_known;
        Arc::make_mut(&mut self.generation).freeze(&self.history, plan);
        // An unchanged context needs no write.
        if adds {
            let slots = self.generation.stored(&self.history, from);
            let head = self.generation.head();
            let past = self.history.past();
            let cleared = self.cleared;
            self.unsaved.context = Some(ContextUpdate { cleared, head, past, slots, fold });
        }
    }

    /// Plans the next call now if the plan is a plain extension, so that it is stored with the
    /// changes that are about to be stored and the call needs no write of its own.
    pub fn plan_ahead(&mut self) {
        // A plan that quotes passages needs a search first.
        let is_new = |message: usize| message >= self.generation.covered();
        let searches =
            self.history.latest_user().is_some_and(is_new) && self.policy().search().is_some();
        if self.requested.is_some() || self.unsaved.context.is_some() || searches {
            return;
        }
        let planned = self.extension(&PlanRequest::default());
        let is_plain = |plan: &Plan| matches!(plan.action, Action::Extend) && !truncates(plan);
        if let Some(plan) = planned.filter(is_plain) {
            self.add_plan(plan, None);
        }
    }

    /// Reports a fold, and warns when folding does not help.
    fn report_fold(&mut self, plan: &Plan, fold: &Fold, emit: &mut impl FnMut(Event)) {
        trace::folded(self, plan, fold);
        let before = fold.tokens_before;
        let after = fold.tokens_after;
        emit(Event::Folded { reasons: fold.reasons.clone(), before, after });
        let system = self.history.system_tokens();
        let outcome = Outcome::of(plan, before, self.policy(), &self.budget, system);
        if self.fold_escalation.folded(outcome) {
            let notice = Notice::FoldingDoesNotHelp { window: self.budget.window };
            trace::notice(self, &notice.to_string());
            emit(Event::Notice(notice));
        }
    }
}

/// Whether a plan truncates texts whose full version must be stored.
fn truncates(plan: &Plan) -> bool {
    plan.slots.iter().any(|slot| slot.truncations().next().is_some())
}
