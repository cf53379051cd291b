//! A conversation in the terminal: reads a line, runs it, shows what happens.

pub mod commands;
mod completions;
mod empty_session;
mod ending;
pub mod files;
mod gauge;
mod greeting;
mod old_sessions;
mod open;
mod turn;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::runtime::Runtime;
use waterline_agent::expiry::Cleanup;
use waterline_agent::{ApprovalReply, HandoffRunner, Start};
use waterline_config::{Assembly, Config, ModelOverrides, Overrides};
use waterline_log::{Log, Session};
use waterline_session::Level;

use crate::db;
use crate::error::describe;
use crate::mentions;
use crate::show::{kept, notice, turn_notice};
use crate::signals::{exit_on_signal, interrupted};
use crate::terminal::{Input, Known, Line, Screen};
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
        let notices = prepared.config().notices.iter().map(turn_notice);
        notices.for_each(|text| screen.print_note(&text));
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
        let log = self.log.clone();
        let own = self.session().id.clone();
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

/// Maps words that new users type to commands: they may not know the slash yet.
fn command_of(line: &str) -> &str {
    match line {
        "exit" | "quit" => "/quit",
        "help" | "?" => "/help",
        _ => line,
    }
}
