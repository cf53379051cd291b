//! A session in memory. `sync.rs` keeps it and the log the same.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;
use waterline::history::History;
use waterline::message::Message;
use waterline::model::Model;
use waterline::plan::{Budget, FoldLevel, Generation, Marks};
use waterline::policy::{Policy, Resume};
use waterline::reason::Reason;
use waterline::validity::Violation;
use waterline_log::{AsyncLog, Change, Commit, Log, Resumed, Session};
use waterline_provider::wire::parse_stored;

use crate::between_calls::{
    AnswerShape, Focus, LastCall, NamedRules, Pending, Reported, Searching,
};
use crate::config::{ModelTarget, SessionConfig};
use crate::error::SessionError;
use crate::fold_backoff::FoldBackoff;
use crate::lease::Fence;
use crate::level::Level;
use crate::model_stats::{self, MIN_FACTOR_CHANGE, ModelStats};
use crate::pins::Pinned;
use crate::prefetch::Prefetch;
use crate::recall::Recall;
use crate::render_cache::RenderCache;

/// A session in use: its history, the context sent last, and the model that is called.
#[derive(Debug)]
pub struct LiveSession {
    pub(crate) log: AsyncLog,
    pub(crate) config: SessionConfig,
    /// The model in use: 0 is the configured one, others are from the fallback list.
    pub(crate) at: usize,
    pub(crate) model: Arc<Model>,
    pub(crate) session: Session,
    pub(crate) cleared: u64,
    pub(crate) history: History,
    pub(crate) generation: Generation,
    pub(crate) budget: Budget,
    pub(crate) violations: Vec<Violation>,
    pub(crate) stats: BTreeMap<String, ModelStats>,
    pub(crate) render_cache: RenderCache,
    /// A fold that the next plan must make, with its reason.
    pub(crate) requested: Option<(FoldLevel, String)>,
    pub(crate) pending: Option<Pending>,
    /// An entry that is being written to the daily memory.
    pub(crate) memory_write: Option<JoinHandle<()>>,
    /// The positions of messages that an entry of the daily memory covers although the context
    /// still has them.
    pub(crate) in_memory: Vec<u64>,
    /// The log may hold a summary that an earlier process made for the current context.
    pub(crate) may_have_summary: bool,
    pub(crate) backoff: FoldBackoff,
    /// The user was warned that the context does not fit.
    pub(crate) warned_full: bool,
    /// The previous call.
    pub(crate) last_call: Option<LastCall>,
    /// The provider's usage report for the prompt of that call.
    pub(crate) reported: Option<Reported>,
    /// The text of an answer that is not finished.
    pub(crate) partial_text: String,
    /// Whether the provider's raw events are emitted.
    pub(crate) emits_raw: bool,
    /// Messages for one call only, after all others.
    pub(crate) ephemeral: Vec<Message>,
    /// The required shape of the next answer.
    pub(crate) wanted: AnswerShape,
    /// A user message arrived since the last call.
    pub(crate) next_call_starts_turn: bool,
    /// What the next fold keeps first.
    pub(crate) focus: Option<Focus>,
    /// What every fold must keep.
    pub(crate) kept: Pinned,
    /// What goes to the log with the next write.
    pub(crate) unsaved: Commit,
    /// A call is running or was interrupted, so memory and log may differ.
    pub(crate) busy: bool,
    /// Log operations that are running, even if their caller was dropped.
    pub(crate) work: TaskTracker,
    /// The whole history, loaded ahead of a fold.
    pub(crate) prefetch: Prefetch,
    /// What writes are checked against.
    pub(crate) fence: Fence,
    /// The index of the messages, for a policy that quotes them.
    pub(crate) recall: Arc<Recall>,
    /// A search that did not finish in time.
    pub(crate) searching: Option<Searching>,
    /// Standing instructions that models named in summaries.
    pub(crate) rules: NamedRules,
}

