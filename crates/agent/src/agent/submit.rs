//! The start of a turn: adds the user's input to the session.

use std::sync::Arc;

use serde_json::Value;
use waterline::message::{Body, Message, Part, Role};
use waterline_log::Session;

use super::clock;
use super::results::result_message;
use super::run_state::{Next, RunState};
use super::{Agent, HookData};
use crate::environment;
use crate::error::AgentError;
use crate::event::Event;
use crate::instructions;
use crate::middleware::Hook;
use crate::notice::Notice;
use crate::state::{Local, State, Upload, UsedModel, WorkLocation};

/// Maximum length of a session title, which is taken from the first message.
const TITLE_CHARS: usize = 60;

/// The result of a cancelled call that had been started.
const CANCELLED: &str =
    "[cancelled by the user while it was running; its effect is unknown. Verify before retrying.]";

/// The result of a cancelled call that had not been started.
const CANCELLED_BEFORE_START: &str = "[cancelled by the user before it started]";

/// The text appended to a partial answer that the user stopped.
const STOPPED: &str = "[stopped by the user]";

/// The user's input to a turn.
#[derive(Clone, Debug, Default)]
pub struct UserInput {
    /// What the user wrote, without attachments.
    pub text: String,
    /// Attachments: files, images, notes on mentions.
    pub parts: Vec<Part>,
    /// The tools, skills and roles that the text mentions.
    pub mentioned: Vec<String>,
    /// Tools that are allowed because they are mentioned.
    pub tools: Vec<String>,
    /// The mentioned skill. It applies to this message only.
    pub skill: Option<String>,
    /// Files that were copied into the workspace.
    pub files: Vec<Upload>,
    /// The JSON schema of the answer, if one is required.
    pub schema: Option<Value>,
    /// Whether the input comes from another role instead of the user.
    pub handed: bool,
}

impl UserInput {
    /// Returns an input that is only text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

impl From<&str> for UserInput {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for UserInput {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl Agent {
    /// Adds the user's input to the session. It answers a pending question; otherwise open calls
    /// are cancelled and the input is a new message.
    pub(super) async fn submit(&mut self, mut input: UserInput) -> Result<Next, AgentError> {
        self.live.reload_if_interrupted().await?;
        self.set_schema(&input).await?;
        if let Some(next) = self.run_input_hooks(&mut input).await? {
            return Ok(next);
        }
        self.record_input(&input).await?;
        self.record_model().await?;
        self.add_system_prompt().await?;
        let state = self.state()?;
        if let Some(question) = state.question()
            && self.open_tool_calls().iter().any(|call| call.id == question.call_id)
        {
            self.cancel_imported_tool_calls().await?;
            self.answer_question(question, &input.text, input.parts).await?;
            return Ok(Next::Tools);
        }
        self.cancel_open_calls().await?;
        let standing = self.standing_note(&input).await?;
        let place = self.place_note().await?;
        let changed = self.changed_instructions().await?;
        let is_pinned = changed.is_some();
        let typed = Some(input.text.trim_end().to_owned());
        let texts: Vec<String> = [typed, place, standing, changed].into_iter().flatten().collect();
        let mut parts = vec![Part::text(texts.join(environment::SEPARATOR))];
        parts.extend(input.parts);
        if let Some(schema) = self.answer_schema()? {
            parts.push(Part::text(schema.request()));
        }
        // Stored in one transaction with the first request of the turn, before it is sent.
        self.live.add_messages(vec![Message::new(Role::User, parts)]).await?;
        if is_pinned {
            let position = self.live.cleared() + self.live.history().len() as u64;
            self.change_state(move |state, _| state.pins.push(position)).await?;
        }
        Ok(Next::Model)
    }

    /// Returns the note for the new message on where the agent works, if the model does not see it
    /// yet, or no longer because a fold dropped it; otherwise the time, if the conversation paused.
    async fn place_note(&mut self) -> Result<Option<String>, AgentError> {
        let description = environment::describe(&self.workspace);
        let is_first = self.live.history().latest_user().is_none();
        let known = self.local_state()?.place;
        let is_known = known.is_some_and(|place| place.description == description);
        if !is_first && is_known && self.shows_place(&description) {
            return self.time().await;
        }
        let time = Some(self.live.log().now()).filter(|_| self.config.clock);
        let note = environment::note(&description, time.and_then(clock::shown).as_deref());
        let working = self.workspace.working_directory();
        let directory = (working != self.workspace.path()).then(|| working.to_owned());
        let place = WorkLocation::new(description, directory);
        self.change_state(move |_, local| local.place = Some(place.clone())).await?;
        Ok(Some(note))
    }

    /// Returns whether the context, or what will be added to it, says where the agent works.
    fn shows_place(&self, description: &str) -> bool {
        let history = self.live.history();
        let generation = self.live.generation();
        let unsent = (generation.covered()..history.len()).filter_map(|at| history.message(at));
        let mut shown = generation.context(history).chain(unsent);
        shown.any(|message| {
            message.role == Role::User
                && message.texts().any(|text| environment::is_noted(text, description))
        })
    }

    /// Returns a note on instruction files that changed since the session read them. What was sent
    /// before stays as it was.
    async fn changed_instructions(&mut self) -> Result<Option<String>, AgentError> {
        let (files, notices) = self.read_instructions().await?;
        let known = self.state()?.instructions;
        let note = instructions::changes(&known, &files, self.live.window());
        if note.is_some() {
            let names = instructions::changed_names(&known, &files);
            self.emit(&Event::Notice(Notice::InstructionsChanged(names)));
            notices.into_iter().for_each(|notice| self.emit(&Event::Notice(notice)));
            self.report_truncated(&files);
            let hashes = instructions::hashes(&files);
            self.change_state(move |state, _| state.instructions.clone_from(&hashes)).await?;
        }
        Ok(note)
    }

