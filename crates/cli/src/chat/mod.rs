//! A conversation in the terminal: reads a line, runs it, shows what happens.

pub mod commands;
mod completions;
mod earlier_calls;
mod empty_session;
mod ending;
pub mod files;
mod gauge;
mod greeting;
mod old_sessions;
mod open;
mod presence;
mod turn;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use tokio::runtime::Runtime;
use waterline_agent::expiry::Cleanup;
use waterline_agent::{ApprovalReply, HandoffRunner, WorkingDirectory};
use waterline_config::{Assembly, ModelOverrides};
use waterline_log::{Log, Session};
use waterline_sandbox::Grant;
use waterline_session::Level;

use crate::db;
use crate::error::{describe, describe_error};
use crate::mentions;
use crate::open_session::{Opening, missing_model};
use crate::show::{Granting, wrap};
use crate::signals::{exit_on_signal, interrupted};
use crate::terminal::{Input, Known, Line, Screen, forget_typed};
use crate::text;
use commands::Next;
use empty_session::EmptySession;
use gauge::Gauge;
use presence::Presence;

/// The file with the lines typed at the prompt.
const HISTORY: &str = "history.txt";

/// The columns that are left for the reply to a question.
const REPLY: usize = 10;

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

/// The reply to a yes-or-no question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Yes,
    No,
    /// Yes, here and to the next questions.
    All,
}

impl Choice {
    /// Reads a typed reply; `None` if the line is not a reply.
    fn read(text: &str, may_all: bool) -> Option<Self> {
        match ApprovalReply::read(text) {
            Some(ApprovalReply::Allow) => Some(Self::Yes),
            Some(ApprovalReply::Deny(_)) => Some(Self::No),
            Some(ApprovalReply::AllowAlways) if may_all => Some(Self::All),
            _ if text.trim().is_empty() => Some(Self::No),
            _ if may_all && is_all(text.trim()) => Some(Self::All),
            _ => None,
        }
    }
}

/// Returns whether a reply is `all`, in English or in the chosen language.
fn is_all(reply: &str) -> bool {
    reply.eq_ignore_ascii_case("all") || reply == text!("reply-all")
}

/// Flags that the command for resuming the session must repeat.
pub struct RepeatedFlags {
    /// Whether a flag names the log.
    pub is_log_named: bool,
    /// Whether a flag trusts the project's servers.
    pub trusts_project: bool,
}

/// A conversation.
pub struct Chat {
    pub(crate) runner: HandoffRunner,
    pub(crate) log: Log,
    repeats: RepeatedFlags,
    /// The current session, if this chat created it and the user has sent no message in it.
    empty_session: EmptySession,
    /// The configuration of the current session.
    pub(crate) assembly: Assembly,
    pub(crate) screen: Arc<Screen>,
    pub(crate) input: Input,
    known: Arc<Mutex<Known>>,
    gauge: Gauge,
    /// The model named on the command line, with its address.
    pub(crate) first_model: ModelOverrides,
    /// The directories and hosts that flags grant.
    first_access: (Vec<Grant>, Vec<String>),
    /// Where new sessions work.
    directory: Option<WorkingDirectory>,
    presence: Presence,
}

