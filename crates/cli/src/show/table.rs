//! A plan for people: what it comes to, then what became of each turn, then what was odd.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use unicode_width::UnicodeWidthStr;
use waterline::history::AtomKind;
use waterline::plan::{Action, Slot, Treatment};
use waterline::warning::Oddity;

use super::text::{columns, cut};
use super::{DIM, Report, number, plain};

const BAR: usize = 12;
const BOLD: Style = Style::new().bold();

/// Slots of one turn that were treated alike.
struct Row {
    sources: Vec<usize>,
    treatment: Treatment,
    tokens: usize,
    text: String,
    turn: usize,
}

impl Row {
    /// Whether a slot was treated as the row's last one was: in the same turn, or for the same
    /// reason.
    fn joins(&self, slot: &Slot, turn: usize) -> bool {
        let same_turn = self.turn == turn && slot.reason.is_empty();
        let same_reason = !slot.treatment.is_sent() && self.text == slot.reason;
        self.treatment == slot.treatment && (same_turn || same_reason)
    }
}

/// One conversation in full.
pub fn table(out: &mut impl Write, name: &str, report: &Report<'_>) -> Result<()> {
    header(out, name, report)?;
    let rows = rows(report);
    let most = rows.iter().map(|row| row.tokens).max().unwrap_or(0);
    let ranges: Vec<String> = rows.iter().map(|row| ranges(&row.sources, report.outside)).collect();
    let wide = ranges.iter().map(|text| text.width()).max().unwrap_or(0).max("messages".len());
    let room = columns().saturating_sub(wide + 10 + 9 + BAR + 6);
    writeln!(
        out,
        "{DIM}{:<wide$}  {:<9} {:>8}  {:<BAR$}  what and why{DIM:#}",
        "messages", "treatment", "tokens", ""
    )?;
    for (row, range) in rows.iter().zip(&ranges) {
        let style = colour(row.treatment);
        let tokens = if row.tokens == 0 { String::new() } else { number(row.tokens) };
        write!(out, "{range:<wide$}  {style}{:<9}{style:#} {tokens:>8}  ", row.treatment.name())?;
        writeln!(out, "{style}{}{style:#}  {}", bar(row.tokens, most), cut(&row.text, room))?;
    }
    if report.tools > 0 {
        writeln!(
            out,
            "{:<wide$}  {:<9} {:>8}  {:<BAR$}  tool definitions",
            "–",
            "",
            number(report.tools),
            bar(report.tools, most)
        )?;
    }
    warnings(out, report)
}

/// One conversation among many, on a line.
pub fn line(out: &mut impl Write, report: &Report<'_>) -> Result<()> {
    let tokens = report.tokens;
    let action = match report.action {
        Action::Extend => "fits",
        Action::Fold { .. } => "folded",
    };
    let odd = report.warnings.len();
    let odd = match odd {
        0 => String::new(),
        1 => "  1 warning".to_owned(),
        more => format!("  {more} warnings"),
    };
    writeln!(
        out,
        "{:>9} → {:>8} {:>4}%  {action:<6}  {}{DIM}{odd}{DIM:#}",
        number(tokens.before),
        number(tokens.after),
        share(tokens.after, tokens.window),
        cut(&report.id, 60),
    )?;
    Ok(())
}

fn header(out: &mut impl Write, name: &str, report: &Report<'_>) -> Result<()> {
    let tokens = report.tokens;
    let model = plain(report.model_name.unwrap_or("no model named"));
    let name = plain(name);
    let counting = report.history.counter().method();
    writeln!(
        out,
        "{BOLD}{name}{BOLD:#}  {} messages · policy {} · {model} ({counting})",
        number(report.history.len() - report.outside),
        report.policy.name
    )?;
    let gauge = bar(tokens.after, tokens.window.max(tokens.after));
    let (before, after, window) =
        (number(tokens.before), number(tokens.after), number(tokens.window));
    writeln!(
        out,
        "{BOLD}{before} → {after} tokens{BOLD:#}  {gauge} {}% of {window}  {DIM}high {} · low {}{DIM:#}",
        share(tokens.after, tokens.window),
        number(tokens.high),
        number(tokens.low)
    )?;
    match report.action {
        Action::Extend if tokens.after > tokens.window => {
            writeln!(out, "nothing can be folded, and it does not fit\n")?
        }
        Action::Extend if report.rendered.messages.is_empty() => {
            writeln!(out, "there is nothing to send\n")?
        }
        Action::Extend => writeln!(out, "everything fits: nothing was folded\n")?,
        Action::Fold { reason, .. } => writeln!(out, "folded, because {reason}\n")?,
    }
    Ok(())
}

