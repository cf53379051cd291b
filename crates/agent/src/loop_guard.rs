//! Protection against going round in circles: the same call again and again, or a tool that keeps
//! failing. What counts is what happened in a row: a success, or another tool, begins anew.

use serde_json::Value;

/// The same call with the same arguments.
const SAME: usize = 5;
/// Failures of one call with the same arguments.
const SAME_FAILURES: usize = 3;
/// Failures of one tool, after which it is not run before another tool was called.
const TOOL_FAILURES: usize = 6;
/// Failures of one tool, and calls of it that were not run for them, after which the turn ends.
const LAST_FAILURES: usize = 8;

/// What is not to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// The call, and the model is told why.
    Call(String),
    /// The turn.
    Turn(String),
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Well.
    Done,
    /// Not well.
    Failed,
    /// It was not run.
    NotRun,
}

/// A call that was made.
#[derive(Debug)]
struct Made {
    tool: String,
    arguments: String,
    outcome: Outcome,
}

/// The calls of a turn.
#[derive(Debug, Default)]
pub(crate) struct Repeats(Vec<Made>);

impl Repeats {
    /// Looks at a call before it is run.
    pub(crate) fn look(&self, tool: &str, arguments: &str) -> Option<Halt> {
        let arguments = normal(arguments);
        let of_tool = || self.0.iter().rev().take_while(|made| made.tool == tool);
        let same = of_tool().take_while(|made| made.arguments == arguments).count();
        let not_well = of_tool().take_while(|made| made.outcome != Outcome::Done);
        let failures = not_well.clone().filter(|made| made.outcome == Outcome::Failed).count();
        let same_failures = not_well
            .clone()
            .take_while(|made| made.arguments == arguments && made.outcome == Outcome::Failed)
            .count();
        let not_well = not_well.count();
        if same + 1 >= SAME {
            return Some(Halt::Turn(format!(
                "{tool} was called {SAME} times in a row with the same arguments"
            )));
        }
        if not_well >= LAST_FAILURES {
            return Some(Halt::Turn(format!(
                "{tool} failed {failures} times in a row and was called all the same"
            )));
        }
        if failures >= TOOL_FAILURES {
            return Some(Halt::Call(format!(
                "not run: {tool} failed {failures} times in a row and is not run before another tool is called; find another way"
            )));
        }
        (same_failures >= SAME_FAILURES).then(|| {
            Halt::Call(format!(
                "not run: {tool} failed {same_failures} times in a row with just these arguments; change them or find another way"
            ))
        })
    }

    /// Notes how a call ended.
    pub(crate) fn note(&mut self, tool: &str, arguments: &str, outcome: Outcome) {
        self.0.push(Made { tool: tool.to_owned(), arguments: normal(arguments), outcome });
    }
}

/// Arguments in one way, however the model wrote them.
fn normal(arguments: &str) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(arguments) else {
        return arguments.to_owned();
    };
    value.sort_all_objects();
    value.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(calls: &[(&str, &str, Outcome)]) -> Repeats {
        let mut repeats = Repeats::default();
        calls.iter().for_each(|(tool, arguments, outcome)| repeats.note(tool, arguments, *outcome));
        repeats
    }

    #[test]
    fn the_same_call_five_times_in_a_row_ends_the_turn() {
        let four = [("read_file", r#"{"path":"a","lines":1}"#, Outcome::Done); 4];
        let repeats = made(&four);
        assert!(matches!(
            repeats.look("read_file", r#"{"lines": 1, "path": "a"}"#),
            Some(Halt::Turn(_))
        ));
        assert_eq!(repeats.look("read_file", r#"{"path":"b"}"#), None);
        let mut broken = four.to_vec();
        broken.push(("now", "{}", Outcome::Done));
        assert_eq!(
            made(&broken).look("read_file", r#"{"path":"a","lines":1}"#),
            None,
            "not in a row"
        );
    }

    #[test]
    fn failures_in_a_row_stop_the_call_then_the_tool_then_the_turn() {
        let mut calls = vec![("bash", "a", Outcome::Failed); 3];
        assert!(
            matches!(made(&calls).look("bash", "a"), Some(Halt::Call(why)) if why.contains("just these arguments"))
        );
        assert_eq!(made(&calls).look("bash", "b"), None);
        calls.extend([
            ("bash", "b", Outcome::Failed),
            ("bash", "c", Outcome::Failed),
            ("bash", "d", Outcome::Failed),
        ]);
        assert!(
            matches!(made(&calls).look("bash", "e"), Some(Halt::Call(why)) if why.contains("6 times in a row"))
        );
        calls.extend([("bash", "e", Outcome::NotRun), ("bash", "f", Outcome::NotRun)]);
        assert!(
            matches!(made(&calls).look("bash", "g"), Some(Halt::Turn(why)) if why.contains("failed 6 times"))
        );
    }

    #[test]
    fn a_success_begins_anew() {
        let mut calls = Vec::new();
        for _ in 0..10 {
            calls.extend([("bash", "grep", Outcome::Failed), ("bash", "ls", Outcome::Done)]);
        }
        assert_eq!(made(&calls).look("bash", "grep"), None);
    }

    #[test]
    fn a_call_that_is_never_run_ends_the_turn_too() {
        let calls = [("no_such_tool", "{}", Outcome::NotRun); 4];
        assert!(matches!(made(&calls).look("no_such_tool", "{}"), Some(Halt::Turn(_))));
    }
}
