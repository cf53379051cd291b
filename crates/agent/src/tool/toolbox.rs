//! The available tools, in a fixed order.
//!
//! A tool is *discovered* (it exists), *enabled* (the user's configuration allows it) or *visible*
//! (it was in the tool list when the session started). Tools that are enabled later or mentioned by
//! the user are reached through `call_tool`, so that the tool list never changes and the provider's
//! cache stays valid.

use std::sync::Arc;

use globset::Glob;
use waterline::tokens::Counter;
use waterline_provider::wire;

use super::Callable;
use super::ask_human::AskHuman;
use super::call_subagent::CallSubagent;
use super::call_tool::CallTool;
use super::compact_context::CompactContext;
use super::describe_tool::{DescribeTool, NAME as DESCRIBE_TOOL};
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
use waterline_sandbox::{Network, Shell};

/// The status of a tool in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Tier {
    /// The tool exists but is disabled.
    Discovered,
    /// The tool may be used through `call_tool`.
    Enabled,
    /// The tool is in the model's tool list.
    Visible,
}

impl Tier {
    /// Returns the name of the status.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Discovered => "discovered",
            Self::Enabled => "enabled",
            Self::Visible => "visible",
        }
    }
}

/// Every tool with its status.
pub type Tiers<'a> = Vec<(&'a Arc<dyn Callable>, Tier)>;

/// The available tools.
#[derive(Clone)]
pub struct Toolbox {
    tools: Vec<Entry>,
    /// The shell of the tool that runs commands.
    shell: Option<Arc<Shell>>,
}

#[derive(Clone)]
struct Entry {
    tool: Arc<dyn Callable>,
    enabled: bool,
    place: ToolSlot,
}

impl Entry {
    fn new(tool: Arc<dyn Callable>) -> Self {
        Self { enabled: tool.enabled_by_default(), tool, place: ToolSlot::List }
    }
}

/// Where a tool is described to the model.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ToolSlot {
    /// In the tool list.
    List,
    /// In the system prompt.
    Prompt,
    /// In the system prompt, with its name and the start of its description only.
    PromptInShort,
}

/// Part of the name of a server's tool: `server__tool`.
pub(crate) const SERVER_SEPARATOR: &str = "__";

/// Maximum length of a short description.
const SHORT_CHARS: usize = 80;

/// Returns the tool that runs commands in a shell.
fn commands(shell: Arc<Shell>) -> Arc<dyn Callable> {
    Arc::new(RunBashCommand(shell))
}

impl Toolbox {
    /// Returns a toolbox with the built-in tools.
    #[must_use]
    pub fn new(shell: Arc<Shell>) -> Self {
        Self::built_in(Some(shell))
    }

    /// Returns a toolbox with the built-in tools, but without commands.
    #[must_use]
    pub fn without_commands() -> Self {
        Self::built_in(None)
    }

    fn built_in(shell: Option<Arc<Shell>>) -> Self {
        let commands = shell.clone().map(commands);
        let files: Vec<Arc<dyn Callable>> = vec![
            Arc::new(ReadFile),
            Arc::new(WriteFile),
            Arc::new(EditFile),
            Arc::new(ListFiles),
            Arc::new(FindFiles),
            Arc::new(SearchFiles),
        ];
        let others: Vec<Arc<dyn Callable>> = vec![
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
            Arc::new(DescribeTool),
        ];
        let tools = files.into_iter().chain(commands).chain(others);
        Self { tools: tools.map(Entry::new).collect(), shell }
    }

    /// Adds the tool that runs commands.
    ///
    /// # Errors
    /// When it is there already.
    pub fn add_commands(&mut self, shell: Arc<Shell>) -> Result<(), AgentError> {
        self.add(commands(Arc::clone(&shell)))?;
        self.shell = Some(shell);
        Ok(())
    }

    /// Changes what commands may reach over the network.
    pub fn set_network(&mut self, network: Network) {
        let Some(shell) = &self.shell else { return };
        let mut shell = Shell::clone(shell);
        shell.network = network;
        let shell = Arc::new(shell);
        let tool = commands(Arc::clone(&shell));
        let is_same = |entry: &&mut Entry| entry.tool.name() == tool.name();
        if let Some(entry) = self.tools.iter_mut().find(is_same) {
            entry.tool = tool;
        }
        self.shell = Some(shell);
    }

