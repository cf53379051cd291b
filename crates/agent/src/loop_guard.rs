//! Detects loops: the same call repeated, or a tool that keeps failing. Only consecutive calls
//! count; a call of another tool resets all counts, and a success resets the failures.

use serde_json::Value;

use crate::reason::EndReason;

/// Consecutive identical calls that end the turn.
const MAX_SAME: usize = 5;
/// Consecutive failures with the same arguments after which the call is refused.
const MAX_SAME_FAILURES: usize = 3;
/// Consecutive failures of a tool after which it is refused until another tool is called.
const MAX_TOOL_FAILURES: usize = 6;
/// Consecutive calls of a tool that failed or were refused, after which the turn ends.
const MAX_UNSUCCESSFUL: usize = 8;

/// What the guard stops, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// The call is refused; the text is its result.
    Call(String),
    /// The turn must end, for this reason.
    Turn(EndReason),
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    Failed,
    NotRun,
}

#[derive(Debug)]
struct PastCall {
    tool: String,
    arguments: String,
    outcome: Outcome,
}

/// The calls of a turn.
#[derive(Debug, Default)]
pub(crate) struct LoopGuard(Vec<PastCall>);

impl LoopGuard {
    /// Checks a call before it is run.
    pub(crate) fn check(&self, tool: &str, arguments: &str) -> Option<Halt> {
        let arguments = normalize(arguments);
        let of_tool = || self.0.iter().rev().take_while(|past| past.tool == tool);
        let same = of_tool().take_while(|past| past.arguments == arguments).count();
        let unsuccessful = of_tool().take_while(|past| past.outcome != Outcome::Done);
        let failures = unsuccessful.clone().filter(|past| past.outcome == Outcome::Failed).count();
        let same_failures = unsuccessful
            .clone()
            .take_while(|past| past.arguments == arguments && past.outcome == Outcome::Failed)
            .count();
        if same + 1 >= MAX_SAME {
            let times = MAX_SAME as u64;
            return Some(Halt::Turn(EndReason::SameCall { tool: tool.to_owned(), times }));
        }
        if unsuccessful.count() >= MAX_UNSUCCESSFUL {
            let times = MAX_UNSUCCESSFUL as u64;
            return Some(Halt::Turn(EndReason::Unsuccessful { tool: tool.to_owned(), times }));
        }
        if failures >= MAX_TOOL_FAILURES {
            return Some(Halt::Call(format!(
                "Not run: {tool} failed {failures} times in a row and is blocked until you call \
                 another tool. Try a different approach."
            )));
        }
        (same_failures >= MAX_SAME_FAILURES).then(|| {
            Halt::Call(format!(
                "Not run: {tool} failed {same_failures} times in a row with the same arguments. \
                 Change the arguments or try a different approach."
            ))
        })
    }

    /// Records how a call ended.
    pub(crate) fn record(&mut self, tool: &str, arguments: &str, outcome: Outcome) {
        self.0.push(PastCall { tool: tool.to_owned(), arguments: normalize(arguments), outcome });
    }
}

/// Returns equal text for arguments that are equal as JSON.
fn normalize(arguments: &str) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(arguments) else {
        return arguments.to_owned();
    };
    value.sort_all_objects();
    value.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard_after(calls: &[(&str, &str, Outcome)]) -> LoopGuard {
        let mut guard = LoopGuard::default();
        calls.iter().for_each(|(tool, arguments, outcome)| guard.record(tool, arguments, *outcome));
        guard
    }

    /// Returns why a call of `bash` is refused.
    fn refusal(calls: &[(&str, &str, Outcome)], arguments: &str) -> String {
        match guard_after(calls).check("bash", arguments) {
            Some(Halt::Call(why)) => why,
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn the_same_call_five_times_in_a_row_ends_the_turn() {
        let four = [("read_file", r#"{"path":"a","lines":1}"#, Outcome::Done); 4];
        let guard = guard_after(&four);
        assert!(matches!(
            guard.check("read_file", r#"{"lines": 1, "path": "a"}"#),
            Some(Halt::Turn(_))
        ));
        assert_eq!(guard.check("read_file", r#"{"path":"b"}"#), None);
        let mut broken = four.to_vec();
        broken.push(("now", "{}", Outcome::Done));
        assert_eq!(
            guard_after(&broken).check("read_file", r#"{"path":"a","lines":1}"#),
            None,
            "not in a row"
        );
    }

    #[test]
    fn failures_in_a_row_stop_the_call_then_the_tool_then_the_turn() {
        let mut calls = vec![("bash", "a", Outcome::Failed); 3];
        assert!(refusal(&calls, "a").contains("with the same arguments"));
        assert_eq!(guard_after(&calls).check("bash", "b"), None);
        calls.extend([
            ("bash", "b", Outcome::Failed),
            ("bash", "c", Outcome::Failed),
            ("bash", "d", Outcome::Failed),
        ]);
        assert!(refusal(&calls, "e").contains("6 times in a row"));
        calls.extend([("bash", "e", Outcome::NotRun), ("bash", "f", Outcome::NotRun)]);
        let halt = guard_after(&calls).check("bash", "g");
        assert!(matches!(halt, Some(Halt::Turn(EndReason::Unsuccessful { times: 8, .. }))));
    }

    #[test]
    fn a_success_resets_the_failures() {
        let mut calls = Vec::new();
        for _ in 0..10 {
            calls.extend([("bash", "grep", Outcome::Failed), ("bash", "ls", Outcome::Done)]);
        }
        assert_eq!(guard_after(&calls).check("bash", "grep"), None);
    }

    #[test]
    fn a_refused_call_that_is_repeated_ends_the_turn() {
        let calls = [("no_such_tool", "{}", Outcome::NotRun); 4];
        assert!(matches!(guard_after(&calls).check("no_such_tool", "{}"), Some(Halt::Turn(_))));
    }
}