    /// Returns the time for the new message if the conversation paused before it. It is stored with
    /// the message, so what was sent before stays as it was.
    async fn time(&self) -> Result<Option<String>, AgentError> {
        let tip = self.live.session().tip;
        if !self.config.clock || tip.position() == 0 {
            return Ok(None);
        }
        let newest = tip.position() - 1..tip.position();
        let log = self.live.log();
        let entries = log.handle().run(move |log| log.entries_in(tip, newest)).await?;
        Ok(entries.last().and_then(|entry| clock::line(entry.time, log.now())))
    }

    /// Runs the `before_agent` hooks, which may change the texts of the input.
    async fn run_input_hooks(&mut self, input: &mut UserInput) -> Result<Option<Next>, AgentError> {
        let attached = input.parts.iter().filter_map(|part| match &part.body {
            Body::Text(text) => Some(text.clone()),
            _ => None,
        });
        let mut data = HookData {
            input: input.text.clone(),
            attached: attached.collect(),
            ..HookData::default()
        };
        let next = self
            .run_hooks(Hook::BeforeAgent, &mut RunState::new(String::new(), true), &mut data)
            .await?;
        if next.is_none() {
            input.text = data.input;
            let texts = input.parts.iter_mut().filter_map(|part| match &mut part.body {
                Body::Text(text) => Some(text),
                _ => None,
            });
            texts.zip(data.attached).for_each(|(text, changed)| *text = changed);
        }
        Ok(next)
    }

    /// Sets the schema of the turn. The answer to a question and the input of another role keep the
    /// schema that the turn started with. An invalid schema is rejected before anything is stored
    /// or paid for.
    async fn set_schema(&mut self, input: &UserInput) -> Result<(), AgentError> {
        let state = self.state()?;
        let continues_turn = input.handed || state.question().is_some();
        if !continues_turn && input.schema != state.schema {
            input.schema.as_ref().map(crate::schema::read).transpose()?;
            let schema = input.schema.clone();
            self.change_state(move |state, _| state.schema.clone_from(&schema)).await?;
        }
        self.answer_schema().map(drop)
    }

    /// Ends a turn that the user stopped: the partial answer stays in the conversation, and open
    /// calls are cancelled.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn stop(&mut self) -> Result<(), AgentError> {
        self.record_cancelled().await?;
        self.live.keep_partial(STOPPED).await?;
        self.cancel().await.map(drop)
    }

    /// Cancels calls that have no result: those of a stopped turn, or of a turn that waits for the
    /// user. Returns whether there were any.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn cancel(&mut self) -> Result<bool, AgentError> {
        self.live.reload_if_interrupted().await?;
        let was_open = self.cancel_open_calls().await?;
        self.commit().await?;
        Ok(was_open)
    }

    /// Adds a cancelled result for every open call; it is stored with the next write.
    async fn cancel_open_calls(&mut self) -> Result<bool, AgentError> {
        let open = self.open_tool_calls();
        let state = self.state()?;
        let local = self.local_state()?;
        let results = open.iter().map(|call| {
            let was_started = local.started.contains(&call.id);
            let text = if was_started { CANCELLED } else { CANCELLED_BEFORE_START };
            result_message(call, vec![Part::text(text)], true)
        });
        self.live.add_messages(results.collect()).await?;
        if state.pending.is_some() || !local.started.is_empty() {
            let clear = |state: &mut State, local: &mut Local| {
                state.pending = None;
                local.started.clear();
            };
            self.change_state(clear).await?;
        }
        Ok(!open.is_empty())
    }

    /// Records which model answers, with the address that the user gave for it.
    pub(super) async fn record_model(&mut self) -> Result<(), AgentError> {
        let target = &self.live.config().model;
        let address = target.model.address();
        let base_url = self.config.given_address.clone().filter(|given| given == address);
        let wire = base_url.as_ref().map(|_| target.model.wire().to_string());
        let model = UsedModel { base_url, wire, ..UsedModel::named(&target.name) };
        if self.local_state()?.model.as_ref() == Some(&model) {
            return Ok(());
        }
        self.change_state(move |_, local| local.model = Some(model.clone())).await
    }

    /// Adds the parts of the input that belong to the session's state, and the title of a new
    /// session. They are stored together with the message.
    async fn record_input(&mut self, input: &UserInput) -> Result<(), AgentError> {
        let first_line = input.text.trim().lines().next().unwrap_or_default();
        let title: String = first_line.chars().take(TITLE_CHARS).collect();
        let set_title = move |session: &mut Session| {
            if session.title.is_empty() {
                session.title.clone_from(&title);
            }
            Ok(())
        };
        self.live.add_change(Arc::new(set_title)).await?;
        let input = input.clone();
        let record = move |state: &mut State, local: &mut Local| {
            if state.question().is_none() {
                state.pending = None;
            }
            local.hand_off = None;
            local.is_truncated = false;
            if !input.handed {
                state.transfers = 0;
            }
            state.mentioned.clone_from(&input.mentioned);
            for tool in &input.tools {
                if !local.allowed_tools.contains(tool) {
                    local.allowed_tools.push(tool.clone());
                }
            }
            state.uploads.extend(input.files.iter().cloned());
        };
        self.change_state(record).await
    }
}