impl Chat {
    /// Starts a conversation in an existing session or in a new one.
    pub async fn begin(
        opening: Opening,
        system: Option<String>,
        repeats: RepeatedFlags,
    ) -> Result<Self> {
        let screen = Arc::new(Screen::new(Granting::Commands));
        let log = opening.log.clone();
        let first_model = opening.overrides.model.clone();
        let directory = opening.overrides.directory.clone();
        let first_access =
            (opening.overrides.allow_dirs.clone(), opening.overrides.allow_hosts.clone());
        let (assembly, prepared) = opening.prepare(system, |text| screen.print_note(text)).await?;
        let known = Arc::new(Mutex::new(Known::default()));
        let history = db::data_directory().ok().map(|directory| directory.join(HISTORY));
        let reader = log.clone();
        let sessions = Box::new(move || completions::sessions(&reader));
        let input = Input::new(history.as_deref(), Arc::clone(&known), sessions);
        let empty_session = EmptySession::new(log.clone(), prepared.config().workspaces.clone());
        let created = prepared.is_new.then(|| prepared.session.id.clone());
        let runner = prepared.runner(screen.clone()).await?;
        empty_session.set(created);
        let mut chat = Self {
            runner,
            log,
            repeats,
            empty_session,
            assembly,
            screen,
            input,
            known,
            gauge: Gauge::default(),
            first_model,
            first_access,
            directory,
            presence: Presence::default(),
        };
        chat.announce();
        chat.read_earlier_calls().await?;
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
        if resumes && self.runner.agent.is_open()? && self.may_resume()? {
            self.screen.print_note(&text!("chat-resuming"));
            self.turn(runtime, None);
        }
        let ended = self.run_lines(runtime);
        runtime.block_on(self.review_memory());
        self.print_resume_command();
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
        while let Some(messages) = waiting.pop_front() {
            let mut messages = messages.into_iter();
            let Some(text) = messages.next() else { continue };
            self.screen.print_line(&format!("» {text}"));
            // The others are messages of their own, sent with the first call of the turn.
            messages.for_each(|text| self.screen.steer(&text));
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
            live.reload_if_interrupted().await?;
            live.load_foreign_changes().await
        });
        match synced {
            Ok(false) => {}
            Ok(true) => self.screen.print_note(&text!("chat-session-changed")),
            Err(error) => self.screen.print_error(&describe_error(&error)),
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
                let read = mentions::read(&self.runner.agent, &text);
                read.notices.iter().for_each(|notice| self.screen.print_note(notice));
                if read.is_incomplete && !self.sends_without_file() {
                    self.input.prefill(&text);
                    return LineOutcome::Done;
                }
                self.turn(runtime, Some(read.input))
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

    /// Asks before the offline model continues a turn that another model began: its answer becomes
    /// a part of the conversation. Without a terminal that is an error.
    pub(crate) fn may_resume(&mut self) -> Result<bool> {
        let Some(model) = missing_model(&self.runner.agent, &self.assembly)? else {
            return Ok(true);
        };
        if !self.input.is_terminal() {
            bail!(text!("resume-model-missing", model = model));
        }
        let may_resume = self.confirm(&text!("resume-offline-question", model = model));
        if !may_resume {
            self.screen.print_note(&text!("resume-kept-open"));
        }
        Ok(may_resume)
    }

    /// Asks whether a message is sent without a file that cannot be attached. Without a terminal it
    /// is not.
    fn sends_without_file(&mut self) -> bool {
        if self.input.is_terminal() {
            return self.confirm(&text!("mention-send-without"));
        }
        self.screen.print_note(&text!("mention-not-sent"));
        false
    }

    /// Asks a yes-or-no question, again if the line is not an answer. Without a terminal such a
    /// line is the next message.
    pub(crate) fn confirm(&mut self, question: &str) -> bool {
        self.choose(question, false) == Choice::Yes
    }

    /// Asks a yes-or-no question. With `may_all` the reply may be about the next questions too.
    fn choose(&mut self, question: &str, may_all: bool) -> Choice {
        let question = format!("{question} {}", if may_all { "[y/n/all]" } else { "[y/n]" });
        if self.input.is_terminal() {
            forget_typed();
        } else {
            self.screen.print_line(&question);
        }
        loop {
            let Ok(Line::Text(text)) = self.read_reply(&question) else { return Choice::No };
            match Choice::read(&text, may_all) {
                Some(choice) => return choice,
                _ if self.input.is_terminal() => {
                    self.screen.print_note(&text!("chat-answer-hint"));
                }
                _ => {
                    self.screen.steer(text.trim());
                    return Choice::No;
                }
            }
        }
    }

    /// Reads a line at a question. The prompt is one row, so the rows before the last are printed.
    fn read_reply(&mut self, question: &str) -> Result<Line> {
        let mut rows = wrap(question, self.screen.columns().saturating_sub(REPLY));
        let last = rows.pop().unwrap_or_default();
        if self.input.is_terminal() {
            rows.iter().for_each(|row| self.screen.print_line(row));
        }
        let prompt = format!("{last} ");
        tokio::task::block_in_place(|| self.input.read(&prompt, Level::Normal))
    }

    /// Updates what the prompt shows and completes.
    async fn refresh(&mut self) -> Result<()> {
        let usage = self.on_log(commands::all_calls).await?;
        let agent = &self.runner.agent;
        self.gauge = Gauge::new(agent.live(), agent.context_tokens().await?, &usage);
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
