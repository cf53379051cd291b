//! `read_artifact`: an output that was too large to be shown, part by part.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Capability, Failure, Output, Tool, ToolContext};

/// How many characters are given at once, where a result may have as many.
const CHARS: usize = 8_000;

/// How many of them are kept for the words around.
const AROUND: usize = 200;

/// Reads artifacts.
#[derive(Debug)]
pub(super) struct ReadArtifact;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The handle; its first eight digits are enough.
    artifact: String,
    /// The first character to look at, from 0.
    #[serde(default)]
    from: usize,
    /// Only the lines that hold this text, each with its number.
    #[serde(default)]
    find: Option<String>,
}

impl Tool for ReadArtifact {
    type Arguments = Arguments;
    const NAME: &'static str = "read_artifact";
    const ABOUT: &'static str = "Read an output that was too large to be shown whole: from a character on, or the lines that hold a text.";
    const CAPABILITY: Capability = Capability::Read;

    async fn run(&self, arguments: Arguments, context: &ToolContext) -> Result<Output, Failure> {
        let Arguments { artifact, from, find } = arguments;
        let (id, wanted) = (context.session.id.clone(), artifact.trim().to_ascii_lowercase());
        let bytes = context.on_log(move |log| {
            // Only those of this session: a handle from elsewhere opens nothing.
            let known = log.artifacts(&id)?;
            let found =
                known.iter().find(|known| wanted.len() >= 8 && known.hash.starts_with(&wanted));
            found.map(|found| log.artifact(&found.hash)).transpose()
        });
        let bytes = bytes
            .await?
            .ok_or_else(|| Failure::new(format!("this session has no artifact {artifact:?}")))?;
        let text = String::from_utf8_lossy(&bytes);
        let room = CHARS.min(context.result_chars.saturating_sub(AROUND));
        match find.filter(|find| !find.is_empty()) {
            Some(find) => Ok(Output::text(lines_with(&text, &find, from, room))),
            None => part(&text, from, room).map(Output::text),
        }
    }
}

/// So much of a text as there is room for, and how to go on.
fn part(text: &str, from: usize, room: usize) -> Result<String, Failure> {
    let all = text.chars().count();
    if from >= all {
        return Err(Failure::new(format!("the artifact has {all} characters; from must be less")));
    }
    let until = all.min(from + room);
    let part: String = text.chars().skip(from).take(room).collect();
    let next = if until < all { format!("; go on with from: {until}") } else { String::new() };
    Ok(format!("[characters {from} to {until} of {all}{next}]\n{part}"))
}

/// A line that holds what is looked for.
struct Hit<'a> {
    number: usize,
    /// The place of its first character in the whole text.
    begin: usize,
    line: &'a str,
}

/// The lines of a text that hold another one, from a character on: of the line in which that
/// stands, only the rest counts.
fn hits<'a>(text: &'a str, find: &str, from: usize) -> Vec<Hit<'a>> {
    let at = text.char_indices().nth(from).map_or(text.len(), |(at, _)| at);
    let (before, rest) = text.split_at_checked(at).unwrap_or((text, ""));
    let (first, mut next) = (before.matches('\n').count() + 1, from);
    let mut hits = Vec::new();
    for (at, line) in rest.split('\n').enumerate() {
        if line.contains(find) {
            hits.push(Hit { number: first + at, begin: next, line });
        }
        next = next.saturating_add(line.chars().count() + 1);
    }
    hits
}

/// The lines that hold a text, each with its number, as many as there is room for; and where the
/// others begin.
fn lines_with(text: &str, find: &str, from: usize, room: usize) -> String {
    let hits = hits(text, find, from);
    let mut shown: Vec<String> = Vec::new();
    let mut left = room;
    for hit in &hits {
        let line = format!("{}: {}", hit.number, hit.line.trim_end_matches('\r'));
        let Some(rest) = left.checked_sub(line.chars().count() + 1) else { break };
        left = rest;
        shown.push(line);
    }
    let more = match hits.get(shown.len()) {
        Some(long) if shown.is_empty() => {
            let (passage, again) = passage(long, find, room);
            shown.push(passage);
            again.or_else(|| hits.get(1).map(|hit| hit.begin))
        }
        next => next.map(|hit| hit.begin),
    };
    if shown.is_empty() {
        return format!("[no line from character {from} on holds {find:?}]");
    }
    shown.extend(
        more.map(|more| format!("[more lines from character {more}; go on with from: {more}]")),
    );
    shown.join("\n")
}

/// A line that is longer than there is room for, from the text on that is looked for; and where
/// that stands in it again.
fn passage(hit: &Hit<'_>, find: &str, room: usize) -> (String, Option<usize>) {
    let before = hit.line.split_once(find).map_or(0, |(before, _)| before.chars().count());
    let part: String = hit.line.chars().skip(before).take(room).collect();
    let after: String = hit.line.chars().skip(before + room).collect();
    let begin = hit.begin + before;
    let words = format!(
        "{}: …{part}…\n[the line is long; this begins at character {begin} of the artifact]",
        hit.number
    );
    (words, after.contains(find).then_some(begin + room))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_says_how_to_go_on() {
        assert_eq!(
            part("größer", 0, 4).unwrap(),
            "[characters 0 to 4 of 6; go on with from: 4]\ngröß"
        );
        assert_eq!(part("größer", 4, 4).unwrap(), "[characters 4 to 6 of 6]\ner");
        assert!(part("größer", 6, 4).unwrap_err().text.contains("has 6 characters"));
    }

    #[test]
    fn lines_that_are_found_are_whole_and_the_others_can_be_had() {
        let text = "high 1\r\nlow\nhigh 2\nhigh 3\n";
        assert_eq!(lines_with(text, "high", 0, 40), "1: high 1\n3: high 2\n4: high 3");
        let first = lines_with(text, "high", 0, 25);
        assert_eq!(
            first,
            "1: high 1\n3: high 2\n[more lines from character 19; go on with from: 19]"
        );
        assert_eq!(lines_with(text, "high", 19, 25), "4: high 3");
        assert_eq!(
            lines_with(text, "high", 22, 25),
            "[no line from character 22 on holds \"high\"]"
        );
        assert_eq!(lines_with(text, "ebb", 0, 25), "[no line from character 0 on holds \"ebb\"]");
    }

    /// Some outputs are one line.
    #[test]
    fn a_long_line_is_shown_from_what_was_looked_for() {
        let text = format!("{}high {}high\nhigh\n", "low ".repeat(5), "ebb ".repeat(5));
        let first = lines_with(&text, "high", 0, 12);
        assert!(
            first.starts_with("1: …high ebb ebb…\n[the line is long; this begins at character 20"),
            "{first}"
        );
        assert!(
            first.ends_with("\n[more lines from character 32; go on with from: 32]"),
            "{first}"
        );
        assert_eq!(lines_with(&text, "high", 45, 20), "1: high\n2: high");
        let second = lines_with(&text, "high", 32, 12);
        assert!(second.starts_with("1: …high…") && second.ends_with("from: 50]"), "{second}");
    }
}
