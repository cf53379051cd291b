//! What a person says, on its way into the session.

use serde_json::Value;
use waterline::message::{Body, Message, Part, Role};

use crate::agent::{Agent, View};
use crate::error::AgentError;
use crate::interrupted;
use crate::middleware::Hook;
use crate::outcome::{HandedOff, Waiting};
use crate::role;
use crate::run::{Next, Run};
use crate::tools::result;

/// How long the title of a session is, which is what was said first.
const TITLE: usize = 60;

/// What a call is answered with that somebody gave up, by whether it was begun.
const GIVEN_UP: &str = "[cancelled by the user; whether it took effect is not known]";
const NOT_BEGUN: &str = "[cancelled by the user before it began]";

/// What stands behind an answer that somebody stopped.
const STOPPED: &str = "[stopped by the user]";

/// Something that is said.
#[derive(Clone, Debug, Default)]
pub struct Said {
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
    pub files: Vec<Value>,
    /// The form that the answer must have, if it must have one.
    pub form: Value,
    /// Another role says it, and no person.
    pub handed: bool,
}

impl Said {
    /// Words.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

impl Agent {
    /// Takes in what is said. A question that waits is answered by it; a call that waits for something else is given up.
    pub(crate) async fn submit(&mut self, mut said: Said) -> Result<Next, AgentError> {
        self.live.settle().await?;
        self.set_form(&said).await?;
        let attached = said.parts.iter().filter_map(|part| match &part.body {
            Body::Text(text) => Some(text.clone()),
            _ => None,
        });
        let mut view = View { said: said.text.clone(), attached: attached.collect(), ..View::default() };
        if let Some(next) = self.decided(Hook::BeforeAgent, &mut Run::new(), &mut view).await? {
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
        if let Some(Waiting::Question(question)) = Waiting::of(self.state())
            && self.open_calls().iter().any(|call| call.id == question.call_id)
        {
            self.cancel_foreign().await?;
            self.answer_question(&question, &said.text, said.parts).await?;
            return Ok(Next::Tools);
        }
        self.cancel().await?;
        let mut parts = vec![Part::text(said.text.trim_end())];
        parts.extend(said.parts);
        if let Some(form) = self.form()? {
            parts.push(Part::text(form.request()));
        }
        self.live.say(vec![Message::new(Role::User, parts)]).await?;
        Ok(Next::Model)
    }

    /// A form holds for its turn: an answer to a question goes on with the one that the turn began with, and so does another role. One
    /// that no answer can have is told before anything is stored or paid for.
    async fn set_form(&mut self, said: &Said) -> Result<(), AgentError> {
        let goes_on = said.handed || matches!(Waiting::of(self.state()), Some(Waiting::Question(_)));
        if !goes_on && said.form != self.state().response_format {
            crate::format::read(&said.form)?;
            self.live.change(|session| session.state.response_format = said.form.clone()).await?;
        }
        self.form().map(drop)
    }

    /// Ends a turn that a person stopped: what came of the answer stays in the conversation, and calls are given up.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn stop(&mut self) -> Result<(), AgentError> {
        self.live.keep_heard(STOPPED).await?;
        self.cancel().await.map(drop)
    }

    /// Gives up calls that have no result: a turn that was stopped, or that waits for somebody. Says whether there were any.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn cancel(&mut self) -> Result<bool, AgentError> {
        self.live.settle().await?;
        let open = self.open_calls();
        let begun = interrupted::started(self.state());
        for call in &open {
            let text = if begun.contains(&call.id) { GIVEN_UP } else { NOT_BEGUN };
            self.live.say(vec![result(call, vec![Part::text(text)], true)]).await?;
        }
        if !self.state().pending_action.is_null() {
            self.live.change(|session| session.state.pending_action = Value::Null).await?;
        }
        self.forget_started().await?;
        Ok(!open.is_empty())
    }

    /// Notes in the state what was mentioned, and what the session is about.
    async fn note(&mut self, said: &Said) -> Result<(), AgentError> {
        let title: String = said.text.trim().lines().next().unwrap_or_default().chars().take(TITLE).collect();
        self.live
            .change(|session| {
                if session.title.is_empty() {
                    session.title = title;
                }
                let state = &mut session.state;
                state.pending_action = if matches!(Waiting::of(state), Some(Waiting::Question(_))) {
                    state.pending_action.clone()
                } else {
                    Value::Null
                };
                HandedOff::forget(state);
                interrupted::note_cut(state, false);
                if !said.handed {
                    role::forget_transfers(state);
                }
                state.mentioned_agents.clone_from(&said.mentioned);
                for tool in &said.tools {
                    if !state.allowed_tools.contains(tool) {
                        state.allowed_tools.push(tool.clone());
                    }
                }
                state.uploaded_files.extend(said.files.iter().cloned());
            })
            .await?;
        Ok(())
    }
}
