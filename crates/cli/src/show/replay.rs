//! How a replay is shown: for programs as JSON (docs/replay.md), for people as tables.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use serde_json::{Value, json};
use waterline_replay::counters::Counters;
use waterline_replay::lost::Lost;
use waterline_replay::report::{Report, Row};
use waterline_replay::run::Outcome;

use super::{number, percent, plain};

/// One object with a row for each policy, window and file.
pub fn json(out: &mut impl Write, report: &Report, lost: bool) -> Result<()> {
    let several = report.datasets.len() > 1;
    let files = report.rows().filter(|_| several);
    let rows: Vec<Value> = report.totals().chain(files).map(|row| self::row(&row)).collect();
    let object = match report.longest.as_ref().filter(|_| lost) {
        Some(session) => {
            let values: Vec<Value> = session.outcomes.iter().flat_map(lost_values).collect();
            json!({"rows": rows, "session": session.id, "lost": values})
        }
        None => json!({"rows": rows}),
    };
    writeln!(out, "{object}")?;
    Ok(())
}

fn row(row: &Row<'_>) -> Value {
    let tally = &row.counters;
    json!({
        "policy": row.policy, "window": row.window, "dataset": row.dataset, "conversations": tally.conversations,
        "calls": tally.calls, "values": tally.values, "retained": rounded(tally.retained(), 5),
        "calls_intact": rounded(tally.calls_intact(), 5), "tokens_mean": rounded(tally.tokens_mean(), 1),
        "tokens_max": tally.tokens_max, "verbatim_share": rounded(tally.verbatim_share(), 5), "folds": tally.folds, "cached_share": rounded(tally.bill.cached_share(), 5),
        "cost": rounded(tally.cost(), 5), "invalid": tally.invalid, "over": tally.over,
    })
}

fn rounded(value: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    (value * scale).round() / scale
}

fn lost_values(outcome: &Outcome) -> impl Iterator<Item = Value> {
    outcome.lost.iter().map(|lost| {
        let fold = lost
            .fold
            .map(|fold| json!({"number": fold.number, "before": fold.before, "from": fold.from, "to": fold.to}));
        json!({
            "policy": outcome.policy, "window": outcome.window, "value": lost.value, "seen": lost.seen, "by": lost.by,
            "needed": lost.needed, "tool": lost.tool, "fold": fold,
        })
    })
}

const BEST: Style = Style::new().bold().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Green)));
const HEAD: Style = Style::new().dimmed();

/// A table for each window; the best of each column is marked.
pub fn table(out: &mut impl Write, report: &Report) -> Result<()> {
    let totals: Vec<Row<'_>> = report.totals().collect();
    let Some(first) = totals.first().map(|row| row.counters) else { return Ok(()) };
    let counted = report
        .counted
        .as_ref()
        .map_or_else(|| "as each model does".to_owned(), |name| format!("by {name}"));
    let plural = if first.conversations == 1 { "" } else { "s" };
    writeln!(
        out,
        "{} session{plural}, {} model calls, tokens counted {counted}, prices {}",
        number(first.conversations),
        number(first.contexts),
        plain(&report.prices.name),
    )?;
    writeln!(
        out,
        "{} tool calls needed {} values that had been seen",
        number(first.calls),
        number(first.values)
    )?;
    for &window in &report.windows {
        let rows: Vec<&Row<'_>> = totals.iter().filter(|row| row.window == window).collect();
        window_table(out, window, &rows)?;
    }
    let invalid: usize = totals.iter().map(|row| row.counters.invalid).sum();
    let valid = if invalid == 0 { "all contexts valid · " } else { "" };
    writeln!(out, "\n{HEAD}{valid}retained: values needed that the context had")?;
    writeln!(out, "intact: calls that missed none · verbatim: share of the context as it came")?;
    writeln!(out, "cost: against never folding · * best{HEAD:#}")?;
    Ok(())
}

/// A column: its heading, how a cell is written, and what is best in it.
struct Column {
    head: &'static str,
    cell: fn(&Counters) -> String,
    /// The larger, the better; none where nothing is best.
    rank: Option<fn(&Counters) -> f64>,
}

