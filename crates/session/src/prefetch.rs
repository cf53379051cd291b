//! Loads the whole history in the background when a fold is near, so that the fold of a long
//! session need not wait for it.

use tokio::sync::oneshot;
use waterline::history::History;
use waterline::tokens::Counter;
use waterline_log::{AsyncLog, Tip};
use waterline_provider::wire::parse_stored;

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
    pub(crate) fn start(&mut self, log: &AsyncLog, session: &str, counter: Counter) {
        if self.0.is_some() {
            return;
        }
        let id = session.to_owned();
        let (done, loaded) = oneshot::channel();
        log.detach(move |log| {
            // An error is not reported here: the fold loads the history again and reports it.
            let Ok(session) = log.session(&id) else { return };
            let Ok(history) = log.history(&id, &counter, parse_stored) else { return };
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
    use waterline_log::{Incoming, Log, RewindTarget, Session};

    use super::*;

    fn counter() -> Counter {
        Counter::new(Method::Chars4, 1_000)
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
        prefetch.start(&AsyncLog::from(log.clone()), "s", counter());
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
