//! A session in use: what is in memory of it, and how it goes to and from the log.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use tokio_util::task::TaskTracker;
use waterline::history::History;
use waterline::message::Message;
use waterline::model::Model;
use waterline::plan::{Budget, FoldLevel, Generation, Marks};
use waterline::policy::Policy;
use waterline::validity::Violation;
use waterline_log::{AsyncLog, Change, Incoming, Lease, Log, LogError, Resumed, Session, Step};
use waterline_provider::wire::parse_stored;

use crate::between_calls::{AnswerShape, Focus, LastCall, Pending, Reported};
use crate::config::{ModelTarget, SessionConfig};
use crate::error::SessionError;
use crate::fold_backoff::Folds;
use crate::lease::Held;
use crate::level::Level;
use crate::model_stats::{self, ModelStats};
use crate::pins::Kept;
use crate::render_cache::RenderCache;

/// A session in use.
#[derive(Debug)]
pub struct LiveSession {
    pub(crate) log: AsyncLog,
    pub(crate) config: SessionConfig,
    /// Which model is asked: 0 is the first, the others are those of the fallback list.
    pub(crate) at: usize,
    pub(crate) model: Arc<Model>,
    pub(crate) session: Session,
    pub(crate) cleared: u64,
    pub(crate) history: History,
    pub(crate) generation: Generation,
    pub(crate) budget: Budget,
    pub(crate) violations: Vec<Violation>,
    pub(crate) experiences: BTreeMap<String, ModelStats>,
    pub(crate) render_cache: RenderCache,
    /// A fold that the next plan must make, and why.
    pub(crate) forced: Option<(FoldLevel, String)>,
    pub(crate) pending: Option<Pending>,
    /// The log may hold a summary that an earlier process had made for what is sent.
    pub(crate) may_have_summary: bool,
    pub(crate) folds: Folds,
    /// Somebody was told that what must be sent does not fit.
    pub(crate) told_full: bool,
    /// The call before this one.
    pub(crate) last: Option<LastCall>,
    /// What the provider said about the prompt of that call.
    pub(crate) reported: Option<Reported>,
    /// What came of an answer that is not finished.
    pub(crate) heard: String,
    /// Whether the provider's own events are emitted.
    pub(crate) emits_raw: bool,
    /// Said for one call only, behind everything else.
    pub(crate) aside: Vec<Message>,
    /// What the next answer must be.
    pub(crate) wanted: AnswerShape,
    /// Somebody spoke since the last call.
    pub(crate) turn_begins: bool,
    /// What the next fold is to keep above all.
    pub(crate) focus: Option<Focus>,
    /// What no fold may lose.
    pub(crate) kept: Kept,
    /// What is in memory and goes to the log with the next write.
    pub(crate) staged: Step,
    /// A call is under way, or broke off: what is in memory may not be what is in the log.
    pub(crate) busy: bool,
    /// Work on the log that is under way, also if its caller gave it up.
    work: TaskTracker,
    /// The lease under which the session is written, as long as it is held.
    fence: Weak<Lease>,
}

impl LiveSession {
    /// Takes a session up: what it sent last, and the messages since.
    ///
    /// # Errors
    /// When there is no such session.
    pub async fn open(
        log: impl Into<AsyncLog>,
        session: &str,
        config: SessionConfig,
    ) -> Result<Self, SessionError> {
        let (log, model) = (log.into(), Arc::clone(&config.model.about));
        let (counter, id) = (model.counter(), session.to_owned());
        let read = log.run(move |log| {
            let resumed = log.resume(&id, &counter, parse_stored)?;
            Ok((resumed, log.last_usage(&id)?, model_stats::read(log)?))
        });
        let (resumed, usage, experiences) = read.await?;
        let Resumed { session, generation, history, cleared } = resumed;
        let tools = config.tools.iter().map(|tool| counter.tool(&tool.definition())).sum();
        let mut live = Self {
            log,
            at: 0,
            model,
            session,
            cleared,
            history,
            generation,
            budget: Budget { tools, ..Budget::of(0) },
            violations: Vec::new(),
            experiences,
            render_cache: RenderCache::default(),
            forced: None,
            pending: None,
            may_have_summary: true,
            folds: Folds::default(),
            told_full: false,
            last: usage.map(|usage| LastCall::of(&usage)),
            reported: None,
            heard: String::new(),
            emits_raw: false,
            aside: Vec::new(),
            wanted: AnswerShape::default(),
            turn_begins: false,
            focus: None,
            kept: Kept::default(),
            staged: Step::default(),
            busy: false,
            work: TaskTracker::new(),
            fence: Weak::new(),
            config,
        };
        live.use_model(0);
        Ok(live)
    }

    /// The session as the log has it.
    #[must_use]
    pub const fn session(&self) -> &Session {
        &self.session
    }

    /// What was sent last.
    #[must_use]
    pub const fn generation(&self) -> &Generation {
        &self.generation
    }

    /// The messages that are in memory.
    #[must_use]
    pub const fn history(&self) -> &History {
        &self.history
    }

