//! A conversation in the terminal: reads a line, runs it, shows what happens.

pub mod commands;
mod completions;
mod empty_session;
mod ending;
pub mod files;
mod gauge;
mod greeting;
mod old_sessions;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use waterline_agent::expiry::Cleanup;
use waterline_agent::{
    AgentBuilder, AgentError, ApprovalReply, HandoffRunner, Outcome, Start, UserInput,
};
use waterline_config::{Assembly, Config, ModelOverrides, Overrides};
use waterline_log::{Log, Session};
use waterline_session::Level;

use crate::db;
use crate::error::describe;
use crate::mentions;
use crate::show::{kept, notice};
use crate::signals::{exit_on_signal, interrupted};
use crate::terminal::{Input, Keyboard, Known, Line, Screen, Typed};
use crate::text;
use commands::Next;
use empty_session::EmptySession;
use gauge::Gauge;

/// The file with the lines typed at the prompt.
const HISTORY: &str = "history.txt";

/// A second Ctrl-C within this time quits.
const QUIT_WITHIN: Duration = Duration::from_secs(2);

/// How running a line ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineOutcome {
    /// It is done; the next line follows.
    Done,
    /// The user stopped it. What was typed meanwhile was meant for it.
    Stopped,
    /// The conversation is over.
    Quit,
}

/// How a conversation starts.
pub struct Opening {
    /// The session to open.
    pub start: Start,
    /// The system prompt of a new session.
    pub system: Option<String>,
    /// Whether a flag names the log. The command that resumes the session then names it too.
    pub is_log_named: bool,
    /// Whether a flag trusts the project's servers.
    pub trusts_project: bool,
}

/// A conversation.
pub struct Chat {
    pub(crate) runner: HandoffRunner,
    pub(crate) log: Log,
    is_log_named: bool,
    trusts_project: bool,
    /// The current session, if this chat created it and the user has sent no message in it.
    empty_session: EmptySession,
    /// The configuration of every session opened here.
    pub(crate) assembly: Assembly,
    pub(crate) screen: Arc<Screen>,
    pub(crate) input: Input,
    known: Arc<Mutex<Known>>,
    gauge: Gauge,
    /// The model named on the command line, with its address.
    pub(crate) first_model: ModelOverrides,
}

impl Chat {
    /// Starts a conversation in an existing session or in a new one.
    pub async fn begin(
        log: Log,
        overrides: Overrides,
        config: Config,
        opening: Opening,
    ) -> Result<Self> {
        let screen = Arc::new(Screen::new());
        let first_model = overrides.model.clone();
        let (assembly, notices) = Assembly::new(config, overrides).await?;
        notices.iter().for_each(|found| screen.print_note(&notice(found)));
        let builder = assembly.builder(log.clone())?.start(opening.start).prompt(opening.system);
        let prepared = builder.prepare().await?;
        prepared.config().notices.iter().for_each(|text| screen.print_note(text));
        prepared.notices.iter().for_each(|setting| screen.print_note(&kept(setting)));
        let known = Arc::new(Mutex::new(Known::default()));
        let history = db::data_directory().ok().map(|directory| directory.join(HISTORY));
        let reader = log.clone();
        let sessions = Box::new(move || completions::sessions(&reader));
        let input = Input::new(history.as_deref(), Arc::clone(&known), sessions);
        let runner = HandoffRunner::open(
            log.clone(),
            &prepared.session.id,
            prepared.config().clone(),
            screen.clone(),
        )
        .await?;
        let empty_session = EmptySession::new(log.clone(), prepared.config().workspaces.clone());
        empty_session.set(prepared.is_new.then(|| prepared.session.id.clone()));
        let mut chat = Self {
            runner,
            log,
            is_log_named: opening.is_log_named,
            trusts_project: opening.trusts_project,
            empty_session,
            assembly,
            screen,
            input,
            known,
            gauge: Gauge::default(),
            first_model,
        };
        chat.refresh().await?;
        Ok(chat)
    }

