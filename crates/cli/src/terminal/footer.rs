//! The footer below everything else while the agent works: its activity, the queued lines, the open
//! question, the line being typed. It never fills the screen, because the row of the cursor must
//! stay visible for the cursor to return to it.

use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};

use super::editing::Draft;
use super::markdown::{AROUND, NARROWEST, Size};
use crate::show::{DIM, truncate, width};
use crate::text;

const YELLOW: Style = AnsiColor::Yellow.on_default();

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME: Duration = Duration::from_millis(100);

/// Maximum number of queued lines shown.
const MAX_QUEUED: usize = 3;

/// What the agent is doing.
pub struct Working {
    pub about: String,
    pub since: Instant,
    /// The time left, if it is known.
    pub left: Option<Duration>,
    /// The last line of a command's output; empty if there is none.
    pub output: String,
}

impl Working {
    fn line(&self, columns: usize) -> String {
        let elapsed = self.since.elapsed();
        let frame = FRAMES
            .iter()
            .cycle()
            .nth(usize::try_from(elapsed.as_millis() / FRAME.as_millis()).unwrap_or(0) % 10);
        let time = match self.left {
            Some(left) => text!("footer-in", time = duration(left.as_secs() + 1)),
            None => duration(elapsed.as_secs()),
        };
        let frame = frame.unwrap_or(&"");
        let room = columns.saturating_sub(width(&time) + 5);
        // In a narrow window the activity is more important than the time.
        if room < NARROWEST {
            return format!("{frame} {} ", truncate(&self.about, columns.saturating_sub(4)));
        }
        format!("{frame} {} {DIM}{time}{DIM:#}", truncate(&self.about, room))
    }
}

fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => text!("footer-seconds", seconds = seconds),
        _ => {
            let minutes = (seconds / 60).to_string();
            let rest = format!("{:02}", seconds % 60);
            text!("footer-minutes", minutes = minutes, seconds = rest)
        }
    }
}

/// What the footer shows.
pub struct Footer<'a> {
    pub working: Option<Working>,
    /// Lines that the user typed ahead.
    pub queued: Vec<&'a str>,
    /// A question that waits for the user.
    pub question: Option<&'a str>,
    /// The line being typed; an empty one is shown while a question is open.
    pub draft: Option<&'a Draft>,
}

impl Footer<'_> {
    /// Returns the rows. If they do not all fit, the line being typed comes first.
    fn lines(self, size: Size) -> Vec<String> {
        let columns = size.columns.max(NARROWEST);
        let mut room = size.rows.saturating_sub(1).min(AROUND);
        let mut take = |line: Option<String>| {
            let line = line.filter(|_| room > 0);
            room -= usize::from(line.is_some());
            line
        };
        let draft_row =
            |draft: &Draft| format!("» {}", draft_text(draft, columns.saturating_sub(5)));
        let draft = take(self.draft.map(draft_row));
        let question_row = |text: &str| {
            let text = truncate(&text.replace('\n', " "), columns.saturating_sub(3));
            format!("{YELLOW}? {text}{YELLOW:#}")
        };
        let question = take(self.question.map(question_row));
        let last_line = self
            .working
            .as_ref()
            .map(|working| working.output.as_str())
            .filter(|output| !output.is_empty());
        let output_row =
            |text: &str| format!("  {DIM}{}{DIM:#}", truncate(text, columns.saturating_sub(3)));
        let shown_output = last_line.map(output_row);
        let working = take(self.working.map(|working| working.line(columns)));
        let output = take(shown_output);
        let queued = queued_rows(&self.queued, room, columns);
        working.into_iter().chain(output).chain(queued).chain(question).chain(draft).collect()
    }

    /// Returns what draws the footer below the cursor, which is in `column`, and moves the cursor
    /// back there; empty if there is nothing to show.
    pub fn draw(self, column: usize, size: Size) -> String {
        let lines = self.lines(size);
        if lines.is_empty() {
            return String::new();
        }
        let below = usize::from(column > 0);
        let mut out = "\n".repeat(below) + &lines.join("\n");
        if lines.len() + below > 1 {
            out += &format!("\x1b[{}A", lines.len() + below - 1);
        }
        out.push('\r');
        if column > 0 {
            out += &format!("\x1b[{column}C");
        }
        out
    }
}

/// Formats the queued lines in at most `room` rows: the first lines, and how many more there are.
fn queued_rows(queued: &[&str], room: usize, columns: usize) -> Vec<String> {
    let line = |text: &str| {
        format!("{DIM}↳ {}{DIM:#}", truncate(&text.replace('\n', " "), columns.saturating_sub(3)))
    };
    if queued.len() <= room.min(MAX_QUEUED) {
        return queued.iter().map(|text| line(text)).collect();
    }
    let shown = room.saturating_sub(1).min(MAX_QUEUED);
    let more = (room > 0).then(|| line(&text!("footer-more", count = queued.len() - shown)));
    queued.iter().take(shown).map(|text| line(text)).chain(more).collect()
}

/// Formats the line being typed on one row: as much before the cursor as fits, then the text after
/// it if there is room.
fn draft_text(draft: &Draft, columns: usize) -> String {
    let (before, after) = draft.parts();
    let shown = tail(before, columns);
    let room = columns.saturating_sub(width(&shown));
    format!("{shown}▏{}", truncate(&after.replace('\n', "⏎"), room))
}

