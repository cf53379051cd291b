//! The tools there are, in an order that never changes. A tool is *discovered* (somebody offers
//! it), *enabled* (the user's config lets it be used) and *visible* (the model was told of it when
//! the session began). What is enabled later, or mentioned by the user, is reached through
//! `call_tool`, so that the list stays as it was sent first and the provider's cache holds.

use std::sync::Arc;

use globset::Glob;
use waterline_provider::wire;

use super::Callable;
use super::ask_human::AskHuman;
use super::call_subagent::CallSubagent;
use super::call_tool::CallTool;
use super::compact_context::CompactContext;
use super::edit_file::EditFile;
use super::fetch_url::FetchUrl;
use super::find_files::FindFiles;
use super::hand_off::HandOff;
use super::list_files::ListFiles;
use super::now::Now;
use super::read_artifact::ReadArtifact;
use super::read_file::ReadFile;
use super::recall::Recall;
use super::run_bash_command::RunBashCommand;
use super::search_files::SearchFiles;
use super::todo::{TodoRead, TodoWrite};
use super::write_file::WriteFile;
use crate::error::AgentError;
use crate::state::Local;
use waterline_sandbox::Shell;

/// How near a tool is to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// Somebody offers it.
    Discovered,
    /// It may be used.
    Enabled,
    /// The model was told of it.
    Visible,
}

impl Tier {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Discovered => "discovered",
            Self::Enabled => "enabled",
            Self::Visible => "visible",
        }
    }
}

/// Every tool with how near it is to the model.
pub type Tiers<'a> = Vec<(&'a Arc<dyn Callable>, Tier)>;

/// The tools there are.
#[derive(Clone)]
pub struct Toolbox {
    tools: Vec<Entry>,
}

#[derive(Clone)]
struct Entry {
    tool: Arc<dyn Callable>,
    enabled: bool,
    /// The model is told of it only by name.
    brief: bool,
}

impl Toolbox {
    /// The built-in tools.
    #[must_use]
    pub fn new(shell: Arc<Shell>) -> Self {
        let tools: Vec<Arc<dyn Callable>> = vec![
            Arc::new(ReadFile),
            Arc::new(WriteFile),
            Arc::new(EditFile),
            Arc::new(ListFiles),
            Arc::new(FindFiles),
            Arc::new(SearchFiles),
            Arc::new(RunBashCommand(shell)),
            Arc::new(Now),
            Arc::new(TodoWrite),
            Arc::new(TodoRead),
            Arc::new(AskHuman),
            Arc::new(CallSubagent),
            Arc::new(Recall),
            Arc::new(ReadArtifact),
            Arc::new(CompactContext),
            Arc::new(FetchUrl::default()),
            Arc::new(HandOff),
            Arc::new(CallTool),
        ];
        let entry = |tool: Arc<dyn Callable>| Entry {
            enabled: tool.enabled_by_default(),
            tool,
            brief: false,
        };
        Self { tools: tools.into_iter().map(entry).collect() }
    }

    /// Adds a tool behind the others. One whose name is taken is not added: consent to one must not
    /// hold for another.
    ///
    /// # Errors
    /// When its name is taken.
    pub fn add(&mut self, tool: Arc<dyn Callable>) -> Result<(), AgentError> {
        if self.find(tool.name()).is_some() {
            return Err(AgentError::Setting(format!(
                "two tools are called {:?}; the second is left out",
                tool.name()
            )));
        }
        self.tools.push(Entry { enabled: tool.enabled_by_default(), tool, brief: false });
        Ok(())
    }

    /// Switches tools on or off by a name or a pattern such as `files__*`.
    ///
    /// # Errors
    /// When no tool is called so.
    pub fn switch(&mut self, pattern: &str, enabled: bool) -> Result<(), AgentError> {
        let glob = Glob::new(pattern)
            .map_err(|error| AgentError::Setting(error.to_string()))?
            .compile_matcher();
        let mut any = false;
        for entry in self.tools.iter_mut().filter(|entry| glob.is_match(entry.tool.name())) {
            entry.enabled = enabled;
            any = true;
        }
        if any {
            return Ok(());
        }
        let names: Vec<&str> = self.tools.iter().map(|entry| entry.tool.name()).collect();
        Err(AgentError::Setting(format!(
            "no tool is called {pattern:?}; there are {}",
            names.join(", ")
        )))
    }

