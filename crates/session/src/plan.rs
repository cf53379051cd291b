//! What to send next, with the summary that it takes.

use waterline::plan::{Action, Budget, FoldLevel, Forced, Input, Keep, Marks, Plan, extend, plan};
use waterline::summary::Summary;
use waterline::warning::Oddity;
use waterline_log::{Fold, Sent};

use crate::error::SessionError;
use crate::event::Event;
use crate::live::LiveSession;
use crate::summarise::is_blocking;
use crate::trace;

/// A counter that learns is still a little off, and the provider's window is not: so much of it
/// stays free, in percent.
const MARGIN: usize = 5;

/// What one plan is made with beside the session itself.
#[derive(Debug, Default)]
pub(crate) struct PlanRequest {
    pub(crate) summaries: Vec<Summary>,
    pub(crate) forced: Option<(FoldLevel, String)>,
}

impl PlanRequest {
    /// Asks for a harder fold, if there is one.
    fn climb(&mut self) -> bool {
        let Some((rung, reason)) = &mut self.forced else { return false };
        let Some(next) = rung.next() else { return false };
        *rung = next;
        reason.push_str("; ");
        reason.push_str(next.about());
        true
    }
}

impl LiveSession {
    /// Plans the next call. The usual answer needs the newest messages only; a fold needs them all.
    pub(crate) async fn plan(
        &mut self,
        begins_turn: bool,
        emit: &mut impl FnMut(Event),
    ) -> Result<Plan, SessionError> {
        let mut wish = PlanRequest { forced: self.forced.take(), ..PlanRequest::default() };
        if begins_turn
            && self.may_be_ready()
            && let Some(summary) = self.ready_summary().await?
        {
            let reason = "the summary that was being made is there".to_owned();
            wish = PlanRequest {
                summaries: vec![summary],
                forced: wish.forced.or(Some((FoldLevel::Fold, reason))),
            };
        }
        if wish.forced.is_none()
            && let Some(extension) = extend(&self.input(&wish, &[], &[]))
        {
            return Ok(extension);
        }
        // A fold may take long, and may ask a model: what was said is stored before.
        self.commit().await?;
        self.load_whole().await?;
        let mut planned = self.folded(&mut wish);
        if wish.forced.is_none()
            && let Action::Fold { reason, .. } = &planned.action
            && let Some(rung) = self.folds.rung()
        {
            // Folds as the policy makes them did not hold.
            wish.forced =
                Some((rung, format!("{reason}; folds did not hold, so it was {}", rung.about())));
            planned = self.folded(&mut wish);
        }
        if let Some(wanted) = planned.wanted.clone().filter(|_| wish.summaries.is_empty()) {
            let made = if is_blocking(&wanted) {
                self.summarise(&wanted, emit).await?
            } else {
                self.begin_summary(&wanted).await?;
                None
            };
            let made = match made {
                Some(made) => Some(made),
                None => self.earlier_summary(&wanted).await?,
            };
            if let Some(summary) = made {
                wish.summaries.push(summary);
                planned = self.folded(&mut wish);
            }
        }
        Ok(planned)
    }

    /// The plan for a wish. A forced fold that frees nothing climbs until one does, and the wish
    /// with it.
    pub(crate) fn folded(&self, wish: &mut PlanRequest) -> Plan {
        let focused = self.focus.iter().flat_map(|focus| &focus.pins);
        let pins: Vec<usize> = (self.kept.pins.iter().chain(focused))
            .filter_map(|position| usize::try_from(position.checked_sub(self.cleared + 1)?).ok())
            .collect();
        loop {
            let planned = plan(&self.input(wish, &pins, &self.kept.lines));
            if matches!(planned.action, Action::Fold { .. }) || !wish.climb() {
                return planned;
            }
        }
    }

