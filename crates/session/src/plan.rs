//! Plans the next call, including the summary that a fold may need.

use waterline::plan::{
    Action, Budget, FoldLevel, Input, Keep, Marks, Passage, Plan, RequestedFold, Wanted, extend,
    plan,
};
use waterline::reason::Reason;
use waterline::summary::Summary;
use waterline_log::{ContextUpdate, Fold};

use crate::error::SessionError;
use crate::event::Event;
use crate::live::LiveSession;
use crate::notice::Notice;
use crate::summarise::is_blocking;
use crate::trace;

/// The share of the window that stays free, in percent: even a calibrated counter is slightly off,
/// and the provider's limit is exact.
const MARGIN: usize = 5;

/// The input of one plan, in addition to the session.
#[derive(Debug, Default)]
pub(crate) struct PlanRequest {
    pub(crate) summaries: Vec<Summary>,
    pub(crate) requested: Option<(FoldLevel, String)>,
    /// Passages for the newest user message; `None` if they were not searched for.
    pub(crate) recalled: Option<Vec<Passage>>,
}

impl PlanRequest {
    /// Requests the next harder fold, if there is one.
    fn climb(&mut self) -> bool {
        let Some((level, reason)) = &mut self.requested else { return false };
        let Some(next) = level.next() else { return false };
        *level = next;
        reason.push_str("; ");
        reason.push_str(&next.about().to_string());
        true
    }
}

impl LiveSession {
    /// Plans the next call. Extending the context needs only the newest messages; a fold needs the
    /// whole history.
    pub(crate) async fn plan(
        &mut self,
        is_first_of_turn: bool,
        emit: &mut impl FnMut(Event),
    ) -> Result<Plan, SessionError> {
        let mut request =
            PlanRequest { requested: self.requested.take(), ..PlanRequest::default() };
        if is_first_of_turn
            && self.may_be_ready()
            && let Some(summary) = self.ready_summary().await?
        {
            let reason = Reason::SummaryReady.into();
            request = PlanRequest {
                summaries: vec![summary],
                requested: request.requested.or(Some((FoldLevel::Fold, reason))),
                recalled: None,
            };
        }
        request.recalled = self.passages_for_new().await;
        if request.requested.is_none()
            && let Some(extension) = extend(&self.input(&request, &[], &[]))
        {
            self.prepare_fold();
            return Ok(extension);
        }
        // A fold can take long and may call a model, so new messages are stored first.
        self.commit().await?;
        self.load_history().await?;
        if request.recalled.is_none() {
            request.recalled = self.passages().await;
        }
        let mut planned = self.folded(&mut request);
        if request.requested.is_none()
            && let Action::Fold { reason, .. } = &planned.action
            && let Some(level) = self.backoff.level()
        {
            // The policy's own folds did not free enough.
            request.requested =
                Some((level, format!("{reason}; {}: {}", Reason::NotEnough, level.about())));
            planned = self.folded(&mut request);
        }
        if let Some(wanted) = planned.wanted.clone().filter(|_| request.summaries.is_empty())
            && let Some(summary) = self.summary_for(&wanted, emit).await?
        {
            request.summaries.push(summary);
            planned = self.folded(&mut request);
        }
        Ok(planned)
    }

    /// Returns the summary that a fold wants: the previous one if too little is new, otherwise a
    /// new one. If a new one fails or is made in the background, the previous one serves so far.
    async fn summary_for(
        &mut self,
        wanted: &Wanted,
        emit: &mut impl FnMut(Event),
    ) -> Result<Option<Summary>, SessionError> {
        let earlier = self.earlier_summary(wanted).await?;
        if earlier.as_ref().is_some_and(|earlier| !wanted.is_worth_making(&self.history, earlier)) {
            return Ok(earlier);
        }
        if is_blocking(wanted) {
            let made = self.summarise(wanted, emit).await?;
            return Ok(made.or(earlier));
        }
        if !self.continue_summary(wanted) {
            self.start_summary(wanted).await?;
        }
        Ok(earlier)
    }