    /// Lets only these be used, of those that may be used anyway: a role can do with less, and not
    /// have more.
    ///
    /// # Errors
    /// When no tool is called so.
    pub fn narrow(&mut self, patterns: &[String]) -> Result<(), AgentError> {
        let before: Vec<bool> = self.tools.iter().map(|entry| entry.enabled).collect();
        self.tools.iter_mut().for_each(|entry| entry.enabled = false);
        patterns.iter().try_for_each(|pattern| self.switch(pattern, true))?;
        for (entry, was) in self.tools.iter_mut().zip(before) {
            entry.enabled = was && (entry.enabled || entry.tool.name() == super::CALL_TOOL);
        }
        Ok(())
    }

    /// The tool of a name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Arc<dyn Callable>> {
        self.tools.iter().find(|entry| entry.tool.name() == name).map(|entry| &entry.tool)
    }

    /// What is said of a name that no tool has: which one is probably meant, else which there are.
    pub(crate) fn unknown(&self, name: &str, local: &Local) -> String {
        let all = self.tools.iter().map(|entry| entry.tool.name());
        let names: Vec<&str> = all.filter(|name| self.may_use(name, local)).collect();
        match nearest(name, &names) {
            Some(known) => format!("there is no tool {name:?}; did you mean {known}?"),
            None => format!("there is no tool {name:?}; there are {}", names.join(", ")),
        }
    }

    /// Whether a tool may be used: it is enabled, or the user asked for it in this session.
    #[must_use]
    pub fn may_use(&self, name: &str, local: &Local) -> bool {
        let enabled = self.tools.iter().any(|entry| entry.tool.name() == name && entry.enabled);
        enabled || local.allowed_tools.iter().any(|allowed| allowed == name)
    }

    /// Every tool with how near it is to the model of a session, which was told of the `visible`
    /// ones.
    #[must_use]
    pub fn tiers(&self, local: &Local, visible: &[wire::Tool]) -> Tiers<'_> {
        let told = |name: &str| visible.iter().any(|tool| tool.name == name);
        let tier = |entry: &Entry| match entry.tool.name() {
            name if !self.may_use(name, local) => Tier::Discovered,
            name if told(name) => Tier::Visible,
            _ => Tier::Enabled,
        };
        self.tools.iter().map(|entry| (&entry.tool, tier(entry))).collect()
    }

    /// What a new session tells its model.
    #[must_use]
    pub fn definitions(&self) -> Vec<wire::Tool> {
        self.tools
            .iter()
            .filter(|entry| entry.enabled && !entry.brief)
            .map(|entry| definition(&*entry.tool))
            .collect()
    }

    /// Tells the model of so many tools in full, of the others by name: those that are named first,
    /// then in their order.
    pub fn tell_in_full(&mut self, always: &[String], most: usize) {
        let mut left = most.saturating_sub(always.len());
        for entry in &mut self.tools {
            let name = entry.tool.name();
            let full = name == super::CALL_TOOL || always.iter().any(|named| named == name);
            let chosen = full || entry.enabled && left > 0;
            left -= usize::from(chosen && !full);
            entry.brief = !chosen;
        }
    }

    /// The tools that the model is told of by name: a line each.
    #[must_use]
    pub fn brief(&self) -> Vec<String> {
        let told = self.tools.iter().filter(|entry| entry.enabled && entry.brief);
        told.map(|entry| {
            format!(
                "{}: {} Arguments: {}",
                entry.tool.name(),
                entry.tool.about(),
                entry.tool.schema()
            )
        })
        .collect()
    }
}

/// The name that is probably meant: the one with the fewest other letters, however they are written
/// and whatever stands before it, as in `functions.list_files`. One that is other by more than a
/// third is not meant.
fn nearest<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    let name = name.to_lowercase();
    let bare = name.rsplit(['.', ':', '/']).next().unwrap_or(&name);
    let distance = |known: &str| {
        let known = known.to_lowercase();
        strsim::levenshtein(&known, &name).min(strsim::levenshtein(&known, bare))
    };
    let (least, known) =
        names.iter().map(|&known| (distance(known), known)).min_by_key(|(least, _)| *least)?;
    (least * 3 <= known.chars().count()).then_some(known)
}

/// A tool as the wires write it.
fn definition(tool: &dyn Callable) -> wire::Tool {
    wire::Tool::new(tool.name(), tool.about(), tool.schema())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_named_that_is_nearly_called_so() {
        let names = ["read_file", "list_files", "files__read_file", "now"];
        for name in [
            "List_Files",
            "functions.list_files",
            "functions::List_Files",
            "listfiles",
            "list-file",
            "a/list_files",
        ] {
            assert_eq!(nearest(name, &names), Some("list_files"), "{name}");
        }
        assert_eq!(nearest("Files__Read_File", &names), Some("files__read_file"));
        for name in ["bash", "str_replace_editor", "", "functions."] {
            assert_eq!(nearest(name, &names), None, "{name}");
        }
    }
}
