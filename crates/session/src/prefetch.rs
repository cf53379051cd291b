//! Loads the whole history in the background when a fold is near, so that the fold of a long
//! session need not wait for it.

use tokio::sync::oneshot;
use waterline::history::History;
use waterline::tokens::Counter;
use waterline_log::{AsyncLog, Log, Tip};
use waterline_provider::wire::parse_stored;

/// How many messages a fold of a very long session reads. No window has space for more.
pub(crate) const NEWEST: usize = 20_000;

/// Which messages of a session are loaded with their texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reads {
    Everything,
    /// The newest messages, the first ones, and those with these indexes.
    Recent {
        shown: Vec<usize>,
    },
}

/// How the history of a session is loaded.
#[derive(Clone, Debug)]
pub(crate) struct Loading {
    pub(crate) session: String,
    pub(crate) counter: Counter,
    pub(crate) reads: Reads,
}

impl Loading {
    pub(crate) fn load(&self, log: &Log) -> waterline_log::Result<History> {
        match &self.reads {
            Reads::Everything => log.history(&self.session, &self.counter, parse_stored),
            Reads::Recent { shown } => {
                log.recent_history(&self.session, &self.counter, parse_stored, NEWEST, shown)
            }
        }
    }
}

/// A history that is being loaded in the background, or nothing.
#[derive(Debug, Default)]
pub(crate) struct Prefetch(Option<oneshot::Receiver<Loaded>>);

/// The history of a session up to `tip`.
#[derive(Debug)]
struct Loaded {
    tip: Tip,
    history: History,
}

impl Prefetch {
    /// Starts to load the history of a session, unless that was started before.
    pub(crate) fn start(&mut self, log: &AsyncLog, loading: Loading) {
        if self.0.is_some() {
            return;
        }
        // A busy log has no time for what may not be needed.
        let Some(permit) = log.try_permit() else { return };
        let (done, loaded) = oneshot::channel();
        log.detach(permit, move |log| {
            // An error is not reported here: the fold loads the history again and reports it.
            let Ok(session) = log.session(&loading.session) else { return };
            let Ok(history) = loading.load(log) else { return };
            drop(done.send(Loaded { tip: session.tip, history }));
        });
        self.0 = Some(loaded);
    }

    /// Returns the loaded history with the messages since, which are in `newer`. Returns nothing if
    /// the conversation, now at `tip`, is not a continuation of the loaded one.
    pub(crate) async fn finish(
        &mut self,
        tip: Tip,
        cleared: u64,
        newer: &History,
    ) -> Option<History> {
        let loaded = self.0.take()?.await.ok()?;
        let mut history = loaded.history;
        let is_as_read = cleared + history.len() as u64 == loaded.tip.position();
        if !is_as_read || !tip.extends(loaded.tip) {
            return None;
        }
        for index in history.len()..newer.len() {
            let message = newer.source(index)?.clone();
            // A repaired message has other tokens than the message that was appended.
            match newer.is_repaired(index) {
                true => history.append(message),
                false => history.append_counted(message, newer.message_tokens(index)),
            };
        }
        Some(history)
    }
}

#[cfg(test)]
mod tests {
    use waterline::message::Message;
    use waterline::tokens::Method;
    use waterline_log::{Incoming, RewindTarget, Session};

    use super::*;

    fn counter() -> Counter {
        Counter::new(Method::Chars4, 1_000)
    }

    fn loading() -> Loading {
        Loading { session: "s".to_owned(), counter: counter(), reads: Reads::Everything }
    }

    fn say(log: &Log, text: &str) -> Tip {
        let tip = log.session("s").unwrap().tip;
        let incoming = Incoming::of(&Message::user(text), &counter());
        log.append("s", tip, vec![incoming]).unwrap().tip
    }

    fn texts(history: &History) -> Vec<String> {
        (0..history.len()).filter_map(|at| history.source(at)).map(Message::text).collect()
    }

    /// Loads the history in the background; then `change` changes the session.
    async fn prefetched(change: impl FnOnce(&Log)) -> Option<Vec<String>> {
        let directory = tempfile::tempdir().unwrap();
        let log = Log::open(&directory.path().join("log.db").display().to_string()).unwrap();
        log.create(Session::new("s")).unwrap();
        say(&log, "one");
        say(&log, "two");
        let mut prefetch = Prefetch::default();
        prefetch.start(&AsyncLog::from(log.clone()), loading());
        let mut loaded = prefetch.0.take().unwrap();
        let first = (&mut loaded).await.unwrap();
        let (done, loaded) = oneshot::channel();
        drop(done.send(first));
        prefetch.0 = Some(loaded);
        change(&log);
        let tip = log.session("s").unwrap().tip;
        let newer = log.history("s", &counter(), parse_stored).unwrap();
        prefetch.finish(tip, 0, &newer).await.map(|history| texts(&history))
    }

    #[tokio::test]
    async fn messages_since_the_load_are_added() {
        let loaded = prefetched(|log| {
            say(log, "three");
        })
        .await;
        assert_eq!(loaded.unwrap(), ["one", "two", "three"]);
    }

    #[tokio::test]
    async fn history_of_another_branch_is_not_used() {
        let loaded = prefetched(|log| {
            log.rewind("s", RewindTarget::Messages(1)).unwrap();
            say(log, "another");
            say(log, "and more");
        });
        assert_eq!(loaded.await, None);
    }
}