    /// Plans a fold. A requested fold that frees nothing is repeated one level harder until one does;
    /// `request` holds the level that was used.
    pub(crate) fn folded(&self, request: &mut PlanRequest) -> Plan {
        let focused = self.focus.iter().flat_map(|focus| &focus.pins);
        let pins: Vec<usize> = (self.kept.pins.iter().chain(focused))
            .filter_map(|position| usize::try_from(position.checked_sub(self.cleared + 1)?).ok())
            .collect();
        loop {
            let planned = plan(&self.input(request, &pins, &self.kept.lines));
            if matches!(planned.action, Action::Fold { .. }) || !request.climb() {
                return planned;
            }
        }
    }

    fn input<'a>(
        &'a self,
        request: &'a PlanRequest,
        pins: &'a [usize],
        lines: &'a [String],
    ) -> Input<'a> {
        let requested = request
            .requested
            .as_ref()
            .map(|(level, reason)| RequestedFold { level: *level, reason });
        let window = self.budget.window - self.budget.window * MARGIN / 100;
        let budget = Budget { window, ..self.budget };
        let usual = Input::new(&self.history, &self.generation, self.policy(), budget, &self.model);
        Input {
            summaries: &request.summaries,
            keep: Keep { pins, lines },
            requested,
            recalled: request.recalled.as_deref(),
            ..usual
        }
    }

    /// Freezes a plan and adds it to what is unsaved: what will be sent is stored before it is sent, with the
    /// messages that are new in it.
    pub(crate) async fn freeze(
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
            Action::Fold { reason, from } => {
                let before = self.budget.calibration.correct(*from);
                let fold = Fold {
                    reason: reason.clone(),
                    tokens_before: before,
                    tokens_after: plan.tokens.after,
                    ..Fold::default()
                };
                self.report_fold(&plan, &fold, emit);
                self.remember_dropped(&plan);
                Some(fold)
            }
            _ => None,
        };
        let tokens = plan.tokens.after;
        let window = self.budget.window;
        if tokens > window && !std::mem::replace(&mut self.warned_full, true) {
            emit(Event::Notice(Notice::OverWindow { tokens, window }));
        }
        self.add_plan(plan, fold);
        Ok(())
    }

    /// Freezes a plan in memory, and adds to what is unsaved what it adds to the context.
    fn add_plan(&mut self, plan: Plan, fold: Option<Fold>) {
        let is_known = self.session.frozen.is_some();
        let from = if fold.is_some() { 0 } else { self.generation.slots().len() };
        let adds = fold.is_some() || !plan.slots.is_empty() || !is_known;
        self.generation.freeze(&self.history, plan);
        // An unchanged context needs no write.
        if adds {
            let slots = self.generation.stored(&self.history, from);
            let head = self.generation.head();
            let past = self.history.past();
            let cleared = self.cleared;
            self.unsaved.context = Some(ContextUpdate { cleared, head, past, slots, fold });
        }
    }

    /// Plans the next call together with what is about to be stored, if the plan is a plain
    /// extension. The call then needs no write before it.
    pub fn plan_ahead(&mut self) {
        // A plan that quotes passages needs a search first.
        let is_new = |message: usize| message >= self.generation.covered();
        let searches =
            self.history.latest_user().is_some_and(is_new) && self.policy().search().is_some();
        if self.requested.is_some() || self.unsaved.context.is_some() || searches {
            return;
        }
        let planned = extend(&self.input(&PlanRequest::default(), &[], &[]));
        let is_plain = |plan: &Plan| matches!(plan.action, Action::Extend) && !truncates(plan);
        if let Some(plan) = planned.filter(is_plain) {
            self.add_plan(plan, None);
        }
    }

    /// Reports a fold, and warns when folding does not help.
    fn report_fold(&mut self, plan: &Plan, fold: &Fold, emit: &mut impl FnMut(Event)) {
        let marks = Marks::new(&self.budget, &self.policy().fold, self.history.system_tokens());
        trace::folded(self, plan, fold, &marks);
        let before = fold.tokens_before;
        let after = fold.tokens_after;
        emit(Event::Folded { reason: fold.reason.clone(), before, after });
        if self.backoff.folded(after <= plan.tokens.high.max(plan.tokens.low)) {
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
