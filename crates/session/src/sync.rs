//! Keeps a session in memory in sync with the log: reads it again after an interrupted call, loads
//! what other processes stored and what a fold needs, and checks every write against the lease.

use std::sync::Arc;

use waterline::message::{Message, Role};
use waterline_log::{Log, LogError, Permit};
use waterline_provider::wire::parse_stored;

use crate::error::SessionError;
use crate::lease::Fence;
use crate::live::LiveSession;
use crate::prefetch::{Loading, NEWEST, Prefetch, Reads};
use crate::render_cache::RenderCache;

/// A fold is near when the prompt has reached this share of the high mark, in percent.
const NEAR_FOLD: usize = 60;

/// The number of messages from which loading them takes long enough to notice.
const LONG: usize = 2_000;

/// A fold reads at least this many windows of tokens.
const WINDOWS_READ: usize = 4;

impl LiveSession {
    /// Reads the session again after a call that failed or was dropped. A partial answer is kept on
    /// a side branch.
    ///
    /// # Errors
    /// When the log cannot be read or written.
    pub async fn reload_if_interrupted(&mut self) -> Result<(), SessionError> {
        if !self.busy {
            return Ok(());
        }
        let lost = std::mem::take(&mut self.unsaved).messages;
        // The user message that was to start a turn is gone.
        self.next_call_starts_turn &= lost.iter().all(|message| message.role != Role::User);
        self.work.close();
        self.work.wait().await;
        self.work.reopen();
        let id = self.session.id.clone();
        let counter = *self.history.counter();
        let resumed = self.on_log(move |log| log.resume(&id, &counter, parse_stored)).await?;
        self.session = resumed.session;
        self.generation = Arc::new(resumed.generation);
        self.history = Arc::new(resumed.history);
        self.prefetch = Prefetch::default();
        self.cleared = resumed.cleared;
        self.render_cache = RenderCache::default();
        self.requested = None;
        self.focus = None;
        self.may_have_summary = true;
        let partial = std::mem::take(&mut self.partial_text);
        if !partial.is_empty() {
            self.keep_on_side_branch(&[Message::assistant(partial)]).await?;
        }
        self.busy = false;
        Ok(())
    }

    /// Appends the partial text of a stopped answer to the conversation, followed by `mark`.
    ///
    /// # Errors
    /// When the log cannot be read or written.
    pub async fn keep_partial(&mut self, mark: &str) -> Result<(), SessionError> {
        let partial = std::mem::take(&mut self.partial_text);
        self.reload_if_interrupted().await?;
        if partial.trim().is_empty() {
            return Ok(());
        }
        self.say(vec![Message::assistant(format!("{}\n\n{mark}", partial.trim_end()))]).await
    }