    fn input<'a>(
        &'a self,
        wish: &'a PlanRequest,
        pins: &'a [usize],
        lines: &'a [String],
    ) -> Input<'a> {
        let forced = wish.forced.as_ref().map(|(rung, reason)| Forced { rung: *rung, reason });
        let window = self.budget.window - self.budget.window * MARGIN / 100;
        let budget = Budget { window, ..self.budget };
        let usual = Input::new(&self.history, &self.generation, self.policy(), budget, &self.model);
        Input { summaries: &wish.summaries, keep: Keep { pins, lines }, forced, ..usual }
    }

    /// Freezes a plan and stages it: what will be sent is stored before it is sent, with the
    /// messages that are new in it.
    pub(crate) async fn freeze(
        &mut self,
        plan: Plan,
        emit: &mut impl FnMut(Event),
    ) -> Result<(), SessionError> {
        if truncates(&plan) {
            // Whole texts become artifacts, each in a write of its own; what was said is stored
            // before.
            self.commit().await?;
            self.keep_truncated(&plan).await?;
        }
        let fold = match &plan.action {
            Action::Extend => None,
            Action::Fold { reason, from } => {
                let before = self.budget.calibration.correct(*from);
                let fold = Fold {
                    reason: reason.clone(),
                    tokens_before: before,
                    tokens_after: plan.tokens.after,
                    ..Fold::default()
                };
                self.tell_fold(&plan, &fold, emit);
                Some(fold)
            }
        };
        if plan.tokens.after > self.budget.window && !std::mem::replace(&mut self.told_full, true) {
            let texts = plan.warnings.iter().filter(|warning| warning.oddity == Oddity::Budget);
            texts.for_each(|warning| emit(Event::Notice(warning.text.clone())));
        }
        self.stage_plan(plan, fold);
        Ok(())
    }

    /// Freezes a plan in memory; what it adds to what is sent is stored with the next write.
    fn stage_plan(&mut self, plan: Plan, fold: Option<Fold>) {
        let is_known = self.session.frozen.is_some();
        let from = if fold.is_some() { 0 } else { self.generation.slots().len() };
        let adds = fold.is_some() || !plan.slots.is_empty() || !is_known;
        self.generation.freeze(&self.history, plan);
        // The same once more adds nothing to what is stored.
        if adds {
            let slots = self.generation.frozen(&self.history, from);
            let (head, past, cleared) = (self.generation.head(), self.history.past(), self.cleared);
            self.staged.sent = Some(Sent { cleared, head, past, slots, fold });
        }
    }

    /// Plans the next call together with what is about to be stored, where that is a plain
    /// extension: then the call itself needs no write before it.
    pub fn stage_sent(&mut self) {
        if self.forced.is_some() || self.staged.sent.is_some() {
            return;
        }
        let planned = extend(&self.input(&PlanRequest::default(), &[], &[]));
        let is_plain = |plan: &Plan| matches!(plan.action, Action::Extend) && !truncates(plan);
        if let Some(plan) = planned.filter(is_plain) {
            self.stage_plan(plan, None);
        }
    }

    /// Says that a fold was made, and when folding does not help, that too.
    fn tell_fold(&mut self, plan: &Plan, fold: &Fold, emit: &mut impl FnMut(Event)) {
        let room = Marks::new(&self.budget, &self.policy().fold, self.history.system_tokens());
        trace::folded(self, plan, fold, &room);
        let (before, after) = (fold.tokens_before, fold.tokens_after);
        emit(Event::Folded { reason: fold.reason.clone(), before, after });
        if self.folds.folded(after <= plan.tokens.high.max(plan.tokens.low)) {
            let text = format!(
                "the context is full again right after each fold: a window of {} tokens is too small for this work; \
                 a model with a larger window, smaller tool outputs or a new session would help",
                self.budget.window
            );
            trace::notice(self, &text);
            emit(Event::Notice(text));
        }
    }
}

/// Whether a plan shortens texts whose whole must be stored.
fn truncates(plan: &Plan) -> bool {
    plan.slots.iter().any(|slot| slot.truncations().next().is_some())
}
