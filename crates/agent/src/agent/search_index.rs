//! Builds the indexes and vectors of the search in the background.

use std::sync::Arc;

use super::Agent;
use crate::environment;

/// The number of messages from which the index of a session is built ahead of the first search.
const LONG_SESSION: u64 = 100;

impl Agent {
    /// Returns a function that starts to encode messages and memory lines without a vector, in the
    /// background.
    pub(super) fn encoding(&self) -> impl Fn() + Send + use<> {
        let encoders = self.config.session.encoders.clone();
        let log = self.live.log().clone();
        let memory = self.live.config().memory.clone();
        move || {
            if let Some(encoders) = &encoders {
                encoders.encode_missing(&log, environment::without_notes, memory.clone());
            }
        }
    }

    /// Builds the indexes of the session and of the memory on a thread of its own, so that a search
    /// in a turn need not. The first turn starts it: a session that is only looked at needs no
    /// index. Short sessions are indexed in no time.
    pub(super) fn prepare_search(&mut self) {
        if std::mem::replace(&mut self.is_search_prepared, true) {
            return;
        }
        let session = self.live.session();
        let log = self.live.log().clone();
        let id = session.id.clone();
        let recall = (session.tip.position() >= LONG_SESSION).then(|| Arc::downgrade(&self.recall));
        let memory = self.live.config().memory.clone();
        let prepare = move || {
            let prepared = recall.and_then(|recall| recall.upgrade());
            if let Some(Err(error)) = prepared.map(|recall| recall.prepare(&log, &id)) {
                tracing::debug!(target: "waterline::recall", %error, "could not build the index");
            }
            if let Some(Err(error)) = memory.map(|memory| memory.prepare()) {
                tracing::debug!(target: "waterline::recall", %error, "could not read the memory");
            }
        };
        // Without the thread the first search builds the indexes.
        drop(std::thread::Builder::new().name("search-index".to_owned()).spawn(prepare));
    }
}
