//! What stands below everything else while the agent works: what it does, what waits to be said to it, what is being typed.

use std::time::{Duration, Instant};

use anstyle::Style;

use crate::show::cut;

const DIM: Style = Style::new().dimmed();

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME: Duration = Duration::from_millis(100);

/// What the agent is doing, and since when.
pub struct Working {
    pub about: String,
    pub since: Instant,
}

impl Working {
    fn line(&self, columns: usize) -> String {
        let gone = self.since.elapsed();
        let frame = FRAMES.iter().cycle().nth(usize::try_from(gone.as_millis() / FRAME.as_millis()).unwrap_or(0) % 10);
        let time = match gone.as_secs() {
            seconds @ 0..60 => format!("{seconds} s"),
            seconds => format!("{} min {:02} s", seconds / 60, seconds % 60),
        };
        let about = cut(&self.about, columns.saturating_sub(time.len() + 5));
        format!("{} {about} {DIM}{time}{DIM:#}", frame.unwrap_or(&""))
    }
}

/// What is shown.
pub struct Footer<'a> {
    pub working: Option<&'a Working>,
    /// What was said and not heard yet.
    pub waiting: &'a mut dyn Iterator<Item = &'a String>,
    /// What is being typed; empty where somebody is asked and has typed nothing.
    pub typed: Option<&'a str>,
}

impl Footer<'_> {
    fn lines(self, columns: usize) -> Vec<String> {
        let mut lines: Vec<String> = self.working.map(|working| working.line(columns)).into_iter().collect();
        for said in self.waiting {
            lines.push(format!("{DIM}↳ {}{DIM:#}", cut(&said.replace('\n', " "), columns.saturating_sub(3))));
        }
        lines.extend(self.typed.map(|text| format!("» {}▏", end(text, columns.saturating_sub(5)))));
        lines
    }

    /// What draws it below a cursor that stands in `column`, and brings the cursor back there; nothing if there is nothing to
    /// show.
    pub fn draw(self, column: usize, columns: usize) -> String {
        let lines = self.lines(columns);
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

/// The end of what is typed, on one row.
fn end(text: &str, columns: usize) -> String {
    let text = text.replace('\n', "⏎");
    let from =
        text.char_indices().rev().map(|(at, _)| at).take_while(|at| {
            text.get(*at..).is_some_and(|rest| unicode_width::UnicodeWidthStr::width(rest) <= columns)
        });
    let from = from.last().unwrap_or(text.len());
    cut(text.get(from..).unwrap_or_default(), columns + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is on the screen, and where the cursor stands.
    fn screen(before: &str, typed: Option<&str>, waiting: &[String]) -> (String, (u16, u16)) {
        let mut terminal = vt100::Parser::new(6.try_into().unwrap(), 20.try_into().unwrap(), 0);
        terminal.process(before.replace('\n', "\r\n").as_bytes());
        let (_, column) = terminal.screen().cursor_position();
        let footer = Footer { working: None, waiting: &mut waiting.iter(), typed };
        terminal.process(footer.draw(column.into(), 20).replace('\n', "\r\n").as_bytes());
        (terminal.screen().contents(), terminal.screen().cursor_position())
    }

    #[test]
    fn it_stands_below_and_leaves_the_cursor_where_it_was() {
        assert_eq!(screen("an answ", Some("no"), &[]), ("an answ\n» no▏".to_owned(), (0, 7)));
        assert_eq!(screen("a\nb\n", Some("no"), &["in UTC".to_owned()]), ("a\nb\n↳ in UTC\n» no▏".to_owned(), (2, 0)));
        assert_eq!(
            screen("1\n2\n3\n4\n5\n6", Some("no"), &[]),
            ("2\n3\n4\n5\n6\n» no▏".to_owned(), (4, 1)),
            "scrolled"
        );
    }

    #[test]
    fn of_a_long_line_the_end_is_shown() {
        assert_eq!(screen("", Some("0123456789abcdefghij"), &[]).0, "» 56789abcdefghij▏");
        assert_eq!(screen("", Some("a\nb"), &[]).0, "» a⏎b▏");
    }

    #[test]
    fn nothing_is_drawn_where_there_is_nothing_to_show() {
        assert_eq!(screen("a", None, &[]), ("a".to_owned(), (0, 1)));
    }
}