    /// Loads what another process stored in the session. Returns whether it continued the
    /// conversation.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn load_foreign_changes(&mut self) -> Result<bool, SessionError> {
        match self.refresh_state().await {
            Err(SessionError::Log(LogError::Conflict { .. })) => {
                self.busy = true;
                self.reload_if_interrupted().await?;
                Ok(true)
            }
            taken => taken.map(|()| false),
        }
    }

    /// Loads what another process changed in the session. If it continued the conversation, this is
    /// a conflict, because the caller's next action may refer to messages that are gone.
    async fn refresh_state(&mut self) -> Result<(), SessionError> {
        let id = self.session.id.clone();
        let stored = self.on_log(move |log| log.session(&id)).await?;
        if stored.tip != self.session.tip {
            let session = stored.id;
            let position = stored.tip.position();
            return Err(LogError::Conflict { session, position }.into());
        }
        self.session = stored;
        Ok(())
    }

    /// Starts to load the messages that a fold needs, if one is near. Otherwise they may never be
    /// needed, and would only take memory.
    pub(crate) fn prepare_fold(&mut self) {
        let is_near = self.prompt_tokens() >= self.high_mark() / 100 * NEAR_FOLD;
        if is_near && self.history.len() >= LONG && !self.history.is_whole() {
            let loading = self.loading(self.reads());
            self.prefetch.start(&self.log, loading);
        }
    }

    /// Loads the messages that a fold needs.
    pub(crate) async fn load_history(&mut self) -> Result<(), SessionError> {
        if self.reads() == Reads::Everything {
            return self.load_everything().await;
        }
        if self.history.is_whole() {
            return Ok(());
        }
        self.commit().await?;
        let tip = self.session.tip;
        match self.prefetch.finish(tip, self.cleared, &self.history).await {
            Some(history) => self.history = Arc::new(history),
            None => self.load(self.reads()).await?,
        }
        let listed = self.generation.slots().iter().flat_map(|slot| &slot.listed);
        Arc::make_mut(&mut self.history).remember_values(listed.map(String::as_str));
        self.read_enough().await
    }

    /// Loads everything if more messages may fit into the window than were read.
    pub(crate) async fn read_enough(&mut self) -> Result<(), SessionError> {
        let needed = self.budget.window * WINDOWS_READ;
        match self.history.has_unread() && self.history.read_tokens() < needed {
            true => self.load_everything().await,
            false => Ok(()),
        }
    }

    /// Loads every message that is not in memory.
    pub(crate) async fn load_everything(&mut self) -> Result<(), SessionError> {
        if self.history.is_whole() && !self.history.has_unread() {
            return Ok(());
        }
        self.commit().await?;
        let tip = self.session.tip;
        let loaded = self.prefetch.finish(tip, self.cleared, &self.history).await;
        match loaded.filter(|history| !history.has_unread()) {
            Some(history) => self.history = Arc::new(history),
            None => self.load(Reads::Everything).await?,
        }
        Ok(())
    }

    async fn load(&mut self, reads: Reads) -> Result<(), SessionError> {
        let loading = self.loading(reads);
        self.history = Arc::new(self.on_log(move |log| loading.load(log)).await?);
        Ok(())
    }

    fn loading(&self, reads: Reads) -> Loading {
        Loading { session: self.session.id.clone(), counter: *self.history.counter(), reads }
    }

    /// Returns what a fold of this session reads.
    fn reads(&self) -> Reads {
        let sent = self.generation.slots().iter().filter(|slot| slot.treatment.is_sent());
        let shown: Vec<usize> = sent.flat_map(|slot| slot.sources.iter().copied()).collect();
        let pins = self.kept.pins.iter().map(|position| position.saturating_sub(self.cleared + 1));
        let is_pinned_elsewhere = |pin: u64| !shown.iter().any(|index| *index as u64 == pin);
        let is_short = self.history.len() < NEWEST + NEWEST / 2;
        if is_short || self.policy().reads_dropped() || pins.into_iter().any(is_pinned_elsewhere) {
            return Reads::Everything;
        }
        Reads::Recent { shown }
    }

    /// Stores a partial answer on a side branch: it can be found there, and the retry does not
    /// continue from it.
    pub(crate) async fn keep_on_side_branch(
        &mut self,
        partial: &[Message],
    ) -> Result<(), SessionError> {
        if partial.is_empty() {
            return Ok(());
        }
        let (_, incoming) = self.incoming(partial.to_vec()).await?;
        let id = self.session.id.clone();
        let tip = self.session.tip;
        let append = move |log: &Log| log.append_to_side_branch(&id, tip, incoming.clone());
        self.session = self.write(append).await?;
        Ok(())
    }

    /// Checks every write against a lease: once another process has taken the lease, writes are
    /// refused. After the lease is released, writes are unchecked again.
    pub fn work_under(&mut self, fence: Fence) {
        self.fence = fence;
    }

    /// Returns the fence that writes must pass, for work that outlives this call.
    pub(crate) fn fence(&self) -> Fence {
        self.fence.clone()
    }

    /// Queues a write in one transaction, if no other process has taken the session's lease. It
    /// completes even if the caller drops the future, unless the log's queue is full. `work` may
    /// run again after a conflict.
    ///
    /// # Errors
    /// What the work returns, and [`LogError::LeaseLost`].
    pub fn write<T, W>(
        &self,
        work: W,
    ) -> impl Future<Output = waterline_log::Result<T>> + Send + use<T, W>
    where
        T: Send + 'static,
        W: Fn(&Log) -> waterline_log::Result<T> + Send + 'static,
    {
        self.log.write(self.under_lease(work))
    }

    /// As [`LiveSession::write`], with a place in the log's queue.
    pub(crate) fn write_with<T, W>(
        &self,
        permit: Permit,
        work: W,
    ) -> impl Future<Output = waterline_log::Result<T>> + Send + use<T, W>
    where
        T: Send + 'static,
        W: Fn(&Log) -> waterline_log::Result<T> + Send + 'static,
    {
        self.log.write_with(permit, self.under_lease(work))
    }

    /// Returns work that checks the lease first.
    fn under_lease<T, W>(
        &self,
        work: W,
    ) -> impl Fn(&Log) -> waterline_log::Result<T> + Send + 'static + use<T, W>
    where
        T: Send + 'static,
        W: Fn(&Log) -> waterline_log::Result<T> + Send + 'static,
    {
        let held = self.work.token();
        let fence = self.fence();
        move |log| {
            let _held = &held;
            fence.check(log)?;
            work(log)
        }
    }

    /// Runs work on one of the log's threads, without a check of the lease: reads, and writes that
    /// belong to no session. It completes even if the caller is dropped.
    ///
    /// # Errors
    /// What the work returns.
    pub async fn on_log<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Log) -> waterline_log::Result<T> + Send + 'static,
    ) -> Result<T, SessionError> {
        let held = self.work.token();
        let done = self.log.run(move |log| {
            let outcome = work(log);
            drop(held);
            outcome
        });
        Ok(done.await?)
    }
}
