//! The current activity of the agent: model calls and tool calls, also those of sub-agents,
//! which run in parallel. The newest activity is shown in the footer.

use std::time::{Duration, Instant};

use super::footer::Working;
use crate::number::short;
use crate::text;

/// The current activities, the newest last.
#[derive(Default)]
pub struct Activities(Vec<Activity>);

struct Activity {
    /// The context id of the sub-agent; none for the agent itself.
    agent: Option<String>,
    kind: Kind,
    since: Instant,
    /// The end of the wait before a retry.
    until: Option<Instant>,
}

enum Kind {
    /// The server reads a prompt of this many tokens.
    Reading(usize),
    /// The model was called, and this many characters of its reasoning have arrived.
    Thinking(usize),
    /// The model writes a tool call, and this many characters of the arguments have arrived.
    WritingCall(String, usize),
    /// The model writes a table, which is shown when it is complete.
    WritingTable,
    /// A tool runs. `output` is the last line of its output.
    RunningTool { id: String, about: String, output: String },
}

impl Activities {
    /// The model was called.
    pub fn start_model(&mut self, agent: Option<&str>) {
        self.end_model(agent);
        self.push(agent, Kind::Thinking(0));
    }

    /// The request was sent: the server reads this many tokens.
    pub fn start_reading(&mut self, agent: Option<&str>, tokens: usize) {
        self.end_model(agent);
        self.push(agent, Kind::Reading(tokens));
    }

    /// More characters of its reasoning arrived.
    pub fn add_thinking(&mut self, agent: Option<&str>, more: usize) {
        match self.model(agent).map(|activity| &mut activity.kind) {
            Some(Kind::Thinking(chars)) => *chars += more,
            _ => {
                self.end_model(agent);
                self.push(agent, Kind::Thinking(more));
            }
        }
    }

    /// The model started to write a tool call.
    pub fn start_call(&mut self, agent: Option<&str>, tool: &str) {
        self.end_model(agent);
        self.push(agent, Kind::WritingCall(tool.to_owned(), 0));
    }

    /// More characters of the call's arguments arrived.
    pub fn add_arguments(&mut self, agent: Option<&str>, more: usize) {
        if let Some(Kind::WritingCall(_, chars)) =
            self.model(agent).map(|activity| &mut activity.kind)
        {
            *chars += more;
        }
    }

    /// The model is called again after a wait.
    pub fn retry_model(&mut self, agent: Option<&str>, wait: Duration) {
        self.start_model(agent);
        if let Some(activity) = self.model(agent) {
            activity.until = activity.since.checked_add(wait);
        }
    }

    /// The model has answered, or its answer is on the screen as it streams.
    pub fn end_model(&mut self, agent: Option<&str>) {
        self.0.retain(|activity| !activity.is_model(agent));
    }

    /// Sets whether the model is writing a table.
    pub fn set_table(&mut self, is_writing: bool) {
        let is_known = self.0.iter().any(|activity| matches!(activity.kind, Kind::WritingTable));
        if is_writing && !is_known {
            self.push(None, Kind::WritingTable);
        } else if !is_writing {
            self.0.retain(|activity| !matches!(activity.kind, Kind::WritingTable));
        }
    }

    /// Shows a call that runs. `agent` names the sub-agent that made it.
    pub fn start_tool(&mut self, agent: Option<&str>, id: &str, about: String) {
        self.push(agent, Kind::RunningTool { id: id.to_owned(), about, output: String::new() });
    }

    /// A running tool wrote output.
    pub fn set_output(&mut self, agent: Option<&str>, call: &str, line: &str) {
        for activity in self.0.iter_mut().filter(|activity| activity.is_of(agent)) {
            match &mut activity.kind {
                Kind::RunningTool { id, output, .. } if id == call => line.clone_into(output),
                _ => {}
            }
        }
    }

    /// A tool finished.
    pub fn end_tool(&mut self, agent: Option<&str>, ended: &str) {
        let is_ended = |activity: &Activity| match &activity.kind {
            Kind::RunningTool { id, .. } => id == ended,
            _ => false,
        };
        self.0.retain(|activity| !(activity.is_of(agent) && is_ended(activity)));
    }