const COLUMNS: [Column; 10] = [
    Column {
        head: "retained",
        cell: |tally| of(tally.values, tally.retained()),
        rank: Some(Counters::retained),
    },
    Column {
        head: "intact",
        cell: |tally| of(tally.calls, tally.calls_intact()),
        rank: Some(Counters::calls_intact),
    },
    Column { head: "tokens", cell: |tally| number(whole(tally.tokens_mean())), rank: None },
    Column { head: "most", cell: |tally| number(tally.tokens_max), rank: None },
    Column { head: "verbatim", cell: |tally| percent(tally.verbatim_share()), rank: None },
    Column { head: "folds", cell: |tally| number(tally.folds), rank: None },
    Column {
        head: "cached",
        cell: |tally| percent(tally.bill.cached_share()),
        rank: Some(|tally| tally.bill.cached_share()),
    },
    Column {
        head: "cost",
        cell: |tally| format!("{:.2}", tally.cost()),
        rank: Some(|tally| -tally.cost()),
    },
    Column { head: "invalid", cell: |tally| number(tally.invalid), rank: None },
    Column { head: "too large", cell: |tally| number(tally.over), rank: None },
];

/// A share of so many; of none there is none.
fn of(count: usize, share: f64) -> String {
    if count == 0 { "–".to_owned() } else { percent(share) }
}

fn window_table(out: &mut impl Write, window: usize, rows: &[&Row<'_>]) -> Result<()> {
    let names = rows.iter().map(|row| row.policy.chars().count()).max().unwrap_or(0).max(6);
    // What should be nothing is shown where it is something.
    let faults = |head: &str| match head {
        "invalid" => rows.iter().any(|row| row.counters.invalid > 0),
        "too large" => rows.iter().any(|row| row.counters.over > 0),
        _ => true,
    };
    let columns: Vec<&Column> = COLUMNS.iter().filter(|column| faults(column.head)).collect();
    let width = |column: &Column| {
        let cells = rows.iter().map(|row| (column.cell)(&row.counters).chars().count());
        cells.max().unwrap_or(0).max(column.head.len())
    };
    write!(out, "\n{HEAD}{:<names$}", short(window))?;
    for column in &columns {
        write!(out, " {:>width$} ", column.head, width = width(column))?;
    }
    writeln!(out, "{HEAD:#}")?;
    for row in rows {
        write!(out, "{:<names$}", plain(row.policy))?;
        for column in &columns {
            // Marked in words too: a pipe has no colours.
            let (style, mark) =
                if is_best(column, row, rows) { (BEST, "*") } else { (Style::new(), " ") };
            write!(
                out,
                " {style}{:>width$}{mark}{style:#}",
                (column.cell)(&row.counters),
                width = width(column)
            )?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Whether nothing in a column is better, and something is worse.
fn is_best(column: &Column, row: &Row<'_>, rows: &[&Row<'_>]) -> bool {
    column.rank.is_some_and(|rank| {
        let ranks = || rows.iter().map(|row| rank(&row.counters));
        let (best, worst) = (ranks().fold(f64::MIN, f64::max), ranks().fold(f64::MAX, f64::min));
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

/// Each value that one session's policies would have forgotten.
pub fn lost(out: &mut impl Write, report: &Report) -> Result<()> {
    let Some(session) = &report.longest else { return Ok(()) };
    let several = report.conversations() > 1;
    let which = if several {
        "the session with the most calls (another one: --session ID)"
    } else {
        "the session"
    };
    writeln!(out, "\nforgotten in {}, {which}", plain(&session.id))?;
    for outcome in &session.outcomes {
        let tally = &outcome.counters;
        writeln!(
            out,
            "\n{} {}: {} of {} values",
            plain(&outcome.policy),
            short(outcome.window),
            number(outcome.lost.len()),
            number(tally.values)
        )?;
        for lost in &outcome.lost {
            writeln!(out, "  {}", sentence(lost))?;
        }
    }
    Ok(())
}

fn sentence(lost: &Lost) -> String {
    let went = lost.fold.map_or_else(
        || "cut before it was first sent".to_owned(),
        |fold| format!("gone with fold {} before message {}", fold.number, fold.before),
    );
    format!(
        "{}  from message {} ({}), {went}; {} needed it in message {}",
        plain(&lost.value),
        lost.seen,
        plain(&lost.by),
        plain(&lost.tool),
        lost.needed
    )
}
