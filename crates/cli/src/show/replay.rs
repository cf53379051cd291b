//! The results of a replay: JSON for programs (docs/replay.md), tables for people.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use unicode_width::UnicodeWidthStr;
use waterline_replay::ReportLine;
use waterline_replay::counters::Counters;
use waterline_replay::lost::Lost;
use waterline_replay::report::{Report, Row};

use super::{align_right, number, percent, plain};
use crate::text;

/// Writes one object with a row for each policy, window and file.
pub fn json(out: &mut impl Write, report: &Report, lost: bool) -> Result<()> {
    writeln!(out, "{}", serde_json::to_string(&ReportLine::new(report, lost))?)?;
    Ok(())
}

const BEST: Style = Style::new().bold().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Green)));
const HEAD: Style = Style::new().dimmed();

/// Writes a table for each window and marks the best value of each column.
pub fn table(out: &mut impl Write, report: &Report) -> Result<()> {
    let totals: Vec<Row<'_>> = report.totals().collect();
    let Some(first) = totals.first().map(|row| row.counters) else { return Ok(()) };
    let method = match &report.counted {
        Some(name) => text!("replay-counted-by", method = name.to_string()),
        None => text!("replay-counted-by-model"),
    };
    let prices = plain(&report.prices.name);
    let facts = text!(
        "replay-facts",
        sessions = first.conversations,
        calls = first.contexts,
        method = method,
        prices = prices
    );
    writeln!(out, "{facts}")?;
    writeln!(out, "{}", text!("replay-values", calls = first.calls, values = first.values))?;
    for &window in &report.windows {
        let rows: Vec<&Row<'_>> = totals.iter().filter(|row| row.window == window).collect();
        window_table(out, window, &rows)?;
    }
    let is_valid = totals.iter().all(|row| row.counters.invalid == 0 && row.counters.over == 0);
    let valid = if is_valid { format!("{} · ", text!("replay-all-valid")) } else { String::new() };
    writeln!(out, "\n{HEAD}{valid}{}{HEAD:#}", text!("replay-legend"))?;
    if let Some(judge) = &report.judge {
        let legend =
            text!("replay-legend-surprise", model = plain(&judge.model), answers = judge.answers);
        writeln!(out, "{HEAD}{legend}{HEAD:#}")?;
        if judge.too_long > 0 {
            writeln!(out, "{}", text!("replay-judge-left-out", answers = judge.too_long))?;
        }
    }
    Ok(())
}

/// A column of a table.
struct Column {
    head: fn() -> String,
    cell: fn(&Counters) -> String,
    /// Larger is better; `None` if no value is best.
    rank: Option<fn(&Counters) -> f64>,
    /// The column is shown only if a row has some of these.
    only_with: Option<fn(&Counters) -> usize>,
}

impl Column {
    const fn new(head: fn() -> String, cell: fn(&Counters) -> String) -> Self {
        Self { head, cell, rank: None, only_with: None }
    }

    const fn ranked(self, rank: fn(&Counters) -> f64) -> Self {
        Self { rank: Some(rank), ..self }
    }

    const fn only_with(self, count: fn(&Counters) -> usize) -> Self {
        Self { only_with: Some(count), ..self }
    }
}

const COLUMNS: [Column; 12] = [
    Column::new(
        || text!("replay-column-retained"),
        |counters| of(counters.values, counters.retained()),
    )
    .ranked(Counters::retained),
    Column::new(
        || text!("replay-column-intact"),
        |counters| of(counters.calls, counters.calls_intact()),
    )
    .ranked(Counters::calls_intact),
    Column::new(|| text!("replay-column-tokens"), |counters| number(whole(counters.tokens_mean()))),
    Column::new(|| text!("replay-column-most"), |counters| number(counters.tokens_max)),
    Column::new(|| text!("replay-column-verbatim"), |counters| percent(counters.verbatim_share())),
    Column::new(
        || text!("replay-column-kept"),
        |counters| match counters.folds {
            0 => "–".to_owned(),
            _ => percent(counters.fold_verbatim_share()),
        },
    ),
    Column::new(|| text!("replay-column-folds"), |counters| number(counters.folds)),
    Column::new(|| text!("replay-column-cached"), |counters| percent(counters.bill.cached_share()))
        .ranked(|counters| counters.bill.cached_share()),
    Column::new(|| text!("replay-column-cost"), |counters| format!("{:.2}", counters.cost()))
        .ranked(|counters| -counters.cost()),
    Column::new(|| text!("replay-column-surprise"), surprise)
        .ranked(|counters| -counters.surprise.mean().unwrap_or(f64::INFINITY))
        .only_with(|counters| counters.surprise.total.answers),
    Column::new(|| text!("replay-column-invalid"), |counters| number(counters.invalid))
        .only_with(|counters| counters.invalid),
    Column::new(|| text!("replay-column-too-large"), |counters| number(counters.over))
        .only_with(|counters| counters.over),
];

