//! A conversation in the terminal: read a line, carry it out, show what happens.

pub mod commands;
mod ending;
mod gauge;
mod greeting;
mod words;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use waterline_agent::expiry::Cleanup;
use waterline_agent::{AgentBuilder, AgentError, HandoffRunner, Outcome, Start, UserInput};
use waterline_config::{Assembly, Config, DEFAULT_WORKSPACE_DAYS, ModelOverrides, Overrides};
use waterline_log::{Log, Session};
use waterline_session::Level;

use crate::db;
use crate::hint::with_hint;
use crate::lang::say;
use crate::mentions;
use crate::show::{kept, notice};
use crate::signals::{end_when_told, interrupted};
use crate::terminal::{Input, Keyboard, Known, Line, Screen, Typed};
use commands::Then;
use gauge::Gauge;

/// The file of what was written at the prompt.
const HISTORY: &str = "history.txt";

/// Somebody who presses Ctrl-C again within this time wants to leave.
const TWICE: Duration = Duration::from_secs(2);

/// How a line ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// The next one comes.
    Next,
    /// Somebody stopped it: what was typed meanwhile was meant for it.
    Stopped,
    /// It was the last one.
    Quit,
}

/// How a conversation begins.
pub struct Opening {
    /// The session it is held in.
    pub start: Start,
    /// The system prompt of a new session.
    pub system: Option<String>,
    /// Whether a flag names the log: how to come back names it again.
    pub is_log_named: bool,
}

/// A conversation.
pub struct Chat {
    pub(crate) relay: HandoffRunner,
    pub(crate) log: Log,
    /// Whether a flag named the log.
    is_log_named: bool,
    /// What every session here is made with.
    pub(crate) assembly: Assembly,
    pub(crate) screen: Arc<Screen>,
    pub(crate) input: Input,
    known: Arc<Mutex<Known>>,
    gauge: Gauge,
    /// The model that was named when the program began, with its address.
    pub(crate) first_model: ModelOverrides,
}

impl Chat {
    /// Begins a conversation, in a session or in a new one.
    pub async fn begin(
        log: Log,
        overrides: Overrides,
        config: Config,
        opening: Opening,
    ) -> Result<Self> {
        let screen = Arc::new(Screen::new());
        let first_model = overrides.model.clone();
        let (assembly, notices) = Assembly::new(config, overrides).await?;
        notices.iter().for_each(|told| screen.note(&notice(told)));
        let builder = assembly.builder(log.clone())?.start(opening.start).prompt(opening.system);
        let prepared = builder.prepare().await?;
        prepared.config().notices.iter().for_each(|text| screen.note(text));
        prepared.kept.iter().for_each(|told| screen.note(&kept(told)));
        let known = Arc::new(Mutex::new(Known::default()));
        let history = db::data_folder().ok().map(|folder| folder.join(HISTORY));
        let reader = log.clone();
        let sessions = Box::new(move || words::sessions(&reader));
        let input = Input::new(history.as_deref(), Arc::clone(&known), sessions);
        let relay = HandoffRunner::open(
            log.clone(),
            &prepared.session.id,
            prepared.config().clone(),
            screen.clone(),
        )
        .await?;
        let (is_log_named, gauge) = (opening.is_log_named, Gauge::default());
        let mut chat =
            Self { relay, log, is_log_named, assembly, screen, input, known, gauge, first_model };
        chat.refresh().await?;
        Ok(chat)
    }

    /// Reads and carries out lines until somebody ends.
    pub fn talk(&mut self, runtime: &Runtime, resumes: bool) -> Result<()> {
        self.clean_up();
        runtime.block_on(async { end_when_told() });
        runtime.block_on(self.welcome());
        if resumes && self.relay.agent.is_open()? {
            self.screen.note(say("going on where it was broken off", "从中断处继续"));
            self.turn(runtime, None);
        }
        self.converse(runtime)?;
        self.farewell();
        Ok(())
    }

    /// Removes old workspaces, and old sessions where the config says so.
    fn clean_up(&self) {
        let settings = &self.assembly.config.settings.agent;
        let cleanup = Cleanup {
            log: self.log.clone(),
            own: self.session().id.clone(),
            place: self.relay.agent.config().workspaces.clone(),
            workspace_days: settings.workspace_days.unwrap_or(DEFAULT_WORKSPACE_DAYS),
            session_days: settings.session_days,
        };
        cleanup.in_background();
    }

