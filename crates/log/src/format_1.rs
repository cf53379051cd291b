//! Splits the session state of format 1, which kept everything in one document. Only this module
//! knows key names of the application; newer formats do not need it.

use serde_json::{Map, Value};

/// Keys that only a user of this log can grant, or that refer to calls and directories of this
/// machine.
const LOCAL: [&str; 8] = [
    "allowed_tools",
    "persistent_tools",
    "approvals",
    "started",
    "cut",
    "workspace_of",
    "hand_off",
    "roles",
];

/// A state of format 1, split into its parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Format1State {
    pub(crate) state: Map<String, Value>,
    pub(crate) local: Map<String, Value>,
    pub(crate) workspace: Option<String>,
    pub(crate) imported: u64,
    /// The tool definitions as JSON.
    pub(crate) tools: Option<String>,
}

impl Format1State {
    pub(crate) fn of(mut state: Map<String, Value>) -> Self {
        let mut local = Map::new();
        for name in LOCAL {
            local.extend(state.remove(name).map(|value| (name.to_owned(), value)));
        }
        let workspace =
            state.remove("workspace_path").and_then(|path| path.as_str().map(str::to_owned));
        let imported = state.remove("elsewhere").and_then(|count| count.as_u64()).unwrap_or(0);
        let tools = state.remove("tools").map(|tools| tools.to_string());
        Self { state, local, workspace, imported, tools }
    }
}
