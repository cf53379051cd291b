//! Observers receive every event of an agent and of its sub-agents. They decide nothing.

use std::sync::{Arc, Mutex, PoisonError};

use crate::approver::{Approver, Unattended};
use crate::event::Event;

/// The agent, the run and the step that an event belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Source {
    /// The id of the session.
    pub session: String,
    /// `main`, or the context id of a sub-agent.
    pub context_id: String,
    /// The id of the run: one turn, or one attempt to resume it. Empty before the first.
    pub run_id: String,
    /// The number of the model call in the run, from 1 on; 0 before the first.
    pub step: usize,
}

/// Receives every event of an agent.
pub trait Observer: Send + Sync {
    /// Handles an event. It is called in the middle of the turn and must not block for long.
    fn on_event(&self, source: &Source, event: &Event);
}

impl Observer for Unattended {
    fn on_event(&self, _: &Source, _: &Event) {}
}

/// A front end: it shows what happens and makes the user's decisions.
pub trait Frontend: Observer + Approver {}

impl<T: Observer + Approver> Frontend for T {}

/// The observers of an agent. Every event goes through [`Observers::emit`], so that no observer
/// misses one.
#[derive(Clone)]
pub(crate) struct Observers {
    all: Arc<[Arc<dyn Observer>]>,
    source: Arc<Mutex<Source>>,
}

impl Observers {
    pub(crate) fn new(observers: Vec<Arc<dyn Observer>>) -> Self {
        Self { all: observers.into(), source: Arc::default() }
    }

    pub(crate) fn emit(&self, event: &Event) {
        // A copy, because an observer may take its time.
        let source = self.source();
        self.emit_from(&source, event);
    }

    fn emit_from(&self, source: &Source, event: &Event) {
        self.all.iter().for_each(|observer| observer.on_event(source, event));
    }

    pub(crate) fn source(&self) -> Source {
        self.source.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the source of the events that follow.
    pub(crate) fn set_source(&self, change: impl FnOnce(&mut Source)) {
        change(&mut self.source.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Passes the events of a sub-agent to the observers of the agent that started it.
pub(crate) struct SubAgentObserver {
    pub(crate) context_id: String,
    pub(crate) above: Observers,
}

impl Observer for SubAgentObserver {
    fn on_event(&self, source: &Source, event: &Event) {
        let event =
            Event::Below { context_id: self.context_id.clone(), event: Box::new(event.clone()) };
        self.above.emit_from(source, &event);
    }
}
