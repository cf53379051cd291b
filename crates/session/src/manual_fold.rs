//! Folds that somebody asks for: looked at first, then made.

use waterline::plan::{Action, FoldLevel, Plan};

use crate::between_calls::Focus;
use crate::error::SessionError;
use crate::event::Event;
use crate::live::LiveSession;
use crate::plan::PlanRequest;

/// How many messages a focus keeps word for word.
const PINS: usize = 3;

impl LiveSession {
    /// What a fold would make of the context now. Nothing is changed, and no model is asked.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn preview_fold(
        &mut self,
        reason: &str,
        focus: Option<&str>,
    ) -> Result<Plan, SessionError> {
        self.resync().await?;
        self.load_whole().await?;
        self.focus = self.find_focus(focus).await?;
        let planned = self.folded(&mut PlanRequest {
            forced: Some((FoldLevel::Fold, reason.to_owned())),
            ..PlanRequest::default()
        });
        self.focus = None;
        Ok(planned)
    }

    /// Folds now. Says whether there was anything to fold.
    ///
    /// # Errors
    /// When the log cannot be read or written.
    pub async fn fold(
        &mut self,
        reason: &str,
        focus: Option<&str>,
        mut emit: impl FnMut(Event),
    ) -> Result<bool, SessionError> {
        self.begin().await?;
        self.focus = self.find_focus(focus).await?;
        self.forced = Some((FoldLevel::Fold, reason.to_owned()));
        let plan = self.plan(false, &mut emit).await;
        self.focus = None;
        let plan = plan?;
        let folds = matches!(plan.action, Action::Fold { .. });
        self.freeze(plan, &mut emit).await?;
        self.commit().await?;
        self.end();
        Ok(folds)
    }

    /// Has the next call fold first.
    pub fn fold_next(&mut self, reason: &str) {
        self.forced = Some((FoldLevel::Fold, reason.to_owned()));
    }

    async fn find_focus(&self, words: Option<&str>) -> Result<Option<Focus>, SessionError> {
        let Some(words) = words.map(str::trim).filter(|words| !words.is_empty()) else {
            return Ok(None);
        };
        let (id, asked) = (self.session.id.clone(), words.to_owned());
        let hits = self.on_log(move |log| log.search(&asked, Some(&id), PINS)).await?;
        let pins = hits.iter().map(|hit| hit.entry.position).collect();
        Ok(Some(Focus { words: words.to_owned(), pins }))
    }
}