impl LiveSession {
    /// Opens a session: loads the context it sent last and the messages since.
    ///
    /// # Errors
    /// When there is no such session.
    pub async fn open(
        log: impl Into<AsyncLog>,
        session: &str,
        config: SessionConfig,
    ) -> Result<Self, SessionError> {
        let log = log.into();
        let model = Arc::clone(&config.model.about);
        let counter = model.counter();
        let id = session.to_owned();
        let read = log.run(move |log| {
            let resumed = log.resume(&id, &counter, parse_stored)?;
            Ok((resumed, log.last_usage(&id)?, model_stats::read(log)?))
        });
        let (resumed, usage, stats) = read.await?;
        let Resumed { session, generation, history, cleared, .. } = resumed;
        let tools = config.tools.iter().map(|tool| counter.tool(tool)).sum();
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
            stats,
            render_cache: RenderCache::default(),
            requested: None,
            pending: None,
            memory_write: None,
            in_memory: Vec::new(),
            may_have_summary: true,
            backoff: FoldBackoff::default(),
            warned_full: false,
            last_call: usage.map(|usage| LastCall::of(&usage)),
            reported: None,
            partial_text: String::new(),
            emits_raw: false,
            ephemeral: Vec::new(),
            wanted: AnswerShape::default(),
            next_call_starts_turn: false,
            focus: None,
            kept: Pinned::default(),
            unsaved: Commit::default(),
            busy: false,
            work: TaskTracker::new(),
            prefetch: Prefetch::default(),
            fence: Fence::default(),
            recall: Arc::new(Recall::new(|text| text)),
            searching: None,
            rules: NamedRules::default(),
            config,
        };
        live.use_model(0);
        live.prepare_fold();
        Ok(live)
    }

    /// Continues after a restart of the program as the policy says (`fold.resume`): with what was
    /// sent before, or with the requests and answers of the latest turns. The log keeps everything,
    /// and the fold can be undone.
    pub fn restore(&mut self) {
        if self.policy().fold.resume == Resume::Texts && self.generation.covered() > 0 {
            let reason = Reason::Restarted;
            let level = FoldLevel::Resume;
            self.requested = Some((level, format!("{reason}: {}", level.about())));
        }
    }

    /// Returns the session as stored in the log.
    #[must_use]
    pub const fn session(&self) -> &Session {
        &self.session
    }

    /// Returns the context that was sent last.
    #[must_use]
    pub const fn generation(&self) -> &Generation {
        &self.generation
    }

    /// Returns the messages that are in memory.
    #[must_use]
    pub const fn history(&self) -> &History {
        &self.history
    }

    /// Returns the model in use.
    #[must_use]
    pub fn model(&self) -> &ModelTarget {
        self.config.target(self.at)
    }

    /// Returns the tokens that a prompt may take, as far as is known.
    #[must_use]
    pub const fn window(&self) -> usize {
        self.budget.window
    }

    /// Returns how full the window was at the last call.
    #[must_use]
    pub fn level(&self) -> Level {
        Level::of(self.prompt_tokens(), self.budget.window)
    }

    /// Returns the tokens of the last prompt, as far as is known.
    #[must_use]
    pub fn prompt_tokens(&self) -> usize {
        self.budget.calibration.correct(self.generation.tokens() + self.budget.tools)
    }

    /// Returns the tokens above which the policy folds.
    #[must_use]
    pub fn high_mark(&self) -> usize {
        let marks = Marks::new(&self.budget, &self.policy().fold, self.history.system_tokens());
        // The correction rounds: a mark at the window is the window.
        match marks.high < marks.window {
            true => self.corrected(marks.high).min(self.budget.window),
            false => self.budget.window,
        }
    }

    /// Returns the tokens of the tool definitions.
    #[must_use]
    pub const fn tool_tokens(&self) -> usize {
        self.budget.tools
    }

    /// Returns the whole history. Messages that are not in memory are loaded.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn whole(&mut self) -> Result<&History, SessionError> {
        self.resync().await?;
        self.load_history().await?;
        Ok(&self.history)
    }

    /// Returns the wire rules that contexts violated so far; there should be none.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// Returns the policy for the model in use.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        self.model().policy.as_ref().unwrap_or(&self.config.policy)
    }

    /// Whether this config's model counts tokens as the loaded history does.
    pub(crate) fn accepts(&self, config: &SessionConfig) -> bool {
        config.model.about.counter().name() == self.history.counter().name()
    }

    /// Gives the session to another caller: replaces models, tools and settings, and drops what the
    /// previous caller set or added for calls that it did not make.
    pub(crate) fn hand_over(&mut self, config: SessionConfig) {
        self.emits_raw = false;
        self.ephemeral.clear();
        self.wanted.shape = None;
        self.wanted.insists = false;
        self.kept = Pinned::default();
        self.focus = None;
        self.requested = None;
        // The session is read again, without what is unsaved.
        self.busy |= !self.unsaved.is_empty();
        self.budget.tools = config.tools.iter().map(|tool| self.history.counter().tool(tool)).sum();
        self.config = config;
        self.use_model(0);
    }

    /// Switches to another model, with what was observed about it.
    pub(crate) fn use_model(&mut self, at: usize) {
        self.at = at;
        self.model = Arc::clone(&self.config.target(at).about);
        let known = self.model_stats().calibration();
        // For the same model, the current one also knows the previous call.
        if (known.factor() - self.budget.calibration.factor()).abs() > MIN_FACTOR_CHANGE {
            self.budget.calibration = known;
        }
        self.use_known_window();
    }

    /// Sets the tokens a prompt may take: the configured window, or the observed one if that is
    /// smaller.
    fn use_known_window(&mut self) {
        let window = self.model().window.unwrap_or_else(|| self.model.input_window());
        let learned = self.model_stats().window(self.log.now()).filter(|&whole| whole < window);
        let whole = learned.or(self.model().window).unwrap_or(self.model.window);
        self.budget.window = learned.map_or(window, |whole| self.prompt_window(whole)).max(1);
        self.budget.whole = whole;
    }

    /// The prompt's share of a window that prompt and answer share.
    pub(crate) fn prompt_window(&self, whole: usize) -> usize {
        whole - self.config.options.max_tokens.unwrap_or(self.model.output).min(whole / 4)
    }

    /// Starts a call. After an interrupted one, the session is read again and the partial answer is
    /// kept.
    pub(crate) async fn start_call(&mut self) -> Result<(), SessionError> {
        self.resync().await?;
        self.busy = true;
        let ready = self.first_ready();
        if ready != self.at {
            self.use_model(ready);
        }
        // A window that was only guessed for the previous call does not count any more.
        self.use_known_window();
        self.budget.cold = self.is_cold();
        Ok(())
    }

    /// Finishes a successful call.
    pub(crate) fn finish_call(&mut self) {
        self.partial_text.clear();
        self.ephemeral.clear();
        self.busy = false;
        self.requested = None;
    }

    /// Appends messages and stores them at once, for example tool results as they arrive.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn say(&mut self, new: Vec<Message>) -> Result<(), SessionError> {
        self.add_messages(new).await?;
        self.commit().await
    }

    /// Emits the provider's raw events too, as [`crate::Event::Raw`], for a gateway whose client
    /// uses the model's wire.
    pub const fn emit_raw_events(&mut self, emits: bool) {
        self.emits_raw = emits;
    }

    /// Drops the ephemeral messages of a call that was not made.
    pub fn clear_ephemeral(&mut self) {
        self.ephemeral.clear();
    }

    /// Adds a user message for the next call only. It is not stored and not sent again; the answer
    /// is stored.
    pub fn add_ephemeral(&mut self, text: impl Into<String>) {
        self.ephemeral.push(Message::user(text));
    }

    /// Changes the session here and in the log. Changes by other processes are kept.
    ///
    /// # Errors
    /// When the log cannot be written, or another process continued the conversation. Then nothing
    /// changes.
    pub async fn change(
        &mut self,
        change: impl Fn(&mut Session) + Send + Sync + 'static,
    ) -> Result<(), SessionError> {
        let change: Change = Arc::new(move |session| {
            change(session);
            Ok(())
        });
        self.add_change(change).await?;
        self.commit().await
    }

    /// Sets what every fold must keep.
    pub fn keep(&mut self, kept: Pinned) {
        self.kept = kept;
    }

    /// Returns the log that stores the session.
    #[must_use]
    pub const fn log(&self) -> &Log {
        self.log.blocking()
    }

    /// Returns the configuration.
    #[must_use]
    pub const fn config(&self) -> &SessionConfig {
        &self.config
    }

    /// Returns how many messages were cleared. Messages in memory are numbered after them.
    #[must_use]
    pub const fn cleared(&self) -> u64 {
        self.cleared
    }
}
