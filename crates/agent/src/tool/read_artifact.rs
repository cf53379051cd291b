//! `read_artifact`: reads a truncated tool output, part by part.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Capability, Failure, Output, Tool, ToolContext};

/// Maximum number of characters returned, if the result limit allows as many.
const MAX_CHARS: usize = 8_000;

/// Characters of the limit that are reserved for the notes around the text.
const NOTE_CHARS: usize = 200;

#[derive(Debug)]
pub(super) struct ReadArtifact;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The artifact id from the truncated output; its first eight digits are enough.
    artifact: String,
    /// Start at this character, counted from 0. Default: 0.
    #[serde(default)]
    from: usize,
    /// Return only lines that contain this text, with their line numbers.
    #[serde(default)]
    find: Option<String>,
}

impl Tool for ReadArtifact {
    type Arguments = Arguments;
    const NAME: &'static str = "read_artifact";
    const ABOUT: &'static str = "\
        Read a tool output that was truncated: a character range, or the lines that contain a \
        string. Returns up to 8,000 characters, and the `from` value to continue with if there \
        is more.";
    const CAPABILITY: Capability = Capability::Read;

    async fn run(&self, arguments: Arguments, context: &ToolContext) -> Result<Output, Failure> {
        let Arguments { artifact, from, find } = arguments;
        let session = context.session.id.clone();
        let wanted = artifact.trim().to_ascii_lowercase();
        let bytes = context.on_log(move |log| {
            // Only artifacts of this session: an id from another session opens nothing.
            let known = log.artifacts(&session)?;
            let found =
                known.iter().find(|known| wanted.len() >= 8 && known.hash.starts_with(&wanted));
            found.map(|found| log.artifact(&found.hash)).transpose()
        });
        let bytes = bytes.await?.ok_or_else(|| {
            Failure::new(format!(
                "No artifact {artifact:?} in this session. Copy the id from the truncated output."
            ))
        })?;
        let text = String::from_utf8_lossy(&bytes);
        let room = MAX_CHARS.min(context.result_chars.saturating_sub(NOTE_CHARS));
        match find.filter(|find| !find.is_empty()) {
            Some(find) => Ok(Output::text(lines_with(&text, &find, from, room))),
            None => part(&text, from, room).map(Output::text),
        }
    }
}

/// Returns as much of a text as there is room for, and how to continue.
fn part(text: &str, from: usize, room: usize) -> Result<String, Failure> {
    let all = text.chars().count();
    if from >= all {
        return Err(Failure::new(format!(
            "The artifact has {all} characters; `from` must be smaller."
        )));
    }
    let until = all.min(from + room);
    let part: String = text.chars().skip(from).take(room).collect();
    let next = if until < all { format!("; continue with from: {until}") } else { String::new() };
    Ok(format!("[characters {from} to {until} of {all}{next}]\n{part}"))
}

/// A line that contains the searched text.
struct Hit<'a> {
    number: usize,
    /// Offset of its first character in the whole text.
    begin: usize,
    line: &'a str,
}

/// Returns the lines that contain `find`, starting at character `from`. Of the line with that
/// character, only the rest is searched.
fn hits<'a>(text: &'a str, find: &str, from: usize) -> Vec<Hit<'a>> {
    let at = text.char_indices().nth(from).map_or(text.len(), |(at, _)| at);
    let (before, rest) = text.split_at_checked(at).unwrap_or((text, ""));
    let first = before.matches('\n').count() + 1;
    let mut next = from;
    let mut hits = Vec::new();
    for (at, line) in rest.split('\n').enumerate() {
        if line.contains(find) {
            hits.push(Hit { number: first + at, begin: next, line });
        }
        next = next.saturating_add(line.chars().count() + 1);
    }
    hits
}

/// Returns the lines that contain `find` with their numbers, as many as there is room for, and
/// where the others begin.
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
        return format!("[no line after character {from} contains {find:?}]");
    }
    shown.extend(more.map(|more| format!("[more matching lines; continue with from: {more}]")));
    shown.join("\n")
}

/// Returns part of a line that is too long, starting at the first match, and where the text matches
/// in that line again.
fn passage(hit: &Hit<'_>, find: &str, room: usize) -> (String, Option<usize>) {
    let before = hit.line.split_once(find).map_or(0, |(before, _)| before.chars().count());
    let part: String = hit.line.chars().skip(before).take(room).collect();
    let after: String = hit.line.chars().skip(before + room).collect();
    let begin = hit.begin + before;
    let shown = format!(
        "{}: …{part}…\n[long line; this part starts at character {begin} of the artifact]",
        hit.number
    );
    (shown, after.contains(find).then_some(begin + room))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_reports_how_to_continue() {
        assert_eq!(
            part("größer", 0, 4).unwrap(),
            "[characters 0 to 4 of 6; continue with from: 4]\ngröß"
        );
        assert_eq!(part("größer", 4, 4).unwrap(), "[characters 4 to 6 of 6]\ner");
        assert!(part("größer", 6, 4).unwrap_err().text.contains("has 6 characters"));
    }

    #[test]
    fn matching_lines_are_whole_and_the_rest_can_be_read() {
        let text = "high 1\r\nlow\nhigh 2\nhigh 3\n";
        assert_eq!(lines_with(text, "high", 0, 40), "1: high 1\n3: high 2\n4: high 3");
        let first = lines_with(text, "high", 0, 25);
        assert_eq!(first, "1: high 1\n3: high 2\n[more matching lines; continue with from: 19]");
        assert_eq!(lines_with(text, "high", 19, 25), "4: high 3");
        assert_eq!(
            lines_with(text, "high", 22, 25),
            "[no line after character 22 contains \"high\"]"
        );
        assert_eq!(lines_with(text, "ebb", 0, 25), "[no line after character 0 contains \"ebb\"]");
    }

    /// Some outputs consist of a single line.
    #[test]
    fn a_long_line_is_shown_from_the_match_on() {
        let text = format!("{}high {}high\nhigh\n", "low ".repeat(5), "ebb ".repeat(5));
        let first = lines_with(&text, "high", 0, 12);
        assert!(
            first.starts_with("1: …high ebb ebb…\n[long line; this part starts at character 20"),
            "{first}"
        );
        assert!(first.ends_with("\n[more matching lines; continue with from: 32]"), "{first}");
        assert_eq!(lines_with(&text, "high", 45, 20), "1: high\n2: high");
        let second = lines_with(&text, "high", 32, 12);
        assert!(second.starts_with("1: …high…") && second.ends_with("from: 50]"), "{second}");
    }
}
