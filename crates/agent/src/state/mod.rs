//! The agent state stored with a session, typed.
//!
//! The log stores it as two documents that it does not interpret. [`State`] is part of forks,
//! exports and checkpoints. [`Local`] is not: it holds what this user granted and the calls running
//! on this machine. A field that does not parse is an error that names the session and the field.
//! Unknown keys, written by a newer version, are kept.

mod buffer;
mod fields;
mod todo;
mod used_model;
mod waiting;
mod work_location;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use waterline_log::{Change, Document, Id, LogError, Session};
use waterline_session::Pinned;

use self::fields::Fields;
use crate::error::AgentError;

pub use buffer::BufferConfig;
pub use todo::{Priority, Status, Todo};
pub use used_model::UsedModel;
pub(crate) use waiting::HandedOff;
pub use waiting::{ApprovalRequest, Question, Waiting};
pub use work_location::WorkLocation;

/// The part of the state that is included in forks, exports and checkpoints.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct State {
    /// The skill in use.
    pub active_skill: Option<String>,
    /// The agents, skills and tools that the newest user message mentions.
    pub mentioned: Vec<String>,
    /// The tasks that the model tracks, in its order.
    pub todos: Vec<Todo>,
    /// Number of model calls so far.
    pub loops: u64,
    /// Maximum number of model calls.
    pub max_loops: Option<u64>,
    /// The files that were uploaded into the workspace.
    pub uploads: Vec<Upload>,
    /// Settings of an older message buffer, for imported sessions that have them.
    pub buffer_config: Option<BufferConfig>,
    /// The approval or answer that the turn waits for.
    pub pending: Option<Waiting>,
    /// The JSON schema that the answer of the running turn must match.
    pub schema: Option<Value>,
    /// The role of the session.
    pub role: Option<String>,
    /// Number of hand-offs since the last message of the user.
    pub transfers: u64,
    /// Positions of messages that folds keep verbatim.
    pub pins: Vec<u64>,
    /// The instruction files that the conversation has, by name, each with a hash of its text.
    pub instructions: BTreeMap<String, String>,
    /// The standing instructions that the conversation has.
    pub standing: Vec<String>,
    /// The model that the session prefers.
    pub model_pref: Option<String>,
    /// The id of the newest run: one turn, or one attempt to resume it.
    pub run_id: Option<String>,
    /// Unknown keys.
    pub other: Document,
}

/// A file that was uploaded into the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Upload {
    /// The path in the workspace.
    pub path: String,
    /// Where the user's copy is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Unknown keys.
    #[serde(flatten)]
    pub other: Document,
}

/// The part of the state that belongs to this user and this machine.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Local {
    /// Tools that the user allowed by mentioning them.
    pub allowed_tools: Vec<String>,
    /// Approvals that the user gave with "always".
    pub approvals: Vec<String>,
    /// Ids of calls that were started; they are never started again.
    pub started: Vec<String>,
    /// Whether the newest answer was truncated at the token limit and must be continued.
    pub is_truncated: bool,
    /// Where the agent works, as the conversation last described it; `None` before the first
    /// message.
    pub place: Option<WorkLocation>,
    /// The model that the session used last.
    pub model: Option<UsedModel>,
    /// The session whose workspace a sub-agent or a role works in.
    pub workspace_of: Option<String>,
    /// A hand-off to another role.
    pub(crate) hand_off: Option<HandedOff>,
    /// The session of each role that shares the work, by role name.
    pub roles: BTreeMap<String, String>,
    /// The message that the files match, while the session has moved and the files have not.
    pub files_at: Option<Id>,
    /// Unknown keys.
    pub other: Document,
}

impl State {
    /// Reads the state of a session.
    ///
    /// # Errors
    /// When a field does not parse.
    pub fn of(session: &Session) -> Result<Self, AgentError> {
        let mut fields = Fields::new(&session.id, session.state.clone());
        Ok(Self {
            active_skill: fields.take("active_skill")?,
            mentioned: fields.take("mentioned_agents")?,
            todos: fields.take::<Vec<Value>>("todos")?.iter().map(Todo::read).collect(),
            loops: fields.take("loops")?,
            max_loops: fields.take("max_loops")?,
            uploads: fields.take("uploaded_files")?,
            buffer_config: fields.take("buffer_config")?,
            pending: fields.take("pending_action")?,
            schema: match fields.take("schema")? {
                Some(schema) => Some(schema),
                // The former name of this key.
                None => fields.take("response_format")?,
            },
            role: fields.take("role")?,
            transfers: fields.take("transfers")?,
            pins: fields.take("pins")?,
            instructions: fields.take("instructions")?,
            standing: fields.take("standing")?,
            model_pref: fields.take("model_pref")?,
            run_id: fields.take("run_id")?,
            other: fields.rest(),
        })
    }