    /// Reads and runs lines until the user quits.
    pub fn talk(&mut self, runtime: &Runtime, resumes: bool) -> Result<()> {
        self.clean_up();
        self.runner.agent.live_mut().restore();
        let empty_session = self.empty_session.clone();
        runtime.block_on(async { exit_on_signal(move || empty_session.remove()) });
        runtime.block_on(self.welcome());
        if let Err(error) = runtime.block_on(files::finish(self)) {
            self.screen.print_error(&describe(&error));
        }
        if let Err(error) = runtime.block_on(self.offer_cleanup()) {
            self.screen.print_error(&describe(&error));
        }
        if resumes && self.runner.agent.is_open()? {
            self.screen.print_note(&text!("chat-resuming"));
            self.turn(runtime, None);
        }
        let ended = self.run_lines(runtime);
        runtime.block_on(self.review_memory());
        self.farewell();
        self.empty_session.remove();
        ended
    }

    /// Removes sessions that killed chats left empty, and old workspaces and old sessions if the
    /// config says so.
    fn clean_up(&self) {
        let (log, own) = (self.log.clone(), self.session().id.clone());
        let workspaces = self.runner.agent.config().workspaces.clone();
        std::thread::spawn(move || {
            if let Err(error) = empty_session::remove_abandoned(&log, &own, &workspaces) {
                tracing::warn!(target: "waterline::cleanup", %error, "empty sessions kept");
            }
        });
        let settings = &self.assembly.config.settings.agent;
        if settings.workspace_days.is_none() && settings.session_days.is_none() {
            return;
        }
        let cleanup = Cleanup {
            log: self.log.clone(),
            own: self.session().id.clone(),
            place: self.runner.agent.config().workspaces.clone(),
            workspace_days: settings.workspace_days,
            session_days: settings.session_days,
        };
        cleanup.in_background();
    }

    fn run_lines(&mut self, runtime: &Runtime) -> Result<()> {
        let mut cancelled: Option<Instant> = None;
        loop {
            if self.run_queued(runtime) == LineOutcome::Quit {
                return Ok(());
            }
            let last_cancelled = cancelled.take();
            match self.input.read(&self.gauge.text, self.gauge.level)? {
                Line::Text(text) if text.trim().is_empty() => {}
                Line::Text(text) => {
                    if self.run_line(runtime, text.trim()) == LineOutcome::Quit {
                        return Ok(());
                    }
                }
                Line::Cancel { was_empty: true }
                    if last_cancelled.is_some_and(|at| at.elapsed() < QUIT_WITHIN) =>
                {
                    return Ok(());
                }
                Line::Cancel { .. } => {
                    cancelled = Some(Instant::now());
                    self.screen.print_note(&text!("chat-how-to-quit"));
                }
                Line::End => return Ok(()),
            }
        }
    }

    /// Runs the lines that were typed during a turn, and during the turns that these start. If the
    /// user stops one, the others are dropped.
    fn run_queued(&mut self, runtime: &Runtime) -> LineOutcome {
        let mut waiting = VecDeque::from(self.screen.take_queued());
        while let Some(text) = waiting.pop_front() {
            self.screen.print_line(&format!("» {text}"));
            let outcome = self.run_line(runtime, &text);
            if outcome != LineOutcome::Done {
                return outcome;
            }
            waiting.extend(self.screen.take_queued());
        }
        LineOutcome::Done
    }

    /// Reads the messages that another process or a command appended to the session meanwhile.
    fn sync(&mut self, runtime: &Runtime) {
        let live = self.runner.agent.live_mut();
        let synced = runtime.block_on(async {
            live.resync().await?;
            live.catch_up().await
        });
        match synced {
            Ok(false) => {}
            Ok(true) => self.screen.print_note(&text!("chat-session-changed")),
            Err(error) => self.screen.print_error(&error.to_string()),
        }
    }

    fn run_line(&mut self, runtime: &Runtime, text: &str) -> LineOutcome {
        let text = command_of(text);
        self.sync(runtime);
        let next = runtime.block_on(async {
            tokio::select! {
                next = commands::run(self, text) => Some(next),
                () = interrupted() => None,
            }
        });
        let outcome = match next {
            Some(Ok(Next::Send(text))) => {
                let (input, notices) = mentions::read(&self.runner.agent, &text);
                notices.iter().for_each(|notice| self.screen.print_note(notice));
                self.turn(runtime, Some(input))
            }
            Some(Ok(Next::Resume)) => self.turn(runtime, None),
            Some(Ok(Next::Quit)) => return LineOutcome::Quit,
            Some(Ok(Next::Prompt)) => LineOutcome::Done,
            Some(Err(error)) => {
                self.screen.print_error(&describe(&error));
                LineOutcome::Done
            }
            None => LineOutcome::Stopped,
        };
        if let Err(error) = runtime.block_on(self.refresh()) {
            self.screen.print_error(&describe(&error));
        }
        outcome
    }