    fn converse(&mut self, runtime: &Runtime) -> Result<()> {
        let mut cancelled: Option<Instant> = None;
        loop {
            if self.catch_up(runtime) == After::Quit {
                return Ok(());
            }
            let before = cancelled.take();
            match self.input.read(&self.gauge.text, self.gauge.level)? {
                Line::Text(text) if text.trim().is_empty() => {}
                Line::Text(text) => {
                    if self.carry_out(runtime, text.trim()) == After::Quit {
                        return Ok(());
                    }
                }
                Line::Cancel { was_empty: true }
                    if before.is_some_and(|before| before.elapsed() < TWICE) =>
                {
                    return Ok(());
                }
                Line::Cancel { .. } => {
                    cancelled = Some(Instant::now());
                    self.screen.note(say(
                        "Ctrl-C once more, Ctrl-D or /quit ends",
                        "再按一次 Ctrl-C、Ctrl-D 或 /quit 退出",
                    ));
                }
                Line::End => return Ok(()),
            }
        }
    }

    /// Carries out what was typed during a turn, and during the turns that come of that. Whoever
    /// stops one wants none of the others.
    fn catch_up(&mut self, runtime: &Runtime) -> After {
        let mut waiting = VecDeque::from(self.screen.left_over());
        while let Some(text) = waiting.pop_front() {
            self.screen.say(&format!("» {text}"));
            let after = self.carry_out(runtime, &text);
            if after != After::Next {
                return after;
            }
            waiting.extend(self.screen.left_over());
        }
        After::Next
    }

    /// Another window, or a command, may have gone on with the session: what is done next is done
    /// on top of that.
    fn take_up(&mut self, runtime: &Runtime) {
        let live = self.relay.agent.live_mut();
        let taken = runtime.block_on(async {
            live.resync().await?;
            live.catch_up().await
        });
        match taken {
            Ok(false) => {}
            Ok(true) => self.screen.note(say(
                "another process went on with this session; what is new is taken up",
                "另一个进程继续了此会话；已读入新的内容",
            )),
            Err(error) => self.screen.complain(&error.to_string()),
        }
    }

    /// Carries out one line.
    fn carry_out(&mut self, runtime: &Runtime, text: &str) -> After {
        let text = command_of(text);
        self.take_up(runtime);
        let done = runtime.block_on(async {
            tokio::select! {
                done = commands::run(self, text) => Some(done),
                () = interrupted() => None,
            }
        });
        let after = match done {
            Some(Ok(Then::Say(text))) => {
                let (said, notices) = mentions::read(&self.relay.agent, &text);
                notices.iter().for_each(|notice| self.screen.note(notice));
                self.turn(runtime, Some(said))
            }
            Some(Ok(Then::GoOn)) => self.turn(runtime, None),
            Some(Ok(Then::Quit)) => return After::Quit,
            Some(Ok(Then::Stay)) => After::Next,
            Some(Err(error)) => {
                self.screen.complain(&with_hint(&error));
                After::Next
            }
            None => After::Stopped,
        };
        if let Err(error) = runtime.block_on(self.refresh()) {
            self.screen.complain(&with_hint(&error));
        }
        after
    }

    /// One turn, which Ctrl-C ends and typed lines steer.
    fn turn(&mut self, runtime: &Runtime, said: Option<UserInput>) -> After {
        self.screen.recall(self.input.recent());
        let outcome = runtime.block_on(async {
            let screen = Arc::clone(&self.screen);
            tokio::select! {
                outcome = self.relay.turn(said) => Some(outcome),
                () = interrupted() => None,
                () = listen(&screen, self.input.is_terminal()) => None,
                () = screen.live() => None,
            }
        });
        let begun = self.screen.settle();
        self.input.go_on_with(&begun);
        let stopped = outcome.is_none();
        let failed = self.tell_end(runtime, outcome);
        if let Err(error) = runtime.block_on(self.relay.agent.live_mut().resync()) {
            self.screen.complain(&error.to_string());
        }
        if failed && self.relay.agent.is_open().is_ok_and(|is_open| is_open) {
            self.screen.note(say("/resume tries again", "/resume 可重试"));
        }
        if stopped { After::Stopped } else { After::Next }
    }

    /// Says how a turn ended; none where somebody stopped it. Gives whether it failed.
    fn tell_end(
        &mut self,
        runtime: &Runtime,
        outcome: Option<Result<Outcome, AgentError>>,
    ) -> bool {
        match outcome {
            Some(Ok(outcome)) => {
                if let Some(text) = ending::words(&outcome, &self.session().id) {
                    self.screen.note(&text);
                }
            }
            Some(Err(AgentError::Finished)) => {
                self.screen.note(say("there is nothing to go on with", "没有可以继续的内容"));
            }
            Some(Err(error)) => {
                self.screen.complain(&with_hint(&anyhow::Error::from(error)));
                return true;
            }
            None => {
                // What was typed meanwhile was meant for the turn that is stopped: words go back to
                // the prompt, commands are left.
                let words =
                    self.screen.left_over().into_iter().filter(|text| !text.starts_with('/'));
                self.input.go_on_with(&words.collect::<Vec<_>>().join("\n"));
                self.screen.note(say(
                    "stopped; what was said and done is kept",
                    "已停止；已说的和已做的都保留",
                ));
                if let Err(error) = runtime.block_on(self.relay.agent.stop()) {
                    self.screen.complain(&error.to_string());
                }
            }
        }
        false
    }