    /// Writes the state to a session.
    ///
    /// # Errors
    /// When a value cannot be serialized.
    pub fn put(&self, session: &mut Session) -> Result<(), AgentError> {
        let mut fields = Fields::new(&session.id, self.other.clone());
        fields.put("active_skill", &self.active_skill)?;
        fields.put("mentioned_agents", &self.mentioned)?;
        fields.put("todos", &self.todos)?;
        fields.put("loops", &self.loops)?;
        fields.put("max_loops", &self.max_loops)?;
        fields.put("uploaded_files", &self.uploads)?;
        fields.put("buffer_config", &self.buffer_config)?;
        fields.put("pending_action", &self.pending)?;
        fields.put("schema", &self.schema)?;
        fields.put("role", &self.role)?;
        fields.put("transfers", &self.transfers)?;
        fields.put("pins", &self.pins)?;
        fields.put("instructions", &self.instructions)?;
        fields.put("standing", &self.standing)?;
        fields.put("model_pref", &self.model_pref)?;
        fields.put("run_id", &self.run_id)?;
        session.state = fields.rest();
        Ok(())
    }

    /// Returns the question that the turn waits for.
    pub(crate) fn question(&self) -> Option<&Question> {
        match &self.pending {
            Some(Waiting::Question(question)) => Some(question),
            Some(Waiting::Approval(_)) | None => None,
        }
    }

    /// Returns what every fold must keep: the pending request, standing instructions, open tasks
    /// and pinned messages.
    #[must_use]
    pub fn kept(&self) -> Pinned {
        let pending = self.pending.as_ref().map(Waiting::line);
        let todos =
            self.todos.iter().filter(|todo| todo.status != Status::Completed).map(Todo::note);
        let standing = self.standing.iter().map(|text| format!("standing instruction: {text}"));
        Pinned {
            lines: pending.into_iter().chain(standing).chain(todos).collect(),
            pins: self.pins.clone(),
        }
    }
}

impl Local {
    /// Returns the directory that the session works in; `None` in a private workspace, and before
    /// the first message.
    #[must_use]
    pub fn directory(&self) -> Option<&Path> {
        self.place.as_ref()?.directory.as_deref()
    }

    /// Reads the local state of a session.
    ///
    /// # Errors
    /// When a field does not parse.
    pub fn of(session: &Session) -> Result<Self, AgentError> {
        let mut fields = Fields::new(&session.id, session.local.clone());
        Ok(Self {
            allowed_tools: fields.take("allowed_tools")?,
            approvals: fields.take("approvals")?,
            started: fields.take("started")?,
            // The stored name.
            is_truncated: fields.take("cut")?,
            // The stored name.
            place: fields.take("environment")?,
            model: fields.take("model")?,
            workspace_of: fields.take("workspace_of")?,
            hand_off: fields.take("hand_off")?,
            roles: fields.take("roles")?,
            files_at: fields.take("files_at")?,
            other: fields.rest(),
        })
    }

    /// Writes the state to a session.
    ///
    /// # Errors
    /// When a value cannot be serialized.
    pub fn put(&self, session: &mut Session) -> Result<(), AgentError> {
        let mut fields = Fields::new(&session.id, self.other.clone());
        fields.put("allowed_tools", &self.allowed_tools)?;
        fields.put("approvals", &self.approvals)?;
        fields.put("started", &self.started)?;
        fields.put("cut", &self.is_truncated)?;
        fields.put("environment", &self.place)?;
        fields.put("model", &self.model)?;
        fields.put("workspace_of", &self.workspace_of)?;
        fields.put("hand_off", &self.hand_off)?;
        fields.put("roles", &self.roles)?;
        fields.put("files_at", &self.files_at)?;
        session.local = fields.rest();
        Ok(())
    }
}

