//! The tool calls that the screen knows: the arguments of open calls, and the last finished calls
//! with their numbers.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use waterline_agent::WholeOutput;
use waterline_agent::changes::FileDiff;
use waterline_agent::tool::CallInfo;

/// The number of finished calls kept for `/unfold`.
const KEPT: usize = 200;

/// A finished call. The screen shows it on one line, and `/unfold` in full.
#[derive(Clone, Debug, Default)]
pub struct FinishedCall {
    /// The name of the tool.
    pub name: String,
    /// The arguments, as JSON.
    pub arguments: String,
    /// What the model read of it.
    pub text: String,
    /// The tool's description of the call.
    pub info: CallInfo,
    /// The files that it changed.
    pub changes: Vec<FileDiff>,
    /// The whole output, if the result is only a part of it.
    pub whole: Option<WholeOutput>,
}

/// The open calls and the last finished ones.
#[derive(Debug, Default)]
pub struct Calls {
    open: Vec<Open>,
    finished: VecDeque<FinishedCall>,
    /// The number of finished calls that were dropped.
    dropped: usize,
}

/// A call without a result. A call that is refused, or not run for another reason, is known only
/// from what the model wrote.
#[derive(Debug)]
struct Open {
    /// The context id of the sub-agent; none for the agent itself.
    agent: Option<String>,
    id: String,
    name: String,
    arguments: String,
    /// Its index in the answer, while it is known only from that.
    at: Option<usize>,
    /// Whether its change was shown before it was approved.
    was_shown: bool,
    /// The tool's description of the call, and when it was started.
    started: Option<(CallInfo, Instant)>,
}

/// A call that was started and has no result.
#[derive(Debug)]
pub struct StoppedCall {
    /// The context id of the sub-agent; none for the agent itself.
    pub agent: Option<String>,
    pub call: FinishedCall,
    /// How long it ran.
    pub took: Duration,
}

impl Open {
    fn is_of(&self, agent: Option<&str>) -> bool {
        self.agent.as_deref() == agent
    }
}

impl Calls {
    /// The model started to write a call.
    pub fn start(&mut self, agent: Option<&str>, at: usize, id: &str, name: &str) {
        self.add(agent, id, name, Some(at));
    }

    /// More of its arguments arrived.
    pub fn add_arguments(&mut self, agent: Option<&str>, at: usize, json: &str) {
        let written =
            self.open.iter_mut().rev().find(|open| open.is_of(agent) && open.at == Some(at));
        if let Some(open) = written {
            open.arguments.push_str(json);
        }
    }

    /// A call is run, or needs approval.
    pub fn set_arguments(&mut self, agent: Option<&str>, id: &str, name: &str, arguments: &str) {
        let at = self.find(agent, id, name).unwrap_or_else(|| self.add(agent, id, name, None));
        if let Some(open) = self.open.get_mut(at) {
            // The id at run time may differ from the one in the answer.
            id.clone_into(&mut open.id);
            arguments.clone_into(&mut open.arguments);
            open.at = None;
        }
    }

    /// A call was started.
    pub fn set_started(&mut self, agent: Option<&str>, id: &str, name: &str, info: &CallInfo) {
        let at = self.find(agent, id, name);
        if let Some(open) = at.and_then(|at| self.open.get_mut(at)) {
            open.started = Some((info.clone(), Instant::now()));
        }
    }

    /// Takes the calls that were started and have no result, because the turn was stopped.
    pub fn take_stopped(&mut self) -> Vec<StoppedCall> {
        let stopped = self.open.drain(..).filter_map(|open| {
            let (info, since) = open.started?;
            let Open { name, arguments, agent, .. } = open;
            let call = FinishedCall { name, arguments, info, ..FinishedCall::default() };
            Some(StoppedCall { agent, call, took: since.elapsed() })
        });
        stopped.collect()
    }

    /// The change of a call was shown, because it needs approval.
    pub fn set_shown(&mut self, agent: Option<&str>, id: &str, name: &str) {
        let at = self.find(agent, id, name);
        if let Some(open) = at.and_then(|at| self.open.get_mut(at)) {
            open.was_shown = true;
        }
    }

