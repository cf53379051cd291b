//! One turn: submit → (call → tools)* → end.
//!
//! What comes next is read off the session itself: open calls are run, a question or results are answered by the model, and an answer
//! ends the turn. So a turn that was broken off anywhere is gone on with by looking where it stands.

use serde_json::json;

use crate::agent::{Agent, View};
use crate::error::AgentError;
use crate::event::Event;
use crate::lease::Lease;
use crate::middleware::Hook;
use crate::outcome::{Ending, Outcome};
use crate::run::{Next, Run};
use crate::state::HandedOff;
use crate::submit::Said;

impl Agent {
    /// Says something to the agent, and lets it work until it has an answer, must end, or waits for somebody.
    ///
    /// # Errors
    /// When the log cannot be written, or the model cannot be asked. What was done until then is in the log.
    pub async fn turn(&mut self, said: Said) -> Result<Outcome, AgentError> {
        let _lease = self.lease().await?;
        let next = self.submit(said).await?;
        self.work(next).await
    }

    /// Goes on with a turn that was broken off.
    ///
    /// # Errors
    /// When there is nothing to go on with; otherwise as for a turn.
    pub async fn go_on(&mut self) -> Result<Outcome, AgentError> {
        let _lease = self.lease().await?;
        self.schema()?;
        self.cancel_foreign().await?;
        let next = self.next()?.ok_or(AgentError::Finished)?;
        self.work(next).await
    }

    /// Makes sure that nobody else works in the session, and that all that was done in it is known here. A sub-agent works under
    /// the lease of the agent that started it.
    async fn lease(&mut self) -> Result<Option<Lease>, AgentError> {
        let lease = match self.depth {
            0 => {
                let (log, session) = (self.live.log().handle(), &self.live.session().id);
                let lease = Lease::take(log, self.workspace.path(), session).await?;
                self.live.work_under(&lease.held);
                Some(lease)
            }
            _ => None,
        };
        self.live.settle().await?;
        if self.live.catch_up().await? {
            self.hear(&Event::Notice("another process went on with this session; it goes on from there".to_owned()));
        }
        let kept = self.state()?.kept();
        self.live.keep(kept);
        Ok(lease)
    }

    async fn work(&mut self, mut next: Next) -> Result<Outcome, AgentError> {
        let mut run = Run::new();
        self.live.forget_asides();
        self.hear(&Event::Begins);
        let ending = loop {
            let step = match next {
                Next::Model => self.model(&mut run).await,
                Next::Tools => self.tools(&mut run).await,
                Next::End(ending) => break ending,
            };
            next = step.inspect_err(|error| self.hear(&Event::Failed(error.to_string())))?;
        };
        self.end(&mut run, ending).await
    }

    /// What comes next, read off the session; nothing where the last turn is finished.
    pub(crate) fn next(&self) -> Result<Option<Next>, AgentError> {
        if !self.open_calls().is_empty() {
            return Ok(Some(Next::Tools));
        }
        let local = self.local()?;
        if let Some(HandedOff { to, package, done }) = local.hand_off {
            return Ok((!done).then_some(Next::End(Ending::HandOff { to, package })));
        }
        Ok((self.awaits_answer() || local.is_cut).then_some(Next::Model))
    }

    async fn end(&mut self, run: &mut Run, ending: Ending) -> Result<Outcome, AgentError> {
        let ending = match self.decided(Hook::AfterAgent, run, &mut View::default()).await? {
            Some(Next::End(other)) => other,
            _ => ending,
        };
        // A schema holds for its turn; one that can be resumed keeps it.
        if self.state()?.schema.is_some() && self.next()?.is_none() {
            self.stage(|state, _| state.schema = None).await?;
        }
        // The checkpoint of the last step is the turn's, unless something changed since.
        if self.live.is_staged() {
            self.live.stage_checkpoint(json!({"step": run.steps, "after": "turn", "source": "agent"}));
            self.commit().await?;
        }
        self.hear(&Event::Ends);
        Ok(Outcome { ending, text: run.text.clone(), steps: run.steps, usage: run.usage })
    }
}