    /// Adds a tool at the end. Names must be unique: an approval for one tool must not apply to
    /// another.
    ///
    /// # Errors
    /// When the name is already in use.
    pub fn add(&mut self, tool: Arc<dyn Callable>) -> Result<(), AgentError> {
        if self.find(tool.name()).is_some() {
            return Err(AgentError::DuplicateTool(tool.name().to_owned()));
        }
        self.tools.push(Entry::new(tool));
        Ok(())
    }

    /// Enables or disables tools by a name or a pattern such as `files__*`.
    ///
    /// # Errors
    /// When no tool matches.
    pub fn switch(&mut self, pattern: &str, enabled: bool) -> Result<(), AgentError> {
        let glob = Glob::new(pattern)
            .map_err(|error| AgentError::InvalidSetting {
                place: pattern.into(),
                cause: error.into(),
            })?
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
        Err(AgentError::NoToolMatches { pattern: pattern.to_owned(), known: names.join(", ") })
    }

    /// Disables all tools that match none of the patterns. It never enables a tool: a role can
    /// restrict the tools, but not add any.
    ///
    /// # Errors
    /// When no tool matches a pattern.
    pub fn narrow(&mut self, patterns: &[String]) -> Result<(), AgentError> {
        let before: Vec<bool> = self.tools.iter().map(|entry| entry.enabled).collect();
        self.tools.iter_mut().for_each(|entry| entry.enabled = false);
        patterns.iter().try_for_each(|pattern| self.switch(pattern, true))?;
        for (entry, was) in self.tools.iter_mut().zip(before) {
            let reaches_others = [super::CALL_TOOL, DESCRIBE_TOOL].contains(&entry.tool.name());
            entry.enabled = was && (entry.enabled || reaches_others);
        }
        Ok(())
    }

