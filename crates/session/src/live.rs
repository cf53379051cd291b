//! A session in memory. `sync.rs` keeps it in sync with the log.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;
use waterline::history::History;
use waterline::message::Message;
use waterline::model::Model;
use waterline::plan::{Budget, FoldLevel, Generation, Marks};
use waterline::policy::{Policy, Resume};
use waterline::reason::{Reason, Reasons};
use waterline::validity::Violation;
use waterline_log::{AsyncLog, Change, Commit, Log, Resumed, Session};
use waterline_provider::wire::parse_stored;

use crate::between_calls::{
    AnswerShape, Focus, LastCall, NamedRules, Pending, Reported, Searching,
};
use crate::config::{ModelTarget, SessionConfig};
use crate::error::SessionError;
use crate::fold_escalation::FoldEscalation;
use crate::lease::Fence;
use crate::level::Level;
use crate::model_stats::{self, MIN_FACTOR_CHANGE, ModelStats};
use crate::pins::Pinned;
use crate::prefetch::{NEWEST, Prefetch};
use crate::recall::Recall;
use crate::render_cache::RenderCache;

/// The share of the window that stays free, in percent: even a calibrated counter is slightly off,
/// and the provider's limit is exact.
const MARGIN: usize = 5;

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
    // Shared with the thread that plans a fold.
    pub(crate) history: Arc<History>,
    pub(crate) generation: Arc<Generation>,
    pub(crate) budget: Budget,
    pub(crate) violations: Vec<Violation>,
    pub(crate) stats: BTreeMap<String, ModelStats>,
    /// The models, by their statistics key, that refused a prompt of this session as too long.
    pub(crate) refused_by: BTreeSet<String>,
    pub(crate) render_cache: RenderCache,
    /// A fold that the next plan must make, with its reason.
    pub(crate) requested: Option<(FoldLevel, Reasons)>,
    pub(crate) pending: Option<Pending>,
    /// An entry that is being written to the daily memory.
    pub(crate) memory_write: Option<JoinHandle<()>>,
    /// The positions of messages that an entry of the daily memory covers although the context
    /// still has them.
    pub(crate) in_memory: Vec<u64>,
    /// The log may hold a summary that an earlier process made for the current context.
    pub(crate) may_have_summary: bool,
    pub(crate) fold_escalation: FoldEscalation,
    /// The user was warned that the context does not fit.
    pub(crate) warned_full: bool,
    /// `None` before the first call of this process.
    pub(crate) last_call: Option<LastCall>,
    /// The provider's usage report for the prompt of that call.
    pub(crate) reported: Option<Reported>,
    /// The usage report of an earlier process, for display only: its tools may have been different.
    pub(crate) reported_before: Option<Reported>,
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
    /// The fence that every write must pass.
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
    /// When the session does not exist.
    pub async fn open(
        log: impl Into<AsyncLog>,
        session: &str,
        config: SessionConfig,
    ) -> Result<Self, SessionError> {
        let log = log.into();
        let model = Arc::clone(&config.model.about);
        let counter = model.counter();
        let id = session.to_owned();
        let newest = if config.policy.reads_dropped() { usize::MAX } else { NEWEST };
        let read = log.run(move |log| {
            let resumed = log.resume_recent(&id, &counter, parse_stored, newest)?;
            Ok((resumed, log.last_usage(&id)?, model_stats::read(log)?))
        });
        let (resumed, usage, stats) = read.await?;
        let Resumed { session, generation, history, cleared, .. } = resumed;
        let last_call = usage.as_ref().map(LastCall::of);
        let tools = config.tools.iter().map(|tool| counter.tool(tool)).sum();
        let mut live = Self {
            log,
            at: 0,
            model,
            session,
            cleared,
            history: Arc::new(history),
            generation: Arc::new(generation),
            budget: Budget { tools, ..Budget::of(0) },
            violations: Vec::new(),
            stats,
            refused_by: BTreeSet::new(),
            render_cache: RenderCache::default(),
            requested: None,
            pending: None,
            memory_write: None,
            in_memory: Vec::new(),
            may_have_summary: true,
            fold_escalation: FoldEscalation::default(),
            warned_full: false,
            last_call,
            reported: None,
            reported_before: None,
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
        if let Some(usage) = usage {
            live.continue_calibration(&usage);
        }
        live.prepare_fold();
        Ok(live)
    }

    /// Continues after a restart of the program as the policy says (`fold.resume`): with what was
    /// sent before, or with the requests and answers of the latest turns. The log keeps everything,
    /// and the fold can be undone.
    pub fn restore(&mut self) {
        if self.policy().fold.resume == Resume::Texts && self.generation.covered() > 0 {
            let level = FoldLevel::Restart;
            self.requested = Some((level, Reasons::from(Reason::Restarted).and(level.reason())));
        }
    }

    /// Returns the session as stored in the log.
    #[must_use]
    pub const fn session(&self) -> &Session {
        &self.session
    }

    /// Returns the context that was sent last.
    #[must_use]
    pub fn generation(&self) -> &Generation {
        &self.generation
    }

    /// Returns the messages that are in memory.
    #[must_use]
    pub fn history(&self) -> &History {
        &self.history
    }

    pub(crate) fn shared_history(&self) -> Arc<History> {
        Arc::clone(&self.history)
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
        self.budget.calibration.to_provider_tokens(self.generation.tokens() + self.budget.tools)
    }

    /// Returns the tokens above which the policy folds.
    #[must_use]
    pub fn high_mark(&self) -> usize {
        let budget = self.usable_budget();
        let marks = Marks::new(&budget, &self.policy().fold, self.history.system_tokens());
        // A policy that uses the whole window folds at the window; the margin is not part of it.
        match marks.high < marks.window {
            true => {
                let high = Some(self.policy().fold.high);
                marks.for_display(marks.high, high, &budget.calibration).min(self.budget.window)
            }
            false => self.budget.window,
        }
    }

    /// Returns the budget of a plan: without the margin.
    pub(crate) const fn usable_budget(&self) -> Budget {
        let window = self.budget.window - self.budget.window * MARGIN / 100;
        Budget { window, ..self.budget }
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
        self.reload_if_interrupted().await?;
        self.load_everything().await?;
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
        self.warned_full = false;
        // The session is read again, without what is unsaved.
        self.busy |= !self.unsaved.is_empty();
        self.budget.tools = config.tools.iter().map(|tool| self.history.counter().tool(tool)).sum();
        let model = self.stats_key();
        let user = self.config.user_directory().map(Path::to_owned);
        self.config = config;
        self.use_model(0);
        // Another model counts the prompt in another way.
        self.reported = self.reported.filter(|_| self.stats_key() == model);
        // A summary in the background may still name rules for the previous user.
        if self.config.user_directory() != user.as_deref() {
            self.rules = NamedRules::default();
        }
    }

    /// Switches to another model, with what was observed about it.
    pub(crate) fn use_model(&mut self, at: usize) {
        self.at = at;
        self.model = Arc::clone(&self.config.target(at).about);
        let known = self.model_stats().calibration();
        // If they hardly differ, the current calibration stays: it also knows the previous call.
        if (known.factor() - self.budget.calibration.factor()).abs() > MIN_FACTOR_CHANGE {
            self.budget.calibration = known;
        }
        self.use_known_window();
    }

    /// Sets the tokens a prompt may take: the configured window, or the observed one if that is
    /// smaller.
    fn use_known_window(&mut self) {
        let window = self.model().window.unwrap_or_else(|| self.model.input_window());
        let learned = self.learned_window();
        let whole = learned.or(self.model().window).unwrap_or(self.model.window);
        self.budget.window = learned.map_or(window, |whole| self.prompt_window(whole)).max(1);
        self.budget.model_window = whole;
    }

    /// The prompt's share of a window that prompt and answer share.
    pub(crate) fn prompt_window(&self, whole: usize) -> usize {
        whole - self.config.options.max_tokens.unwrap_or(self.model.output).min(whole / 4)
    }

    /// Starts a call. After an interrupted one, the session is read again and the partial answer is
    /// kept.
    pub(crate) async fn start_call(&mut self) -> Result<(), SessionError> {
        self.reload_if_interrupted().await?;
        self.busy = true;
        let ready = self.first_ready();
        if ready != self.at {
            self.use_model(ready);
        }
        // A window that was only guessed for the previous call no longer counts.
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

#[cfg(test)]
mod tests {
    use waterline_testkit::scripted::Scripted;
    use waterline_testkit::server::Reply;

    use super::*;
    use crate::between_calls::NamedRule;

    fn config(model: &str, memory: Option<&str>) -> SessionConfig {
        let server = Scripted::new(|_| Reply::Stream { events: Vec::new(), piece: 0 });
        let mut config =
            SessionConfig::new(ModelTarget::new(model, server), Policy::preset("auto").unwrap());
        config.memory = memory.map(|root| Arc::new(waterline_memory::Memory::new(root)));
        config
    }

    async fn live(directory: &tempfile::TempDir) -> LiveSession {
        let log = Log::open(&directory.path().join("log.db").display().to_string()).unwrap();
        log.create(Session::new("s")).unwrap();
        LiveSession::open(log, "s", config("m", Some("/ann"))).await.unwrap()
    }

    fn name_a_rule(live: &LiveSession) {
        let rule = NamedRule { text: "No emojis.".to_owned(), position: 1 };
        live.rules.lock().unwrap().push(rule);
    }

    #[tokio::test]
    async fn rules_of_a_user_are_not_handed_to_another_one() {
        let directory = tempfile::tempdir().unwrap();
        let mut live = live(&directory).await;
        name_a_rule(&live);
        live.hand_over(config("m", Some("/ann")));
        assert_eq!(live.take_rules().len(), 1, "the same user");
        for memory in [Some("/bob"), None] {
            name_a_rule(&live);
            let background = Arc::clone(&live.rules);
            live.hand_over(config("m", memory));
            assert!(live.take_rules().is_empty() && !Arc::ptr_eq(&background, &live.rules));
        }
    }

    #[tokio::test]
    async fn what_one_caller_saw_of_its_model_does_not_apply_to_the_next_one() {
        let directory = tempfile::tempdir().unwrap();
        let mut live = live(&directory).await;
        live.reported = Some(Reported { at: (0, 0), messages: 1, prompt_tokens: 9_000 });
        live.warned_full = true;
        live.hand_over(live.config.clone());
        assert!(live.reported.is_some() && !live.warned_full);
        live.hand_over(config("other", None));
        assert!(live.reported.is_none());
    }

    #[tokio::test]
    async fn a_user_message_that_was_not_stored_starts_no_turn() {
        let directory = tempfile::tempdir().unwrap();
        let mut live = live(&directory).await;
        live.add_messages(vec![Message::user("hello")]).await.unwrap();
        assert!(live.next_call_starts_turn);
        live.hand_over(config("m", None));
        live.reload_if_interrupted().await.unwrap();
        assert!(!live.next_call_starts_turn);
        live.say(vec![Message::user("hello")]).await.unwrap();
        live.hand_over(config("m", None));
        live.reload_if_interrupted().await.unwrap();
        assert!(live.next_call_starts_turn);
    }
}
