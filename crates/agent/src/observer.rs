//! Observers receive every event of an agent and of its sub-agents. They decide nothing.

use std::sync::Arc;

use crate::approver::{Approver, Unattended};
use crate::event::Event;

/// Receives every event of an agent.
pub trait Observer: Send + Sync {
    /// Handles an event. It is called in the middle of the turn and must not block for long.
    fn on_event(&self, event: &Event);
}

impl Observer for Unattended {
    fn on_event(&self, _: &Event) {}
}

/// A front end: it shows what happens and makes the user's decisions.
pub trait Frontend: Observer + Approver {}

impl<T: Observer + Approver> Frontend for T {}

/// The observers of an agent. Every event goes through [`Observers::emit`], so that no observer
/// misses one.
#[derive(Clone)]
pub(crate) struct Observers(Arc<[Arc<dyn Observer>]>);

impl Observers {
    pub(crate) fn new(observers: Vec<Arc<dyn Observer>>) -> Self {
        Self(observers.into())
    }

    pub(crate) fn emit(&self, event: &Event) {
        self.0.iter().for_each(|observer| observer.on_event(event));
    }
}

/// Passes the events of a sub-agent to the observers of the agent that started it.
pub(crate) struct Below {
    pub(crate) context_id: String,
    pub(crate) above: Observers,
}

impl Observer for Below {
    fn on_event(&self, event: &Event) {
        self.above.emit(&Event::Below {
            context_id: self.context_id.clone(),
            event: Box::new(event.clone()),
        });
    }
}