    /// Runs one turn. Ctrl-C stops it, and lines that are typed meanwhile steer it.
    fn turn(&mut self, runtime: &Runtime, input: Option<UserInput>) -> LineOutcome {
        self.empty_session.set(None);
        self.screen.set_history(self.input.recent());
        let outcome = runtime.block_on(async {
            let screen = Arc::clone(&self.screen);
            tokio::select! {
                outcome = self.runner.turn(input) => Some(outcome),
                () = interrupted() => None,
                () = listen(&screen, self.input.is_terminal()) => None,
                () = screen.animate() => None,
            }
        });
        let draft = self.screen.end_turn();
        let stopped = outcome.is_none();
        let queued = if stopped { self.screen.take_queued() } else { Vec::new() };
        self.input.prefill(&returned(queued, draft));
        let failed = self.show_outcome(runtime, outcome);
        if let Err(error) = runtime.block_on(self.runner.agent.live_mut().resync()) {
            self.screen.print_error(&error.to_string());
        }
        if failed && self.runner.agent.is_open().is_ok_and(|is_open| is_open) {
            self.screen.print_note(&text!("chat-retry"));
        }
        if stopped { LineOutcome::Stopped } else { LineOutcome::Done }
    }

    /// Shows how a turn ended; without an outcome, the user stopped it. Returns whether it failed.
    fn show_outcome(
        &mut self,
        runtime: &Runtime,
        outcome: Option<Result<Outcome, AgentError>>,
    ) -> bool {
        match outcome {
            Some(Ok(outcome)) => {
                if let Some(note) = ending::note(&outcome, &self.session().id) {
                    self.screen.print_note(&note);
                }
            }
            Some(Err(AgentError::NothingToResume)) => {
                self.screen.print_note(&text!("resume-nothing"));
            }
            Some(Err(error)) => {
                self.screen.print_error(&describe(&anyhow::Error::from(error)));
                return true;
            }
            None => {
                self.screen.print_note(&text!("chat-stopped"));
                if let Err(error) = runtime.block_on(self.runner.agent.stop()) {
                    self.screen.print_error(&error.to_string());
                }
            }
        }
        false
    }

    /// Opens another session, or this one with other settings. It needs no server: the models stay
    /// as they were resolved.
    pub(crate) async fn open(&mut self, id: &str) -> Result<()> {
        let config = self.assembly.agent_config()?;
        let is_other = self.session().id != id;
        self.runner =
            HandoffRunner::open(self.log.clone(), id, config, self.screen.clone()).await?;
        if is_other {
            self.screen.forget_calls();
            let left = self.empty_session.clone();
            tokio::task::spawn_blocking(move || left.remove()).await?;
        }
        Ok(())
    }

    /// Creates or forks a session and opens it. A new session gets the policy of the current one.
    pub(crate) async fn open_new(&mut self, start: Start) -> Result<Session> {
        let mut config = self.assembly.agent_config()?;
        config.policies.config = self.session().policy.clone().or(config.policies.config);
        config.session.model = self.runner.agent.live().model().clone();
        let builder =
            AgentBuilder::new(self.log.clone(), config).role(self.assembly.overrides.role.clone());
        let user = self.session().user.clone();
        // A fork has the messages of its original; of an empty one it has none.
        let is_empty = start == Start::New || self.empty_session.id().is_some();
        let session = builder.user(user).start(start).prepare().await?.session;
        let id = session.id.clone();
        if let Err(error) = self.open(&id).await {
            let root = self.runner.agent.config().workspaces.clone();
            self.on_log(move |log, _| empty_session::remove(log, &id, root)).await?;
            return Err(error);
        }
        self.empty_session.set(is_empty.then_some(id));
        Ok(session)
    }

    /// Opens the current session again, from the log.
    pub(crate) async fn reopen(&mut self) -> Result<()> {
        let id = self.runner.agent.live().session().id.clone();
        self.open(&id).await
    }

    /// Returns the current session.
    pub(crate) fn session(&self) -> &Session {
        self.runner.agent.live().session()
    }

