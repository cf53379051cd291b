//! What a person says, on its way into the session.

use std::sync::Arc;

use serde_json::Value;
use waterline::message::{Body, Message, Part, Role};
use waterline_log::Session;

use super::run_calls::result;
use super::turn_state::{Next, TurnState};
use super::{Agent, View};
use crate::error::AgentError;
use crate::middleware::Hook;
use crate::state::{Local, State, Upload};

/// How long the title of a session is, which is what was said first.
const TITLE: usize = 60;

/// What a call is answered with that somebody gave up, by whether it was begun.
const GIVEN_UP: &str = "[cancelled by the user; whether it took effect is not known]";
const NOT_BEGUN: &str = "[cancelled by the user before it began]";

/// What stands behind an answer that somebody stopped.
const STOPPED: &str = "[stopped by the user]";

/// Something that is said.
#[derive(Clone, Debug, Default)]
pub struct UserInput {
    /// The words.
    pub text: String,
    /// What goes with them: files, pictures, notes on what was mentioned.
    pub parts: Vec<Part>,
    /// Who and what was mentioned.
    pub mentioned: Vec<String>,
    /// Tools that were asked for by that.
    pub tools: Vec<String>,
    /// A skill that was; it holds for this message, and is not in use from then on.
    pub skill: Option<String>,
    /// Files that were put into the workspace with it.
    pub files: Vec<Upload>,
    /// The schema that the answer must fit, if it must fit one.
    pub schema: Option<Value>,
    /// Another role says it, and no person.
    pub handed: bool,
}

impl UserInput {
    /// Words.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

impl Agent {
    /// Takes in what is said. A question that waits is answered by it; a call that waits for
    /// something else is given up.
    pub(super) async fn submit(&mut self, mut said: UserInput) -> Result<Next, AgentError> {
        self.live.resync().await?;
        self.set_schema(&said).await?;
        let attached = said.parts.iter().filter_map(|part| match &part.body {
            Body::Text(text) => Some(text.clone()),
            _ => None,
        });
        let mut view =
            View { said: said.text.clone(), attached: attached.collect(), ..View::default() };
        if let Some(next) =
            self.decided(Hook::BeforeAgent, &mut TurnState::new(), &mut view).await?
        {
            return Ok(next);
        }
        said.text = view.said;
        let texts = said.parts.iter_mut().filter_map(|part| match &mut part.body {
            Body::Text(text) => Some(text),
            _ => None,
        });
        texts.zip(view.attached).for_each(|(text, changed)| *text = changed);
        self.note(&said).await?;
        self.begin().await?;
        let state = self.state()?;
        if let Some(question) = state.question()
            && self.open_calls().iter().any(|call| call.id == question.call_id)
        {
            self.cancel_foreign().await?;
            self.answer_question(question, &said.text, said.parts).await?;
            return Ok(Next::Tools);
        }
        self.give_up().await?;
        let mut parts = vec![Part::text(said.text.trim_end())];
        parts.extend(said.parts);
        if let Some(schema) = self.schema()? {
            parts.push(Part::text(schema.request()));
        }
        // Stored with what the first call of the turn sends, before it is sent.
        self.live.stage(vec![Message::new(Role::User, parts)]).await?;
        Ok(Next::Model)
    }

    /// A schema holds for its turn: an answer to a question goes on with the one that the turn
    /// began with, and so does another role. One that no answer can fit is refused before anything
    /// is stored or paid for.
    async fn set_schema(&mut self, said: &UserInput) -> Result<(), AgentError> {
        let state = self.state()?;
        let goes_on = said.handed || state.question().is_some();
        if !goes_on && said.schema != state.schema {
            said.schema.as_ref().map(crate::schema::read).transpose()?;
            let schema = said.schema.clone();
            self.stage(move |state, _| state.schema.clone_from(&schema)).await?;
        }
        self.schema().map(drop)
    }

    /// Ends a turn that a person stopped: what came of the answer stays in the conversation, and
    /// calls are given up.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn stop(&mut self) -> Result<(), AgentError> {
        self.live.keep_partial(STOPPED).await?;
        self.cancel().await.map(drop)
    }

    /// Gives up calls that have no result: a turn that was stopped, or that waits for somebody.
    /// Says whether there were any.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn cancel(&mut self) -> Result<bool, AgentError> {
        self.live.resync().await?;
        let was_open = self.give_up().await?;
        self.commit().await?;
        Ok(was_open)
    }

    /// Answers open calls as cancelled; it is stored with the next write.
    async fn give_up(&mut self) -> Result<bool, AgentError> {
        let open = self.open_calls();
        let (state, local) = (self.state()?, self.local()?);
        let results = open.iter().map(|call| {
            let text = if local.started.contains(&call.id) { GIVEN_UP } else { NOT_BEGUN };
            result(call, vec![Part::text(text)], true)
        });
        self.live.stage(results.collect()).await?;
        if state.pending.is_some() || !local.started.is_empty() {
            let settle = |state: &mut State, local: &mut Local| {
                state.pending = None;
                local.started.clear();
            };
            self.stage(settle).await?;
        }
        Ok(!open.is_empty())
    }

    /// Notes in the state what was mentioned, and what the session is about. It is stored with what
    /// is said.
    async fn note(&mut self, said: &UserInput) -> Result<(), AgentError> {
        let title: String =
            said.text.trim().lines().next().unwrap_or_default().chars().take(TITLE).collect();
        let name = move |session: &mut Session| {
            if session.title.is_empty() {
                session.title.clone_from(&title);
            }
            Ok(())
        };
        self.live.stage_change(Arc::new(name)).await?;
        let said = said.clone();
        let note = move |state: &mut State, local: &mut Local| {
            if state.question().is_none() {
                state.pending = None;
            }
            local.hand_off = None;
            local.is_cut = false;
            if !said.handed {
                state.transfers = 0;
            }
            state.mentioned.clone_from(&said.mentioned);
            for tool in &said.tools {
                if !local.allowed_tools.contains(tool) {
                    local.allowed_tools.push(tool.clone());
                }
            }
            state.uploads.extend(said.files.iter().cloned());
        };
        self.stage(note).await
    }
}
