//! Folds on request, with a preview.

use waterline::plan::{Action, FoldLevel, Plan};
use waterline::reason::Reasons;

use crate::between_calls::Focus;
use crate::error::SessionError;
use crate::event::Event;
use crate::live::LiveSession;
use crate::plan::PlanRequest;

/// How many messages a focus keeps verbatim.
const FOCUS_PINS: usize = 3;

impl LiveSession {
    /// Plans a fold of the current context. Changes nothing and calls no model.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub async fn preview_fold(
        &mut self,
        reasons: impl Into<Reasons>,
        focus: Option<&str>,
    ) -> Result<Plan, SessionError> {
        self.reload_if_interrupted().await?;
        self.load_history().await?;
        // The window may have grown since the history was loaded.
        self.read_enough().await?;
        self.focus = self.find_focus(focus).await?;
        let found_passages = self.passages().await;
        let requested = Some((FoldLevel::ByPolicy, reasons.into()));
        let summaries = Vec::new();
        let planned = self.folded(&mut PlanRequest { summaries, requested, found_passages }).await;
        self.focus = None;
        planned
    }

    /// Folds now. Returns whether there was anything to fold.
    ///
    /// # Errors
    /// If the log cannot be read or written.
    pub async fn fold(
        &mut self,
        reasons: impl Into<Reasons>,
        focus: Option<&str>,
        mut emit: impl FnMut(Event),
    ) -> Result<bool, SessionError> {
        self.start_call().await?;
        self.focus = self.find_focus(focus).await?;
        self.requested = Some((FoldLevel::ByPolicy, reasons.into()));
        let plan = self.plan(false, &mut emit).await;
        self.focus = None;
        let plan = plan?;
        let folds = matches!(plan.action, Action::Fold { .. });
        self.use_plan(plan, &mut emit).await?;
        self.commit().await?;
        self.finish_call();
        Ok(folds)
    }

    /// Makes the next call fold first.
    pub fn fold_next(&mut self, reasons: impl Into<Reasons>) {
        self.requested = Some((FoldLevel::ByPolicy, reasons.into()));
    }

    async fn find_focus(&self, topic: Option<&str>) -> Result<Option<Focus>, SessionError> {
        let Some(topic) = topic.map(str::trim).filter(|topic| !topic.is_empty()) else {
            return Ok(None);
        };
        let id = self.session.id.clone();
        let query = topic.to_owned();
        let hits = self.on_log(move |log| log.search(&query, Some(&id), FOCUS_PINS)).await?;
        let pins = hits.iter().map(|hit| hit.entry.position).collect();
        Ok(Some(Focus { topic: topic.to_owned(), pins }))
    }
}
