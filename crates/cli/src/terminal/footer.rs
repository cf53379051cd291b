//! What stands below everything else while the agent works: what it does, what waits to be said to
//! it, what it asks, what is being typed. Each is one row, and all of them leave the row of the
//! cursor on the screen: it must be gone back to.

use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};

use super::editing::Draft;
use super::markdown::{AROUND, NARROWEST, Size};
use crate::lang::say;
use crate::show::{DIM, cut, width};

const YELLOW: Style = AnsiColor::Yellow.on_default();

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME: Duration = Duration::from_millis(100);

/// How many lines are shown of what waits to be heard.
const WAITING: usize = 3;

/// What the agent is doing.
pub struct Working {
    pub about: String,
    /// Since when.
    pub since: Instant,
    /// How long it will take, where that is known.
    pub left: Option<Duration>,
}

impl Working {
    fn line(&self, columns: usize) -> String {
        let gone = self.since.elapsed();
        let frame = FRAMES
            .iter()
            .cycle()
            .nth(usize::try_from(gone.as_millis() / FRAME.as_millis()).unwrap_or(0) % 10);
        let time = match self.left {
            Some(left) => say(
                format!("in {}", span(left.as_secs() + 1)),
                format!("{}后", span(left.as_secs() + 1)),
            ),
            None => span(gone.as_secs()),
        };
        let room = columns.saturating_sub(width(&time) + 5);
        // In a narrow window it is more important what is done than since when.
        let (room, time) = if room < NARROWEST {
            (columns.saturating_sub(4), String::new())
        } else {
            (room, time)
        };
        format!("{} {} {DIM}{time}{DIM:#}", frame.unwrap_or(&""), cut(&self.about, room))
    }
}

fn span(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        _ => format!("{} min {:02} s", seconds / 60, seconds % 60),
    }
}

/// What is shown.
pub struct Footer<'a> {
    pub working: Option<Working>,
    /// What was said and not heard yet.
    pub waiting: Vec<&'a str>,
    /// What somebody is asked.
    pub asked: Option<&'a str>,
    /// What is being typed; empty where somebody is asked and has typed nothing.
    pub typed: Option<&'a Draft>,
}

impl Footer<'_> {
    /// Its rows. Where there is no room for all, what is typed comes first.
    fn lines(self, size: Size) -> Vec<String> {
        let columns = size.columns.max(NARROWEST);
        let mut room = size.rows.saturating_sub(1).min(AROUND);
        let mut take = |line: Option<String>| {
            let line = line.filter(|_| room > 0);
            room -= usize::from(line.is_some());
            line
        };
        let typed =
            take(self.typed.map(|typed| format!("» {}", draft(typed, columns.saturating_sub(5)))));
        let asked = |text: &str| {
            format!(
                "{YELLOW}? {}{YELLOW:#}",
                cut(&text.replace('\n', " "), columns.saturating_sub(3))
            )
        };
        let asked = take(self.asked.map(asked));
        let working = take(self.working.map(|working| working.line(columns)));
        let waiting = waiting(&self.waiting, room, columns);
        working.into_iter().chain(waiting).chain(asked).chain(typed).collect()
    }

    /// What draws it below a cursor that stands in `column`, and brings the cursor back there;
    /// nothing if there is nothing to show.
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

/// What waits to be heard, in at most so many rows: the first lines, and how many there are beside
/// them.
fn waiting(said: &[&str], room: usize, columns: usize) -> Vec<String> {
    let line = |text: &str| {
        format!("{DIM}↳ {}{DIM:#}", cut(&text.replace('\n', " "), columns.saturating_sub(3)))
    };
    if said.len() <= room.min(WAITING) {
        return said.iter().map(|text| line(text)).collect();
    }
    let shown = room.saturating_sub(1).min(WAITING);
    let more = said.len() - shown;
    let more = say(format!("… {more} more"), format!("… 还有 {more} 条"));
    let more = (room > 0).then(|| line(&more));
    said.iter().take(shown).map(|text| line(text)).chain(more).collect()
}

/// What is typed, on one row: as much before the cursor as fits, and what room is left for what
/// stands behind it.
fn draft(draft: &Draft, columns: usize) -> String {
    let (before, behind) = draft.parts();
    let shown = end(before, columns);
    let room = columns.saturating_sub(width(&shown));
    format!("{shown}▏{}", cut(&behind.replace('\n', "⏎"), room))
}