    /// Removes all activities.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns whether there is no activity.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns what the footer shows.
    pub fn working(&self) -> Option<Working> {
        let newest = self.0.last()?;
        let left = newest
            .until
            .map(|until| until.saturating_duration_since(Instant::now()))
            .filter(|left| !left.is_zero());
        let about =
            if left.is_some() { text!("activity-retrying") } else { newest.kind.describe() };
        let agent = newest.agent.as_ref().map(|agent| format!("{agent}: ")).unwrap_or_default();
        let others = match self.0.len() - 1 {
            0 => String::new(),
            others => format!(" (+{others})"),
        };
        let output = match &newest.kind {
            Kind::RunningTool { output, .. } => output.clone(),
            _ => String::new(),
        };
        let about = format!("{agent}{about}{others}");
        Some(Working { about, since: newest.since, left, output })
    }

    fn push(&mut self, agent: Option<&str>, kind: Kind) {
        self.0.push(Activity {
            agent: agent.map(str::to_owned),
            kind,
            since: Instant::now(),
            until: None,
        });
    }

    fn model(&mut self, agent: Option<&str>) -> Option<&mut Activity> {
        self.0.iter_mut().find(|activity| activity.is_model(agent))
    }
}

impl Activity {
    fn is_of(&self, agent: Option<&str>) -> bool {
        self.agent.as_deref() == agent
    }

    /// Returns whether this is the model call of an agent.
    fn is_model(&self, agent: Option<&str>) -> bool {
        self.is_of(agent)
            && matches!(self.kind, Kind::Reading(_) | Kind::Thinking(_) | Kind::WritingCall(..))
    }
}

impl Kind {
    fn describe(&self) -> String {
        match self {
            Self::Reading(tokens) => text!("activity-reading", tokens = short(*tokens)),
            Self::Thinking(0) => text!("activity-thinking"),
            Self::Thinking(chars) => text!("activity-thinking-count", count = *chars),
            Self::WritingCall(tool, 0) => text!("activity-writing", tool = tool),
            Self::WritingCall(tool, chars) => {
                text!("activity-writing-count", tool = tool, count = *chars)
            }
            Self::WritingTable => text!("activity-table"),
            Self::RunningTool { about, .. } => about.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(activities: &Activities) -> String {
        activities.working().map(|working| working.about).unwrap_or_default()
    }

    #[test]
    fn calls_are_shown_until_the_last_one_ends() {
        let mut activities = Activities::default();
        activities.start_tool(None, "1", "read a".to_owned());
        activities.start_tool(None, "2", "read b".to_owned());
        assert_eq!(shown(&activities), "read b (+1)");
        activities.set_output(None, "2", "line 7");
        activities.set_output(None, "1", "line 3");
        assert_eq!(activities.working().unwrap().output, "line 7");
        activities.end_tool(None, "2");
        assert_eq!(activities.working().unwrap().output, "line 3");
        assert_eq!(shown(&activities), "read a");
        activities.end_tool(Some("sub-agent"), "1");
        assert!(!activities.is_empty(), "the same id of another agent");
        activities.end_tool(None, "1");
        assert!(activities.is_empty());
    }

    #[test]
    fn the_model_is_shown_thinking_and_then_writing() {
        let mut activities = Activities::default();
        activities.start_reading(None, 12_345);
        assert_eq!(shown(&activities), "reading 12k tokens");
        activities.start_model(None);
        assert_eq!(shown(&activities), "thinking");
        activities.add_thinking(None, 1_200);
        activities.add_thinking(None, 34);
        assert_eq!(shown(&activities), "thinking, 1,234 characters");
        activities.start_call(None, "write_file");
        activities.add_arguments(None, 20);
        activities.add_arguments(None, 22);
        assert_eq!(shown(&activities), "writing write_file, 42 characters");
        activities.end_model(None);
        assert!(activities.is_empty());
    }

    #[test]
    fn each_agent_has_its_own_model_call() {
        let mut activities = Activities::default();
        activities.start_model(Some("a"));
        activities.start_model(Some("b"));
        activities.add_thinking(Some("a"), 5);
        assert_eq!(shown(&activities), "b: thinking (+1)");
        activities.end_model(Some("b"));
        assert_eq!(shown(&activities), "a: thinking, 5 characters");
    }

    #[test]
    fn a_retry_shows_how_long_the_wait_is() {
        let mut activities = Activities::default();
        activities.start_model(None);
        activities.retry_model(None, Duration::from_secs(60));
        let working = activities.working().unwrap();
        assert_eq!(working.about, "retrying");
        assert!(working.left.is_some_and(|left| left > Duration::from_secs(50)));
        activities.retry_model(None, Duration::ZERO);
        assert_eq!(shown(&activities), "thinking");
    }
}
