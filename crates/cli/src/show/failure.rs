//! A failed call, in the lines that say why.

use waterline_agent::tool::Capability;

use crate::foreign::failed;

/// The most lines of a failure that are shown.
const LINES: usize = 8;

/// The start of the line that says how a command ended.
const HOW: &str = "[command ";

/// Why a call failed. Known texts are in the chosen language.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    /// The cause: how the command ended, or the first line of another tool's error.
    pub cause: String,
    /// The lines to show below it: the last ones of a command, which have its error.
    pub lines: Vec<String>,
    /// The number of lines that are left out.
    pub hidden: usize,
}

/// Returns what to show of a failed call. Notes about refusals are reported on their own.
pub fn failure(capability: Capability, text: &str) -> Failure {
    let all: Vec<&str> = text.lines().collect();
    let how = match capability {
        Capability::Execute => all.iter().rposition(|line| line.starts_with(HOW)),
        _ => None,
    };
    let (cause, lines) = match how {
        Some(how) => {
            let cause = all.get(how).copied().unwrap_or_default();
            let before = all.get(..how).unwrap_or_default();
            let output = if before == ["[no output]"] { &[] } else { before };
            let from = output.len().saturating_sub(LINES);
            (cause.trim_matches(['[', ']']), output.get(from..).unwrap_or_default().to_vec())
        }
        None => {
            let lines = all.iter().skip(1).take(LINES).copied().collect();
            (all.first().copied().unwrap_or_default(), lines)
        }
    };
    let of = how.map_or(all.len().saturating_sub(1), |how| how);
    Failure {
        cause: failed(cause),
        hidden: of.saturating_sub(lines.len()),
        lines: lines.into_iter().map(failed).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compilers and test runners print the error last.
    #[test]
    fn the_end_of_a_failed_command_is_shown() {
        let output: String = (1..=40).map(|line| format!("line {line}\n")).collect();
        let text = format!("{output}[command exited with status 101]\n[commands have no network]");
        let shown = failure(Capability::Execute, &text);
        assert_eq!(shown.cause, "command exited with status 101");
        let ends = [shown.lines.first(), shown.lines.last()].map(|line| line.unwrap().as_str());
        assert_eq!(ends, ["line 33", "line 40"]);
        assert_eq!(shown.hidden, 32);
        let killed = "[no output]\n[command was killed: it used too much memory]";
        let shown = failure(Capability::Execute, killed);
        assert_eq!(shown.cause, "command was killed: it used too much memory");
        assert_eq!(shown.lines, Vec::<String>::new());
        let denied = failure(Capability::Execute, "Denied by the user: too early");
        assert_eq!((denied.cause.as_str(), denied.hidden), ("Denied by the user: too early", 0));
    }
}