/// Returns the end of a text that fits on one row.
fn tail(text: &str, columns: usize) -> String {
    let text = text.replace('\n', "⏎");
    let from = text.char_indices().rev().map(|(at, _)| at).take_while(|at| {
        text.get(*at..).is_some_and(|rest| unicode_width::UnicodeWidthStr::width(rest) <= columns)
    });
    let from = from.last().unwrap_or(text.len());
    truncate(text.get(from..).unwrap_or_default(), columns + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn footer<'a>(draft: Option<&'a Draft>, queued: &[&'a str]) -> Footer<'a> {
        Footer { working: None, queued: queued.to_vec(), question: None, draft }
    }

    /// Returns the contents of a screen with this many rows, and the position of the cursor.
    fn drawn(rows: u16, before: &str, footer: Footer<'_>) -> (String, (u16, u16)) {
        let mut terminal = vt100::Parser::new(rows.try_into().unwrap(), 20.try_into().unwrap(), 0);
        terminal.process(before.replace('\n', "\r\n").as_bytes());
        let (_, column) = terminal.screen().cursor_position();
        let size = Size { columns: 20, rows: rows.into() };
        terminal.process(footer.draw(column.into(), size).replace('\n', "\r\n").as_bytes());
        (terminal.screen().contents(), terminal.screen().cursor_position())
    }

    fn screen(before: &str, draft: Option<&str>, queued: &[&str]) -> (String, (u16, u16)) {
        drawn(6, before, footer(draft.map(Draft::new).as_ref(), queued))
    }

    #[test]
    fn the_footer_is_below_and_the_cursor_returns() {
        assert_eq!(screen("an answ", Some("no"), &[]), ("an answ\n» no▏".to_owned(), (0, 7)));
        assert_eq!(
            screen("a\nb\n", Some("no"), &["in UTC"]),
            ("a\nb\n↳ in UTC\n» no▏".to_owned(), (2, 0))
        );
        assert_eq!(
            screen("1\n2\n3\n4\n5\n6", Some("no"), &[]),
            ("2\n3\n4\n5\n6\n» no▏".to_owned(), (4, 1)),
            "scrolled"
        );
    }

    #[test]
    fn the_end_of_a_long_line_is_shown() {
        assert_eq!(screen("", Some("0123456789abcdefghij"), &[]).0, "» 56789abcdefghij▏");
        assert_eq!(screen("", Some("a\nb"), &[]).0, "» a⏎b▏");
    }

    #[test]
    fn the_cursor_is_shown_where_it_was_moved() {
        let moved = |text: &str, cursor| Draft { text: text.to_owned(), cursor };
        assert_eq!(drawn(6, "", footer(Some(&moved("in UTC", 2)), &[])).0, "» in▏ UTC");
        assert_eq!(
            drawn(6, "", footer(Some(&moved("0123456789abcdefghij", 3)), &[])).0,
            "» 012▏3456789abcd…"
        );
    }

    #[test]
    fn nothing_is_drawn_if_there_is_nothing_to_show() {
        assert_eq!(screen("a", None, &[]), ("a".to_owned(), (0, 1)));
    }

    #[test]
    fn the_first_queued_lines_are_shown() {
        let lines = ["1", "2", "3", "4", "5"];
        assert_eq!(screen("", Some("x"), &lines).0, "↳ 1\n↳ 2\n↳ 3\n↳ … 2 more\n» x▏");
        assert_eq!(screen("", None, &lines[..3]).0, "↳ 1\n↳ 2\n↳ 3");
    }

    #[test]
    fn a_question_is_above_the_line_being_typed() {
        let empty = Draft::default();
        let footer = Footer { question: Some("rm: high risk"), ..footer(Some(&empty), &["later"]) };
        assert_eq!(drawn(6, "a\n", footer).0, "a\n↳ later\n? rm: high risk\n» ▏");
    }

    #[test]
    fn a_small_window_shows_the_line_being_typed_and_the_row_of_the_cursor() {
        let lines = ["1", "2", "3", "4", "5"];
        assert_eq!(
            drawn(3, "an answ", footer(Some(&Draft::new("x")), &lines)),
            ("an answ\n↳ … 5 more\n» x▏".to_owned(), (0, 7))
        );
        assert_eq!(
            drawn(2, "an answ", footer(Some(&Draft::new("x")), &lines)),
            ("an answ\n» x▏".to_owned(), (0, 7))
        );
        assert_eq!(
            drawn(1, "an answ", footer(Some(&Draft::new("x")), &lines)),
            ("an answ".to_owned(), (0, 7))
        );
        let working = || Working {
            about: "thinking".to_owned(),
            since: Instant::now(),
            left: None,
            output: String::new(),
        };
        let busy = Footer { working: Some(working()), ..footer(None, &[]) };
        assert!(drawn(2, "a", busy).0.ends_with(" thinking 0 s"));
        let yes = Draft::new("y");
        let question =
            Footer { working: Some(working()), question: Some("rm?"), ..footer(Some(&yes), &[]) };
        assert_eq!(drawn(3, "a", question).0, "a\n? rm?\n» y▏");
    }

    #[test]
    fn the_last_line_of_output_is_below_the_command() {
        let working = Working {
            about: "make".to_owned(),
            since: Instant::now(),
            left: None,
            output: "compiling a very long name".to_owned(),
        };
        let shown = drawn(6, "", Footer { working: Some(working), ..footer(None, &[]) }).0;
        assert!(shown.ends_with("make 0 s\n  compiling a very…"), "{shown}");
    }

    #[test]
    fn the_elapsed_time_or_the_time_left_is_shown() {
        let working = |left| Working {
            about: "waiting".to_owned(),
            since: Instant::now(),
            left,
            output: String::new(),
        };
        assert!(working(None).line(80).contains("waiting \u{1b}[2m0 s"));
        assert!(working(Some(Duration::from_secs(61))).line(80).contains("in 1 min 02 s"));
    }
}