    /// Runs blocking work on the log, for the current session.
    pub(crate) async fn on_log<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Log, &str) -> waterline_log::Result<T> + Send + 'static,
    ) -> Result<T> {
        let id = self.session().id.clone();
        Ok(self.log.handle().run(move |log| work(log, &id)).await?)
    }

    /// Asks a yes-or-no question.
    pub(crate) fn confirm(&mut self, question: &str) -> bool {
        let prompt = format!("{question} [y/n] ");
        if !self.input.is_terminal() {
            self.screen.print_styled(&prompt);
        }
        let line = tokio::task::block_in_place(|| self.input.read(&prompt, Level::Normal));
        let Ok(Line::Text(text)) = line else { return false };
        ApprovalReply::read(&text) == Some(ApprovalReply::Allow)
    }

    /// Updates what the prompt shows and completes.
    async fn refresh(&mut self) -> Result<()> {
        let usage = self.on_log(commands::all_calls).await?;
        self.gauge = self.gauge.next(self.runner.agent.live(), &usage);
        let config = self.runner.agent.config();
        let tiers = self.runner.agent.tiers()?;
        let tools = tiers
            .iter()
            .map(|(tool, _)| (tool.name().to_owned(), tool.about().chars().take(60).collect()));
        let skills = config
            .skills
            .iter()
            .map(|skill| (skill.id.clone(), skill.description.chars().take(60).collect()));
        let roles = config.roles.iter().map(|role| (role.name.clone(), role.about.clone()));
        let names = tools.chain(skills).chain(roles).collect();
        let artifacts = self.on_log(|log, id| log.artifacts(id)).await?;
        let arguments = completions::arguments(self, &artifacts);
        let known = Known { commands: commands::list(), names, arguments };
        *self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = known;
        Ok(())
    }
}

/// Returns what goes back to the prompt after a turn: the messages that were queued for a stopped
/// turn, each on its own line, then the draft. Queued commands are dropped: they were meant for
/// after the turn.
fn returned(queued: Vec<String>, draft: String) -> String {
    let messages = queued.into_iter().filter(|text| !text.starts_with('/'));
    let texts: Vec<String> = messages.chain([draft]).filter(|text| !text.is_empty()).collect();
    texts.join("\n")
}

/// Maps words that new users type to commands: they may not know the slash yet.
fn command_of(line: &str) -> &str {
    match line {
        "exit" | "quit" => "/quit",
        "help" | "?" => "/help",
        _ => line,
    }
}

/// Handles what is typed while the agent works. Returns when the user types `/cancel`.
async fn listen(screen: &Arc<Screen>, is_terminal: bool) {
    if !is_terminal {
        // Lines from a pipe are read one at a time, each after the turn before it.
        return std::future::pending().await;
    }
    let cancel = Arc::new(Notify::new());
    let cancelled = Arc::clone(&cancel);
    let screen = Arc::clone(screen);
    let _keyboard =
        Keyboard::listen(screen.has_footer(), screen.typing(), move |typed| match typed {
            Typed::Draft(_) => screen.draft_changed(),
            Typed::Line(line) if line == "/cancel" => cancelled.notify_one(),
            Typed::Line(line) => handle_line(&screen, &line),
            // No more answers can come; the turn continues.
            Typed::End => screen.close_input(),
        });
    cancel.notified().await;
}

fn handle_line(screen: &Screen, line: &str) {
    // While a question is open, a bare word such as `exit` is the answer.
    let line = if screen.has_question() { line } else { command_of(line) };
    match line.strip_prefix("/steer ") {
        Some(text) => screen.steer(text.trim()),
        None if commands::is_command(line) => screen.queue_command(line),
        None => screen.submit(line),
    }
}

#[cfg(test)]
mod tests {
    use super::returned;

    #[test]
    fn queued_messages_return_before_the_draft() {
        let queued =
            || vec!["hello @tidy".to_owned(), "/status".to_owned(), "and short".to_owned()];
        assert_eq!(returned(queued(), "/load ".to_owned()), "hello @tidy\nand short\n/load ");
        assert_eq!(returned(queued(), String::new()), "hello @tidy\nand short");
        assert_eq!(returned(Vec::new(), "/load ".to_owned()), "/load ");
    }
}