    /// Opens another session, or this one with other settings.
    pub(crate) async fn open(&mut self, id: &str) -> Result<()> {
        self.assembly.reload_models().await?;
        let config = self.assembly.agent_config()?;
        let is_other = self.session().id != id;
        self.relay = HandoffRunner::open(self.log.clone(), id, config, self.screen.clone()).await?;
        if is_other {
            self.screen.forget_calls();
        }
        Ok(())
    }

    /// Creates a session, or forks one, and opens it. A new session takes over the policy of this
    /// one.
    pub(crate) async fn open_new(&mut self, start: Start) -> Result<Session> {
        let mut config = self.assembly.agent_config()?;
        config.policies.config = self.session().policy.clone().or(config.policies.config);
        config.session.model = self.relay.agent.live().model().clone();
        let builder =
            AgentBuilder::new(self.log.clone(), config).role(self.assembly.overrides.role.clone());
        let session = builder.start(start).prepare().await?.session;
        self.open(&session.id).await?;
        Ok(session)
    }

    /// The same session, read anew from the log.
    pub(crate) async fn reopen(&mut self) -> Result<()> {
        let id = self.relay.agent.live().session().id.clone();
        self.open(&id).await
    }

    /// The session that is talked in.
    pub(crate) fn session(&self) -> &Session {
        self.relay.agent.live().session()
    }

    /// Work on the log about this session.
    pub(crate) async fn on_log<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Log, &str) -> waterline_log::Result<T> + Send + 'static,
    ) -> Result<T> {
        let id = self.session().id.clone();
        Ok(self.log.handle().run(move |log| work(log, &id)).await?)
    }

    /// Asks something that is answered with yes or no.
    pub(crate) fn agrees(&mut self, question: &str) -> bool {
        let asked = format!("{question} [y/n] ");
        if !self.input.is_terminal() {
            self.screen.show(&asked);
        }
        let line = tokio::task::block_in_place(|| self.input.read(&asked, Level::Normal));
        matches!(line, Ok(Line::Text(text)) if waterline_agent::ApprovalReply::read(&text) == Some(waterline_agent::ApprovalReply::Allow))
    }

    /// What is shown and completed at the prompt is what is true now.
    async fn refresh(&mut self) -> Result<()> {
        let usage = self.on_log(commands::all_calls).await?;
        self.gauge = gauge::of(self.relay.agent.live(), &usage);
        let config = self.relay.agent.config();
        let tiers = self.relay.agent.tiers()?;
        let tools = tiers
            .iter()
            .map(|(tool, _)| (tool.name().to_owned(), tool.about().chars().take(60).collect()));
        let skills = config
            .skills
            .iter()
            .map(|skill| (skill.id.clone(), skill.description.chars().take(60).collect()));
        let roles = config.roles.iter().map(|role| (role.name.clone(), role.about.clone()));
        let names = tools.chain(skills).chain(roles).collect();
        let known = Known { commands: commands::list(), names, arguments: words::arguments(self) };
        *self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = known;
        Ok(())
    }
}

/// Words that people type who do not know yet that commands begin with a slash.
fn command_of(line: &str) -> &str {
    match line {
        "exit" | "quit" => "/quit",
        "help" | "?" => "/help",
        _ => line,
    }
}

/// Hears what is typed while the agent works; ends when that is `/cancel`.
async fn listen(screen: &Arc<Screen>, is_terminal: bool) {
    if !is_terminal {
        // Lines that come from elsewhere are read one at a time, each after the turn before it.
        return std::future::pending().await;
    }
    let cancel = Arc::new(Notify::new());
    let (screen, cancelled) = (Arc::clone(screen), Arc::clone(&cancel));
    let _keyboard =
        Keyboard::listen(screen.has_footer(), screen.line_typed(), move |typed| match typed {
            Typed::Begun(_) => screen.typing(),
            Typed::Line(line) if line == "/cancel" => cancelled.notify_one(),
            Typed::Line(line) => hear_line(&screen, &line),
            // Nobody answers any more, and the turn goes on.
            Typed::End => screen.hang_up(),
        });
    cancel.notified().await;
}

fn hear_line(screen: &Screen, line: &str) {
    // Where somebody is asked, a bare word is the answer.
    let line = if screen.asks() { line } else { command_of(line) };
    match line.strip_prefix("/steer ") {
        Some(words) => screen.steer(words.trim()),
        None if commands::is_command(line) => screen.later(line),
        None => screen.typed(line),
    }
}