/// Formats the surprise with its interval; a dash if nothing was judged.
fn surprise(counters: &Counters) -> String {
    match (counters.surprise.mean(), counters.surprise.margin()) {
        (Some(mean), Some(margin)) => format!("{mean:.3} ±{margin:.3}"),
        (Some(mean), None) => format!("{mean:.3}"),
        _ => "–".to_owned(),
    }
}

/// Formats a share; a dash if there is nothing to share.
fn of(count: usize, share: f64) -> String {
    if count == 0 { "–".to_owned() } else { percent(share) }
}

fn window_table(out: &mut impl Write, window: usize, rows: &[&Row<'_>]) -> Result<()> {
    let names = rows.iter().map(|row| row.policy.chars().count()).max().unwrap_or(0).max(6);
    let is_shown = |column: &&Column| {
        column.only_with.is_none_or(|count| rows.iter().any(|row| count(&row.counters) > 0))
    };
    let columns: Vec<&Column> = COLUMNS.iter().filter(is_shown).collect();
    let width = |column: &Column| {
        let cells = rows.iter().map(|row| (column.cell)(&row.counters).chars().count());
        cells.max().unwrap_or(0).max((column.head)().width())
    };
    write!(out, "\n{HEAD}{:<names$}", short(window))?;
    for column in &columns {
        write!(out, " {} ", align_right(&(column.head)(), width(column)))?;
    }
    writeln!(out, "{HEAD:#}")?;
    for row in rows {
        write!(out, "{:<names$}", plain(row.policy))?;
        for column in &columns {
            // Also marked with a sign, because piped output has no colors.
            let is_best = is_best(column, row, rows);
            let style = if is_best { BEST } else { Style::new() };
            let mark = if is_best { '*' } else { ' ' };
            let cell = (column.cell)(&row.counters);
            write!(out, " {style}{cell:>width$}{mark}{style:#}", width = width(column))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Whether no row has a better value in this column, and some row has a worse one.
fn is_best(column: &Column, row: &Row<'_>, rows: &[&Row<'_>]) -> bool {
    column.rank.is_some_and(|rank| {
        let ranks = || rows.iter().map(|row| rank(&row.counters));
        let best = ranks().fold(f64::MIN, f64::max);
        let worst = ranks().fold(f64::MAX, f64::min);
        rank(&row.counters) >= best && best > worst
    })
}

fn short(window: usize) -> String {
    if window.is_multiple_of(1_000) { format!("{}K", window / 1_000) } else { number(window) }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a mean of token counts"
)]
fn whole(mean: f64) -> usize {
    mean.round() as usize
}

/// Writes each value that the policies would have forgotten in one session; with `only`, those of
/// this policy.
pub fn lost(out: &mut impl Write, report: &Report, only: Option<&str>) -> Result<()> {
    let Some(session) = &report.longest else { return Ok(()) };
    let id = plain(&session.id);
    let heading = if report.conversations() > 1 {
        text!("replay-lost-of-several", session = id)
    } else {
        text!("replay-lost", session = id)
    };
    writeln!(out, "\n{heading}")?;
    let is_listed = |policy: &str| only.is_none_or(|only| only == policy);
    for outcome in session.outcomes.iter().filter(|outcome| is_listed(&outcome.policy)) {
        let count =
            text!("replay-lost-count", lost = outcome.lost.len(), values = outcome.counters.values);
        let label = format!("{} {}", plain(&outcome.policy), short(outcome.window));
        writeln!(out, "\n{}", text!("labeled", label = label, text = count))?;
        for lost in outcome.lost.iter().take(LOST) {
            writeln!(out, "  {}", sentence(lost))?;
        }
        if outcome.lost.len() > LOST {
            writeln!(out, "  {}", text!("replay-lost-more", count = outcome.lost.len() - LOST))?;
        }
    }
    if only.is_some() {
        writeln!(out, "\n{}", text!("replay-lost-others"))?;
    }
    Ok(())
}

/// Maximum number of values listed for each policy and window; `--json` has all.
const LOST: usize = 20;

/// Describes a lost value.
fn sentence(lost: &Lost) -> String {
    let cause = match lost.fold {
        None => text!("replay-lost-truncated"),
        Some(fold) => {
            let fold_number = fold.number.to_string();
            text!("replay-lost-folded", fold = fold_number, before = fold.before.to_string())
        }
    };
    text!(
        "replay-lost-value",
        value = plain(&lost.value),
        seen = lost.seen.to_string(),
        by = plain(&lost.by),
        cause = cause,
        tool = plain(&lost.tool),
        needed = lost.needed.to_string()
    )
}