/// The end of a text, on one row.
fn end(text: &str, columns: usize) -> String {
    let text = text.replace('\n', "⏎");
    let from = text.char_indices().rev().map(|(at, _)| at).take_while(|at| {
        text.get(*at..).is_some_and(|rest| unicode_width::UnicodeWidthStr::width(rest) <= columns)
    });
    let from = from.last().unwrap_or(text.len());
    cut(text.get(from..).unwrap_or_default(), columns + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn footer<'a>(typed: Option<&'a Draft>, waiting: &[&'a str]) -> Footer<'a> {
        Footer { working: None, waiting: waiting.to_vec(), asked: None, typed }
    }

    /// What is on a screen of so many rows, and where the cursor stands.
    fn drawn(rows: u16, before: &str, footer: Footer<'_>) -> (String, (u16, u16)) {
        let mut terminal = vt100::Parser::new(rows.try_into().unwrap(), 20.try_into().unwrap(), 0);
        terminal.process(before.replace('\n', "\r\n").as_bytes());
        let (_, column) = terminal.screen().cursor_position();
        let size = Size { columns: 20, rows: rows.into() };
        terminal.process(footer.draw(column.into(), size).replace('\n', "\r\n").as_bytes());
        (terminal.screen().contents(), terminal.screen().cursor_position())
    }

    fn screen(before: &str, typed: Option<&str>, waiting: &[&str]) -> (String, (u16, u16)) {
        drawn(6, before, footer(typed.map(Draft::new).as_ref(), waiting))
    }

    #[test]
    fn it_stands_below_and_leaves_the_cursor_where_it_was() {
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
    fn of_a_long_line_the_end_is_shown() {
        assert_eq!(screen("", Some("0123456789abcdefghij"), &[]).0, "» 56789abcdefghij▏");
        assert_eq!(screen("", Some("a\nb"), &[]).0, "» a⏎b▏");
    }

    #[test]
    fn the_cursor_stands_where_it_was_moved_to() {
        let moved = |text: &str, cursor| Draft { text: text.to_owned(), cursor };
        assert_eq!(drawn(6, "", footer(Some(&moved("in UTC", 2)), &[])).0, "» in▏ UTC");
        assert_eq!(
            drawn(6, "", footer(Some(&moved("0123456789abcdefghij", 3)), &[])).0,
            "» 012▏3456789abcd…"
        );
    }

    #[test]
    fn nothing_is_drawn_where_there_is_nothing_to_show() {
        assert_eq!(screen("a", None, &[]), ("a".to_owned(), (0, 1)));
    }

    #[test]
    fn of_many_lines_that_wait_the_first_are_shown() {
        let lines = ["1", "2", "3", "4", "5"];
        assert_eq!(screen("", Some("x"), &lines).0, "↳ 1\n↳ 2\n↳ 3\n↳ … 2 more\n» x▏");
        assert_eq!(screen("", None, &lines[..3]).0, "↳ 1\n↳ 2\n↳ 3");
    }

    #[test]
    fn a_question_stands_above_what_is_typed() {
        let nothing = Draft::default();
        let asked = Footer { asked: Some("rm: high risk"), ..footer(Some(&nothing), &["later"]) };
        assert_eq!(drawn(6, "a\n", asked).0, "a\n↳ later\n? rm: high risk\n» ▏");
    }

    #[test]
    fn a_small_window_shows_what_is_typed_and_keeps_the_row_of_the_cursor() {
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
        let working =
            || Working { about: "thinking".to_owned(), since: Instant::now(), left: None };
        let busy = Footer { working: Some(working()), ..footer(None, &[]) };
        assert!(drawn(2, "a", busy).0.ends_with(" thinking 0 s"));
        let yes = Draft::new("y");
        let asked =
            Footer { working: Some(working()), asked: Some("rm?"), ..footer(Some(&yes), &[]) };
        assert_eq!(drawn(3, "a", asked).0, "a\n? rm?\n» y▏");
    }

    #[test]
    fn the_time_is_what_has_gone_or_what_is_left() {
        let working = |left| Working { about: "waiting".to_owned(), since: Instant::now(), left };
        assert!(working(None).line(80).contains("waiting \u{1b}[2m0 s"));
        assert!(working(Some(Duration::from_secs(61))).line(80).contains("in 1 min 02 s"));
    }
}