/// Changes the typed state of a session.
///
/// # Errors
/// When the stored state does not parse.
pub fn edit(
    session: &mut Session,
    change: impl FnOnce(&mut State, &mut Local),
) -> Result<(), AgentError> {
    let mut state = State::of(session)?;
    let mut local = Local::of(session)?;
    change(&mut state, &mut local);
    state.put(session)?;
    local.put(session)
}

/// Wraps a change of the typed state as a change that the log can apply.
pub(crate) fn change(change: impl Fn(&mut State, &mut Local) + Send + Sync + 'static) -> Change {
    Arc::new(move |session| {
        edit(session, &change).map_err(|error| LogError::Refused(error.to_string().into()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn session(state: Value, local: Value) -> Session {
        let document = |value: Value| value.as_object().cloned().unwrap_or_default();
        Session { state: document(state), local: document(local), ..Session::new("s") }
    }

    #[test]
    fn s0_12_to_s0_25_s4_5_to_s4_9_state_is_typed_and_unknown_keys_are_kept() {
        let state = json!({
            "active_skill": "pdf", "mentioned_agents": ["pdf"], "loops": 7, "max_loops": 100,
            "todos": [{"content": "x", "status": "in_progress", "priority": "high"}],
            "uploaded_files": [
                {"path": "uploads/a.csv", "source": "a.csv", "bytes": 3, "newer": 1},
            ],
            "buffer_config": {"window_size": 20}, "schema": {"type": "object"}, "role": "init",
            "transfers": 2,
            "pins": [3, 7], "model_pref": "vision",
            "pending_action": {
                "kind": "question", "call_id": "c1", "question": "Which?", "choices": ["a"],
            },
            "something_new": [1, 2.5, "数"],
        });
        let local = json!({
            "allowed_tools": ["fetch_url"], "approvals": ["run_bash_command ls"],
            "started": ["c1"], "cut": true,
            "workspace_of": "main", "hand_off": {"to": "build", "package": {"a": 1}, "done": false},
            "roles": {"init": "s"}, "files_at": "4f".repeat(32), "of_a_newer_program": {},
        });
        let mut session = session(state.clone(), local.clone());
        edit(&mut session, |state, local| {
            assert_eq!((state.loops, state.todos.len(), state.uploads.len()), (7, 1, 1));
            assert!(state.question().is_some_and(|question| question.question == "Which?"));
            assert!(local.is_truncated && local.hand_off.is_some());
            state.loops = 8;
        })
        .unwrap();
        let mut expected = state;
        expected["loops"] = json!(8);
        assert_eq!((Value::from(session.state), Value::from(session.local)), (expected, local));
    }

    #[test]
    fn a_parse_error_names_the_session_and_the_field() {
        for (name, wrong) in [
            ("pending_action", json!({"kind": "approval", "tool": "rm"})),
            ("loops", json!("seven")),
            ("todos", json!({"content": "x"})),
            ("pins", json!([-1])),
        ] {
            let error =
                State::of(&session(json!({name: wrong}), json!({}))).unwrap_err().to_string();
            assert!(error.contains("session s") && error.contains(name), "{error}");
        }
        for (name, wrong) in [("approvals", "all"), ("files_at", "4f")] {
            let local = Local::of(&session(json!({}), json!({name: wrong})));
            let error = local.unwrap_err().to_string();
            assert!(error.contains("session s") && error.contains(name), "{error}");
        }
    }

    /// S1.46: a pending request is kept independently of the summary.
    #[test]
    fn s1_46_open_todos_and_approvals_are_kept_and_completed_todos_are_not() {
        let state = json!({
            "todos": [
                {"content": "write the docs", "status": "in_progress"},
                {"content": "build it", "status": "completed"},
                "call the office",
            ],
            "pending_action": {
                "kind": "approval", "call_id": "c1", "tool": "run_bash_command",
                "reason": "high risk",
                "arguments": "{\"command\":\"rm -r build\"}", "may_always": true},
            "pins": [3, 7],
        });
        let kept = State::of(&session(state, json!({}))).unwrap().kept();
        assert_eq!(
            kept.lines,
            [
                r#"pending approval: run_bash_command {"command":"rm -r build"}"#,
                "task, in progress: write the docs",
                "task, pending: call the office"
            ]
        );
        assert_eq!(kept.pins, [3, 7]);
    }
}
