//! Protection against going round in circles: the same call again and again, or a tool that keeps failing.

use std::collections::HashMap;

/// The same call with the same arguments, in a row.
const SAME_IN_A_ROW: usize = 5;
/// Failures of one call with the same arguments.
const SAME_FAILURES: usize = 3;
/// Failures of one tool, after which it is not run any more.
const TOOL_FAILURES: usize = 6;
/// Failures of one tool, after which the turn ends.
const LAST_FAILURES: usize = 8;

/// What is to be done about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Run it.
    Run,
    /// Do not, and tell the model why.
    Refuse(String),
    /// Do not, and end the turn.
    End(String),
}

/// The calls of a turn.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    last: Option<(String, String)>,
    in_a_row: usize,
    same: HashMap<(String, String), usize>,
    tools: HashMap<String, usize>,
}

impl Repeats {
    /// Looks at a call before it is run.
    pub(crate) fn consider(&mut self, tool: &str, arguments: &str) -> Verdict {
        let call = (tool.to_owned(), arguments.to_owned());
        self.in_a_row = if self.last.as_ref() == Some(&call) { self.in_a_row + 1 } else { 1 };
        let failures = self.tools.get(tool).copied().unwrap_or(0);
        let same = self.same.get(&call).copied().unwrap_or(0);
        self.last = Some(call);
        if self.in_a_row >= SAME_IN_A_ROW {
            return Verdict::End(format!("{tool} was called {SAME_IN_A_ROW} times in a row with the same arguments"));
        }
        if failures >= LAST_FAILURES {
            return Verdict::End(format!("{tool} failed {failures} times"));
        }
        if failures >= TOOL_FAILURES {
            return Verdict::Refuse(format!(
                "{tool} failed {failures} times in this turn and is not run any more; find another way"
            ));
        }
        if same >= SAME_FAILURES {
            return Verdict::Refuse(format!(
                "{tool} failed {same} times with just these arguments; change them or find another way"
            ));
        }
        Verdict::Run
    }

    /// Notes how a call ended; one that was refused failed.
    pub(crate) fn note(&mut self, tool: &str, arguments: &str, failed: bool) {
        if failed {
            *self.tools.entry(tool.to_owned()).or_default() += 1;
            *self.same.entry((tool.to_owned(), arguments.to_owned())).or_default() += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_call_five_times_in_a_row_ends_the_turn() {
        let mut repeats = Repeats::default();
        for _ in 0..4 {
            assert_eq!(repeats.consider("now", "{}"), Verdict::Run);
        }
        assert!(matches!(repeats.consider("now", "{}"), Verdict::End(_)));
        assert_eq!(repeats.consider("now", r#"{"zone":"UTC"}"#), Verdict::Run);
        assert_eq!(repeats.consider("now", "{}"), Verdict::Run, "not in a row");
    }

    #[test]
    fn failures_stop_the_call_then_the_tool_then_the_turn() {
        let mut repeats = Repeats::default();
        let mut fail = |arguments: &str| {
            let verdict = repeats.consider("read_file", arguments);
            repeats.note("read_file", arguments, true);
            verdict
        };
        for n in 0..3 {
            assert_eq!(fail("a"), Verdict::Run, "{n}");
            assert_eq!(fail(&format!("b{n}")), Verdict::Run);
        }
        assert!(matches!(fail("a"), Verdict::Refuse(why) if why.contains("6 times in this turn")));
        assert!(matches!(fail("c"), Verdict::Refuse(_)));
        assert!(matches!(fail("d"), Verdict::End(why) if why.contains("failed 8 times")));
        let mut repeats = Repeats::default();
        for _ in 0..3 {
            repeats.consider("read_file", "a");
            repeats.note("read_file", "a", true);
        }
        assert!(
            matches!(repeats.consider("read_file", "a"), Verdict::Refuse(why) if why.contains("just these arguments"))
        );
    }
}