    /// The model that is asked now.
    #[must_use]
    pub fn model(&self) -> &ModelTarget {
        self.config.candidate(self.at)
    }

    /// Tokens the prompt may take, as far as is known by now.
    #[must_use]
    pub const fn window(&self) -> usize {
        self.budget.window
    }

    /// How full the window was at the last call.
    #[must_use]
    pub fn level(&self) -> Level {
        Level::of(self.prompt_tokens(), self.budget.window)
    }

    /// The tokens of the last prompt, as far as is known.
    #[must_use]
    pub fn prompt_tokens(&self) -> usize {
        self.budget.calibration.correct(self.generation.tokens() + self.budget.tools)
    }

    /// Tokens from which on the policy folds.
    #[must_use]
    pub fn high_mark(&self) -> usize {
        let high = Marks::new(&self.budget, &self.policy().fold, self.history.system_tokens()).high;
        self.corrected(high).min(self.budget.window)
    }

    /// Tokens of the tool definitions.
    #[must_use]
    pub const fn tool_tokens(&self) -> usize {
        self.budget.tools
    }

    /// The messages of the session, all of them: those that were left in the log are read.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn whole(&mut self) -> Result<&History, SessionError> {
        self.resync().await?;
        self.load_whole().await?;
        Ok(&self.history)
    }

    /// Rules of the wire that contexts broke so far; there should be none.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// The policy that holds for the model that is asked.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        self.model().policy.as_ref().unwrap_or(&self.config.policy)
    }

    /// Whether its messages are counted as this config's model counts them.
    pub(crate) fn can_be_held_with(&self, config: &SessionConfig) -> bool {
        config.model.about.counter().name() == self.history.counter().name()
    }

    /// Holds the session with other models, tools and settings from now on.
    pub(crate) fn hold_with(&mut self, config: SessionConfig) {
        self.budget.tools =
            config.tools.iter().map(|tool| self.history.counter().tool(&tool.definition())).sum();
        self.config = config;
        self.use_model(0);
    }

    /// Asks another model from now on. What its provider taught about it counts.
    pub(crate) fn use_model(&mut self, at: usize) {
        self.at = at;
        self.model = Arc::clone(&self.config.candidate(at).about);
        self.budget.calibration = self.model_stats().calibration();
        self.budget.window = self.known_window();
    }

    /// Tokens a prompt may take: what was said, or what the provider taught if that is less.
    fn known_window(&self) -> usize {
        let window = self.model().window.unwrap_or_else(|| self.model.input_window());
        let learned = self.model_stats().window(self.log.now()).filter(|&whole| whole < window);
        learned.map_or(window, |whole| self.prompt_window(whole)).max(1)
    }

    /// What a prompt may take of a window that prompt and answer share.
    pub(crate) fn prompt_window(&self, whole: usize) -> usize {
        whole - self.config.options.max_tokens.unwrap_or(self.model.output).min(whole / 4)
    }

    /// Begins a call: after one that was broken off, what is in memory is read anew, and what came
    /// of its answer is kept.
    pub(crate) async fn begin(&mut self) -> Result<(), SessionError> {
        self.resync().await?;
        self.busy = true;
        let ready = self.first_ready();
        if ready != self.at {
            self.use_model(ready);
        }
        // What was only guessed for the call before is forgotten.
        self.budget.window = self.known_window();
        self.budget.cold = self.is_cold();
        Ok(())
    }

    /// Ends a call that came through.
    pub(crate) fn end(&mut self) {
        self.heard.clear();
        self.aside.clear();
        self.busy = false;
        self.forced = None;
    }

    /// Stores what was said or found, before a call needs it: results of tools, one by one, as they
    /// come.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn say(&mut self, new: Vec<Message>) -> Result<(), SessionError> {
        self.stage(new).await?;
        self.commit().await
    }

    /// Emits the provider's own events too, as [`crate::Event::Raw`]: for a gateway whose client
    /// speaks the model's wire.
    pub const fn emit_raw_events(&mut self, emits: bool) {
        self.emits_raw = emits;
    }

    /// Forgets what was to be said for a call that was never made.
    pub fn forget_asides(&mut self) {
        self.aside.clear();
    }

    /// Says something for the next call only. It is neither stored nor sent again; the answer to it
    /// is.
    pub fn add_ephemeral(&mut self, text: impl Into<String>) {
        self.aside.push(Message::user(text));
    }

    /// Changes what the session carries, in the log and here. What another process changed
    /// meanwhile stays.
    ///
    /// # Errors
    /// When the log cannot be written, or another process went on with the conversation; then
    /// nothing is changed.
    pub async fn change(
        &mut self,
        change: impl Fn(&mut Session) + Send + Sync + 'static,
    ) -> Result<(), SessionError> {
        let change: Change = Arc::new(move |session| {
            change(session);
            Ok(())
        });
        self.stage_change(change).await?;
        self.commit().await
    }

    /// Says what no fold may lose, from now on.
    pub fn keep(&mut self, kept: Kept) {
        self.kept = kept;
    }

    /// The log it is stored in.
    #[must_use]
    pub const fn log(&self) -> &Log {
        self.log.blocking()
    }

    /// What it is held with.
    #[must_use]
    pub const fn config(&self) -> &SessionConfig {
        &self.config
    }

    /// Messages that were cleared away: those in memory are numbered from behind them.
    #[must_use]
    pub const fn cleared(&self) -> u64 {
        self.cleared
    }

    /// Brings memory and log together after a call that failed or was given up: dropping a call at
    /// any moment leaves a valid log, and this takes up what it holds. What came of the answer is
    /// kept beside the session's way.
    ///
    /// # Errors
    /// When the log cannot be read or written.
    pub async fn resync(&mut self) -> Result<(), SessionError> {
        if !self.busy {
            return Ok(());
        }
        self.staged = Step::default();
        self.work.close();
        self.work.wait().await;
        self.work.reopen();
        let (id, counter) = (self.session.id.clone(), *self.history.counter());
        let resumed = self.on_log(move |log| log.resume(&id, &counter, parse_stored)).await?;
        (self.session, self.generation) = (resumed.session, resumed.generation);
        (self.history, self.cleared) = (resumed.history, resumed.cleared);
        self.render_cache = RenderCache::default();
        self.forced = None;
        self.focus = None;
        self.may_have_summary = true;
        let heard = std::mem::take(&mut self.heard);
        if !heard.is_empty() {
            self.keep_aside(&[Message::assistant(heard)]).await?;
        }
        self.busy = false;
        Ok(())
    }

    /// Keeps what came of an answer that somebody stopped, in the conversation and with a mark
    /// behind it.
    ///
    /// # Errors
    /// When the log cannot be read or written.
    pub async fn keep_partial(&mut self, mark: &str) -> Result<(), SessionError> {
        let heard = std::mem::take(&mut self.heard);
        self.resync().await?;
        if heard.trim().is_empty() {
            return Ok(());
        }
        self.say(vec![Message::assistant(format!("{}\n\n{mark}", heard.trim_end()))]).await
    }

    /// Takes up what another process stored in the session since. Says whether it went on with the
    /// conversation.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn catch_up(&mut self) -> Result<bool, SessionError> {
        match self.take_up_state().await {
            Err(SessionError::Log(LogError::Conflict { .. })) => {
                self.busy = true;
                self.resync().await?;
                Ok(true)
            }
            taken => taken.map(|()| false),
        }
    }

    /// Takes up what another process changed of what the session carries. One that went on with the
    /// conversation is not followed unawares: what is done here may be about what is no longer
    /// there.
    async fn take_up_state(&mut self) -> Result<(), SessionError> {
        let id = self.session.id.clone();
        let stored = self.on_log(move |log| log.session(&id)).await?;
        if stored.tip != self.session.tip {
            let (session, position) = (stored.id, stored.tip.position());
            return Err(LogError::Conflict { session, position }.into());
        }
        self.session = stored;
        Ok(())
    }

    /// Loads the messages that were left in the log.
    pub(crate) async fn load_whole(&mut self) -> Result<(), SessionError> {
        if self.history.is_whole() {
            return Ok(());
        }
        self.commit().await?;
        let (id, counter) = (self.session.id.clone(), *self.history.counter());
        self.history = self.on_log(move |log| log.history(&id, &counter, parse_stored)).await?;
        Ok(())
    }

    /// Keeps what came of an answer that broke off, beside the way of the session: it can be found
    /// there, and the next try does not go on from it.
    pub(crate) async fn keep_aside(&mut self, partial: &[Message]) -> Result<(), SessionError> {
        if partial.is_empty() {
            return Ok(());
        }
        let incoming = self.incoming(partial);
        let (id, tip) = (self.session.id.clone(), self.session.tip);
        self.session = self.on_log(move |log| log.append_aside(&id, tip, incoming)).await?;
        Ok(())
    }

    pub(crate) fn incoming(&self, messages: &[Message]) -> Vec<Incoming> {
        messages.iter().map(|message| Incoming::of(message, self.history.counter())).collect()
    }

    /// Writes under a lease from now on: once another process has taken that lease, what is written
    /// here is refused. When the lease is given back, writes are as before.
    pub fn work_under(&mut self, held: &Held) {
        self.fence = held.fence();
    }

    /// Queues a write in one transaction, if no other process has taken the session's lease. It
    /// completes even if the caller drops the future.
    pub(crate) fn write<T, W>(
        &self,
        work: W,
    ) -> impl Future<Output = waterline_log::Result<T>> + Send + use<T, W>
    where
        T: Send + 'static,
        W: Fn(&Log) -> waterline_log::Result<T> + Send + 'static,
    {
        let held = self.work.token();
        let fence = self.fence.upgrade();
        self.log.write(move |log| {
            let _held = &held;
            fence.as_ref().map_or(Ok(()), |fence| log.check_lease(fence))?;
            work(log)
        })
    }

    /// Work on the log, on one of its own threads. It is done to its end, also if the caller gives
    /// it up.
    ///
    /// # Errors
    /// When the log says so.
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
