//! What a session carries beside its messages: every field that the agents it was made for keep. The log stores it and
//! does not look into it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The state of a session. A field that is empty takes no room, and one that is not known here is kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// Pictures waiting to be sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Value>,
    /// The skill that is active.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_skill: Option<String>,
    /// The tools that may be used now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_tools: Vec<String>,
    /// The tools that stay for the whole session.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub persistent_tools: Vec<String>,
    /// The agents, skills and tools that were mentioned.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mentioned_agents: Vec<String>,
    /// What is to be done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub todos: Vec<Value>,
    /// How many loops were made.
    #[serde(skip_serializing_if = "is_zero")]
    pub loops: u64,
    /// How many may be made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_loops: Option<u64>,
    /// The kind of model that is preferred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_pref: Option<String>,
    /// The workspace; its files are not kept here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_path: Option<String>,
    /// The files that were uploaded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uploaded_files: Vec<Value>,
    /// Settings of an older buffer, kept for those who have them.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub buffer_config: Value,
    /// Intermediate steps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scratchpad: Vec<Value>,
    /// An action that waits for somebody's word.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub pending_action: Value,
    /// The form that answers must have.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub response_format: Value,
    /// Names of callbacks; the code itself is found again by them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub callbacks: Vec<String>,
    /// Middlewares with their settings; the chain is made anew from them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub middlewares: Vec<Value>,
    /// Whether a checkpoint is made after each step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_checkpoint: Option<bool>,
    /// The run that is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// The tool definitions that go with the messages, as they came.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Value>,
    /// Whatever else somebody keeps.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// What an agent keeps in a state that only the user of this log can grant, or that is about folders and processes of this machine:
/// the names it stands under. No session that comes from elsewhere brings any of it.
pub mod kept {
    /// What was agreed to once and for all.
    pub const APPROVALS: &str = "approvals";
    /// Calls that were begun.
    pub const STARTED: &str = "started";
    /// That the newest answer was cut and is to be gone on with.
    pub const CUT: &str = "cut";
    /// Whose workspace a sub-agent or a role works in.
    pub const WORKSPACE_OF: &str = "workspace_of";
    /// Work that was handed over.
    pub const HAND_OFF: &str = "hand_off";
    /// The sessions of the roles that share the work.
    pub const ROLES: &str = "roles";

    pub(super) const ALL: [&str; 6] = [APPROVALS, STARTED, CUT, WORKSPACE_OF, HAND_OFF, ROLES];
}

/// Where the state says how many of the first messages came from a file.
const ELSEWHERE: &str = "elsewhere";

impl State {
    /// The state of a session that comes from a file, with so many messages: without anything that the user of this log did not
    /// grant.
    pub(crate) fn of_elsewhere(mut self, messages: u64) -> Self {
        self.workspace_path = None;
        self.without_consent();
        match messages {
            0 => drop(self.other.remove(ELSEWHERE)),
            _ => drop(self.other.insert(ELSEWHERE.to_owned(), Value::from(messages))),
        }
        self
    }

    /// The state of a fork: consent and calls under way are its parent's.
    pub(crate) fn of_fork(mut self) -> Self {
        self.pending_action = Value::Null;
        self.without_consent();
        self
    }

    /// Takes out what somebody agreed to in the session that this was the state of.
    fn without_consent(&mut self) {
        self.allowed_tools.clear();
        self.persistent_tools.clear();
        kept::ALL.iter().for_each(|name| drop(self.other.remove(*name)));
    }

    /// Notes that the first so many messages of the session came from a file: what they ask for was never asked of the user of
    /// this log.
    pub fn note_elsewhere(&mut self, messages: u64) {
        if messages > self.elsewhere() {
            self.other.insert(ELSEWHERE.to_owned(), Value::from(messages));
        }
    }

    /// How many of the first messages came from a file.
    #[must_use]
    pub fn elsewhere(&self) -> u64 {
        self.other.get(ELSEWHERE).and_then(Value::as_u64).unwrap_or(0)
    }

    /// The state as it is stored. What somebody else keeps under the name of a field of ours does not stand there twice.
    pub(crate) fn json(&self) -> String {
        let own = Self { other: Map::new(), ..self.clone() };
        let mut fields = match serde_json::to_value(own) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        for (name, value) in &self.other {
            fields.entry(name.clone()).or_insert_with(|| value.clone());
        }
        Value::Object(fields).to_string()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}