fn share(part: usize, whole: usize) -> usize {
    (part * 100).checked_div(whole).unwrap_or(0)
}

fn rows(report: &Report<'_>) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for slot in report.slots {
        let turn = turn(slot, report);
        match rows.last_mut() {
            Some(row) if row.joins(slot, turn) => {
                row.sources.extend(&slot.sources);
                row.tokens += slot.tokens;
            }
            _ => rows.push(Row {
                sources: slot.sources.clone(),
                treatment: slot.treatment,
                tokens: slot.tokens,
                text: if slot.reason.is_empty() {
                    opening(slot, report)
                } else {
                    slot.reason.clone()
                },
                turn,
            }),
        }
    }
    rows
}

fn turn(slot: &Slot, report: &Report<'_>) -> usize {
    let atom = slot.sources.first().and_then(|&source| report.history.atom_of(source));
    atom.and_then(|at| report.history.atom(at)).map_or(0, |atom| atom.turn)
}

/// The first words of a slot.
fn opening(slot: &Slot, report: &Report<'_>) -> String {
    let Some(message) = slot.sources.first().and_then(|&source| report.history.message(source))
    else {
        return String::new();
    };
    let atom = slot
        .sources
        .first()
        .and_then(|&source| report.history.atom_of(source))
        .and_then(|at| report.history.atom(at));
    let calls = message.calls().map(|call| call.name.as_str()).collect::<Vec<_>>().join(", ");
    match atom.map(|atom| atom.kind) {
        Some(AtomKind::System) => "system prompt".to_owned(),
        Some(AtomKind::Exchange) if !message.has_text() => format!("assistant calls {calls}"),
        _ => {
            format!("{}: {}", message.role.name(), waterline::truncate::line(&message.text(), 100))
        }
    }
}

/// `0, 4–17, 20`, as the file counts its messages.
fn ranges(sources: &[usize], outside: usize) -> String {
    let mut sorted: Vec<usize> =
        sources.iter().filter_map(|&source| source.checked_sub(outside)).collect();
    sorted.sort_unstable();
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for source in sorted {
        match runs.last_mut().filter(|(_, end)| *end + 1 == source) {
            Some((_, end)) => *end = source,
            None => runs.push((source, source)),
        }
    }
    let shown: Vec<String> = runs
        .iter()
        .map(|(start, end)| if start == end { start.to_string() } else { format!("{start}–{end}") })
        .collect();
    match shown.as_slice() {
        [] => "–".to_owned(),
        [first, _, _, .., last] => format!("{first}, … {last}"),
        few => few.join(", "),
    }
}

fn bar(part: usize, whole: usize) -> String {
    super::text::bar(part, whole, BAR)
}

const fn colour(treatment: Treatment) -> Style {
    let colour = match treatment {
        Treatment::Verbatim => AnsiColor::Green,
        Treatment::Trimmed | Treatment::Preview => AnsiColor::Yellow,
        Treatment::Summary | Treatment::Recalled => AnsiColor::Cyan,
        _ => AnsiColor::BrightBlack,
    };
    Style::new().fg_color(Some(anstyle::Color::Ansi(colour)))
}

/// The most warnings of one kind that are shown.
const SHOWN: usize = 3;

fn warnings(out: &mut impl Write, report: &Report<'_>) -> Result<()> {
    let mut kinds: Vec<Oddity> = report.warnings.iter().map(|warning| warning.oddity).collect();
    kinds.sort_unstable();
    kinds.dedup();
    if !kinds.is_empty() {
        let word = if report.warnings.len() == 1 { "warning" } else { "warnings" };
        writeln!(out, "\n{BOLD}{} {word}{BOLD:#}", report.warnings.len())?;
    }
    for kind in kinds {
        let same: Vec<_> =
            report.warnings.iter().filter(|warning| warning.oddity == kind).collect();
        for warning in same.iter().take(SHOWN) {
            writeln!(out, "  {}", plain(&report.say(warning)))?;
        }
        if same.len() > SHOWN {
            writeln!(out, "  {DIM}… and {} more like it{DIM:#}", same.len() - SHOWN)?;
        }
    }
    Ok(())
}