    /// A call has a result. Returns its arguments, and whether its change was shown before.
    pub fn end(&mut self, agent: Option<&str>, id: &str, name: &str) -> (String, bool) {
        let ended = self.find(agent, id, name).map(|at| self.open.remove(at));
        ended.map(|open| (open.arguments, open.was_shown)).unwrap_or_default()
    }

    /// Drops the open calls of an agent: its last answer is done, or void.
    pub fn drop_open(&mut self, agent: Option<&str>) {
        self.open.retain(|open| !open.is_of(agent));
    }

    /// Keeps a finished call. Returns its number.
    pub fn keep(&mut self, call: FinishedCall) -> usize {
        self.finished.push_back(call);
        if self.finished.len() > KEPT {
            self.finished.pop_front();
            self.dropped += 1;
        }
        self.dropped + self.finished.len()
    }

    /// Returns the call with this number, or the last one.
    pub fn get(&self, number: Option<usize>) -> Option<&FinishedCall> {
        match number {
            Some(number) => self.finished.get(number.checked_sub(self.dropped + 1)?),
            None => self.finished.back(),
        }
    }

    /// Replaces the finished calls by those of a session, which begin with number 1.
    pub fn set_finished(&mut self, calls: Vec<FinishedCall>) {
        self.finished.clear();
        self.dropped = 0;
        for call in calls {
            self.keep(call);
        }
    }

    fn add(&mut self, agent: Option<&str>, id: &str, name: &str, at: Option<usize>) -> usize {
        self.open.push(Open {
            agent: agent.map(str::to_owned),
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: String::new(),
            at,
            was_shown: false,
            started: None,
        });
        self.open.len() - 1
    }

    /// Finds a call: by its id, else the first call of its tool that is known only from the answer.
    fn find(&self, agent: Option<&str>, id: &str, name: &str) -> Option<usize> {
        let own = |open: &Open| open.is_of(agent);
        let same = self.open.iter().position(|open| own(open) && open.id == id && !id.is_empty());
        same.or_else(|| {
            self.open.iter().position(|open| own(open) && open.at.is_some() && open.name == name)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_of_a_call_that_is_not_run_come_from_the_answer() {
        let mut calls = Calls::default();
        calls.start(None, 0, "", "read");
        calls.start(None, 1, "", "read");
        calls.add_arguments(None, 0, "{\"a\":");
        calls.add_arguments(None, 1, "{\"b\":2}");
        calls.add_arguments(None, 0, "1}");
        calls.set_arguments(None, "x", "read", "{\"a\":1}");
        assert_eq!(
            calls.end(None, "y", "read").0,
            "{\"b\":2}",
            "the second is known only from the answer"
        );
        assert_eq!(calls.end(None, "x", "read").0, "{\"a\":1}");
        assert_eq!(calls.end(None, "x", "read").0, "");
    }

    #[test]
    fn calls_of_sub_agents_are_kept_apart() {
        let mut calls = Calls::default();
        calls.set_arguments(Some("a"), "1", "run", "of a");
        calls.set_arguments(Some("b"), "1", "run", "of b");
        calls.drop_open(Some("b"));
        assert_eq!(calls.end(Some("b"), "1", "run").0, "");
        assert_eq!(calls.end(Some("a"), "1", "run").0, "of a");
    }

    #[test]
    fn the_last_calls_keep_their_numbers() {
        let call = |at: usize| FinishedCall { name: at.to_string(), ..FinishedCall::default() };
        let name = |calls: &Calls, number| calls.get(number).map(|call| call.name.clone());
        let mut calls = Calls::default();
        for at in 1..=KEPT + 5 {
            assert_eq!(calls.keep(call(at)), at);
        }
        assert_eq!(name(&calls, None).unwrap(), (KEPT + 5).to_string());
        assert_eq!(name(&calls, Some(6)).unwrap(), "6");
        assert_eq!(name(&calls, Some(5)), None, "dropped");
        assert_eq!(name(&calls, Some(KEPT + 6)), None);
        calls.set_finished(Vec::new());
        assert_eq!(calls.keep(call(1)), 1);
        assert_eq!(name(&calls, Some(0)), None);
        calls.set_finished((1..=KEPT + 5).map(call).collect());
        assert_eq!(calls.keep(call(0)), KEPT + 6, "after those of earlier processes");
        assert_eq!(name(&calls, Some(KEPT)).unwrap(), KEPT.to_string());
    }
}