    /// Returns the tool with a name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Arc<dyn Callable>> {
        self.tools.iter().find(|entry| entry.tool.name() == name).map(|entry| &entry.tool)
    }

    /// Returns the message for an unknown tool name: the tool that was probably meant, or the names
    /// of all tools.
    pub(crate) fn unknown(&self, name: &str, local: &Local) -> String {
        let all = self.tools.iter().map(|entry| entry.tool.name());
        let names: Vec<&str> = all.filter(|name| self.may_use(name, local)).collect();
        match suggest(name, &names) {
            Some(known) => format!("Unknown tool {name:?}. Did you mean {known}?"),
            None => format!("Unknown tool {name:?}. Available tools: {}.", names.join(", ")),
        }
    }

    /// Returns whether a tool may be used: it is enabled, or the user allowed it in this session.
    #[must_use]
    pub fn may_use(&self, name: &str, local: &Local) -> bool {
        let enabled = self.tools.iter().any(|entry| entry.tool.name() == name && entry.enabled);
        enabled || local.allowed_tools.iter().any(|allowed| allowed == name)
    }

    /// Returns every tool with its status in a session whose tool list is `visible`.
    #[must_use]
    pub fn tiers(&self, local: &Local, visible: &[wire::Tool]) -> Tiers<'_> {
        let is_visible = |name: &str| visible.iter().any(|tool| tool.name == name);
        let tier = |entry: &Entry| match entry.tool.name() {
            name if !self.may_use(name, local) => Tier::Discovered,
            name if is_visible(name) => Tier::Visible,
            _ => Tier::Enabled,
        };
        self.tools.iter().map(|entry| (&entry.tool, tier(entry))).collect()
    }

    /// Returns the tool list of a new session.
    #[must_use]
    pub fn definitions(&self) -> Vec<wire::Tool> {
        self.tools
            .iter()
            .filter(|entry| entry.enabled && entry.place == ToolSlot::List)
            .map(|entry| definition(&*entry.tool))
            .collect()
    }

    /// Limits the tool list to `max` tools: those in `always`, then the others in order. The rest
    /// are described in the system prompt.
    pub fn limit_list(&mut self, always: &[String], max: usize) {
        let mut left = max.saturating_sub(always.len());
        for entry in &mut self.tools {
            let name = entry.tool.name();
            let is_fixed = name == super::CALL_TOOL || always.iter().any(|named| named == name);
            let is_listed = is_fixed || entry.enabled && left > 0;
            left -= usize::from(is_listed && !is_fixed);
            entry.place = if is_listed { ToolSlot::List } else { ToolSlot::Prompt };
        }
    }

    /// Limits the definitions of servers' tools to a share of the window: those that do not fit
    /// into `budget` tokens together with all other tools are described only briefly in the system
    /// prompt. Returns their number.
    pub(crate) fn limit_tokens(&mut self, counter: &Counter, budget: usize) -> usize {
        let tokens = |entry: &Entry| counter.tool(&definition(&*entry.tool));
        let is_listed = |entry: &&Entry| entry.enabled && entry.place == ToolSlot::List;
        let all: usize = self.tools.iter().filter(is_listed).map(tokens).sum();
        if all <= budget {
            return 0;
        }
        let is_own = |entry: &Entry| !entry.tool.name().contains(SERVER_SEPARATOR);
        let own: usize =
            self.tools.iter().filter(is_listed).filter(|entry| is_own(entry)).map(tokens).sum();
        let mut left = budget.saturating_sub(own);
        let mut count = 0;
        for entry in self.tools.iter_mut().filter(|entry| entry.enabled && !is_own(entry)) {
            let size = tokens(entry);
            if size > left {
                entry.place = ToolSlot::PromptInShort;
                count += 1;
            }
            left = left.saturating_sub(size);
        }
        if count > 0 {
            self.enable_description();
        }
        count
    }

    /// Enables the tool that returns the description of another one.
    fn enable_description(&mut self) {
        let description = self.tools.iter_mut().find(|entry| entry.tool.name() == DESCRIBE_TOOL);
        if let Some(entry) = description {
            entry.enabled = true;
        }
    }

    /// Returns the description of a tool: what it does and its arguments.
    pub(crate) fn description(&self, name: &str) -> Option<String> {
        let tool = self.find(name)?;
        Some(format!("{name}: {} Arguments: {}", tool.about(), tool.schema()))
    }

    /// Returns one line for each enabled tool that is not in the tool list, for the system prompt.
    #[must_use]
    pub fn brief(&self) -> Vec<String> {
        let line = |entry: &Entry| {
            let name = entry.tool.name();
            match entry.place {
                ToolSlot::List => None,
                ToolSlot::Prompt => self.description(name),
                ToolSlot::PromptInShort => {
                    let about: String = entry
                        .tool
                        .about()
                        .lines()
                        .next()
                        .unwrap_or_default()
                        .chars()
                        .take(SHORT_CHARS)
                        .collect();
                    Some(format!("{name}: {about} (call {DESCRIBE_TOOL} for its arguments)"))
                }
            }
        };
        self.tools.iter().filter(|entry| entry.enabled).filter_map(line).collect()
    }
}

/// Returns the most similar name, ignoring case and prefixes such as `functions.` in
/// `functions.list_files`. Names that differ in more than a third of their letters do not count.
fn suggest<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
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

/// Returns the definition of a tool in the form that is sent to the provider.
fn definition(tool: &dyn Callable) -> wire::Tool {
    wire::Tool::new(tool.name(), tool.about(), tool.schema())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_tool_names_are_suggested() {
        let names = ["read_file", "list_files", "files__read_file", "now"];
        for name in [
            "List_Files",
            "functions.list_files",
            "functions::List_Files",
            "listfiles",
            "list-file",
            "a/list_files",
        ] {
            assert_eq!(suggest(name, &names), Some("list_files"), "{name}");
        }
        assert_eq!(suggest("Files__Read_File", &names), Some("files__read_file"));
        for name in ["bash", "str_replace_editor", "", "functions."] {
            assert_eq!(suggest(name, &names), None, "{name}");
        }
    }
}
