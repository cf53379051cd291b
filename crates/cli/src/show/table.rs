//! A plan for people: the totals, then the treatment of each turn, then the warnings.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use unicode_width::UnicodeWidthStr;
use waterline::history::{AtomKind, History};
use waterline::plan::{Action, Figures, FoldReport, Slot, Treatment};
use waterline::policy::Policy;
use waterline::reason::Reasons;
use waterline::warning::{Warning, WarningKind};

use super::text::{align_right, columns, pad, truncate};
use super::{DIM, Report, number, phrase, plain, role_line};
use crate::lang::list;
use crate::text;

/// Columns of the table.
const TREATMENT: usize = 9;
const TOKENS: usize = 8;
const BAR: usize = 12;

const BOLD: Style = Style::new().bold();

/// Slots of one turn with the same treatment.
struct Row {
    sources: Vec<usize>,
    treatment: Treatment,
    tokens: usize,
    reasons: Reasons,
    /// The reasons, or the start of the text if there are none.
    text: String,
    turn: usize,
}

impl Row {
    /// Whether a slot has the treatment of this row, in the same turn or for the same reason.
    fn joins(&self, slot: &Slot, turn: usize) -> bool {
        let same_turn = self.turn == turn && slot.reasons.is_empty();
        let same_reasons =
            !slot.treatment.is_sent() && !slot.reasons.is_empty() && self.reasons == slot.reasons;
        self.treatment == slot.treatment && (same_turn || same_reasons)
    }
}

/// Writes one conversation in full.
pub fn table(out: &mut impl Write, name: &str, report: &Report<'_>) -> Result<()> {
    header(out, name, report)?;
    let rows = rows(report);
    let most = rows.iter().map(|row| row.tokens).max().unwrap_or(0);
    let ranges: Vec<String> = rows.iter().map(|row| ranges(&row.sources, report.history)).collect();
    let heading = text!("plan-column-messages");
    let wide = ranges.iter().map(|text| text.width()).max().unwrap_or(0).max(heading.width());
    let room = columns().saturating_sub(wide + TREATMENT + 1 + TOKENS + 1 + BAR + 6);
    writeln!(
        out,
        "{DIM}{}  {} {}  {:<BAR$}  {}{DIM:#}",
        pad(&heading, wide),
        pad(&text!("plan-column-treatment"), TREATMENT),
        align_right(&text!("plan-column-tokens"), TOKENS),
        "",
        text!("plan-column-content")
    )?;
    for (row, range) in rows.iter().zip(&ranges) {
        let style = color(row.treatment);
        let tokens = if row.tokens == 0 { String::new() } else { number(row.tokens) };
        let treatment = pad(&treatment(row.treatment), TREATMENT);
        write!(out, "{range:<wide$}  {style}{treatment}{style:#} {tokens:>TOKENS$}  ")?;
        writeln!(out, "{style}{}{style:#}  {}", bar(row.tokens, most), truncate(&row.text, room))?;
    }
    if report.tools > 0 {
        writeln!(
            out,
            "{:<wide$}  {:<TREATMENT$} {:>TOKENS$}  {:<BAR$}  {}",
            "–",
            "",
            number(report.tools),
            bar(report.tools, most),
            text!("plan-tools")
        )?;
    }
    warnings(out, report)
}

/// Writes one of several conversations on one line.
pub fn line(out: &mut impl Write, report: &Report<'_>) -> Result<()> {
    let tokens = report.plan.tokens;
    let action = match report.plan.action {
        Action::Fold { .. } => text!("plan-folded"),
        _ if report.freeable.is_some() => text!("plan-over-high"),
        _ => text!("plan-fits"),
    };
    let warnings = match report.plan.warnings.len() {
        0 => String::new(),
        count => format!("  {}", text!("plan-warnings", count = count)),
    };
    writeln!(
        out,
        "{:>9} → {:>8} {:>4}%  {}  {}{DIM}{warnings}{DIM:#}",
        number(before(report)),
        number(tokens.context),
        share(tokens.context, tokens.window),
        pad(&action, 6),
        truncate(report.plan.id, 60),
    )?;
    Ok(())
}

/// Returns the tokens before the plan, with the tools, as the plan counts them: those that the
/// reason for a fold names, else those of the whole history.
const fn before(report: &Report<'_>) -> usize {
    match report.plan.action {
        Action::Fold { from, .. } => *from,
        _ => report.plan.tokens.history,
    }
}

fn header(out: &mut impl Write, name: &str, report: &Report<'_>) -> Result<()> {
    let tokens = report.plan.tokens;
    let model = report.plan.model.map_or_else(|| text!("plan-no-model"), plain);
    let name = plain(name);
    let facts = text!(
        "plan-facts",
        count = count(report.history),
        policy = report.policy.name.as_str(),
        model = model,
        method = super::method(report.history.counter().method())
    );
    writeln!(out, "{BOLD}{name}{BOLD:#}  {facts}")?;
    let gauge = bar(tokens.context, tokens.window.max(tokens.context));
    let total = text!("plan-tokens", before = before(report), after = tokens.context);
    let share = share(tokens.context, tokens.window).to_string();
    let of_window = text!("plan-of-window", share = share, window = tokens.window);
    let marks = text!("plan-marks", high = tokens.high, low = tokens.low);
    writeln!(out, "{BOLD}{total}{BOLD:#}  {gauge} {of_window}  {DIM}{marks}{DIM:#}")?;
    let action = match (report.plan.action, report.freeable) {
        (Action::Fold { reasons, .. }, _) => {
            text!("plan-fold-reason", reason = super::reasons(reasons))
        }
        _ if tokens.context > tokens.window => text!("plan-too-large"),
        _ if report.plan.context.messages.is_empty() => text!("plan-empty"),
        (_, Some(tokens)) => text!("plan-frees-too-little", tokens = tokens),
        _ => text!("plan-everything-fits"),
    };
    writeln!(out, "{action}")?;
    if let Some(fold_report) = report.plan.fold_report {
        writeln!(out, "{}", distance(tokens, fold_report, report.policy))?;
    }
    writeln!(out)?;
    Ok(())
}

/// Explains the distance between the context after a fold and the low mark.
fn distance(tokens: &Figures, fold_report: &FoldReport, policy: &Policy) -> String {
    let distance = tokens.context.abs_diff(tokens.low);
    let block = match (fold_report.block, fold_report.block_budget) {
        (0, _) => text!("plan-fold-report-no-block"),
        (used, budget) if used > budget => {
            // The frame of the block and its messages are estimated before it is written.
            text!("plan-fold-report-block-full", used = used)
        }
        (used, budget) => text!("plan-fold-report-block", used = used, budget = budget),
    };
    let (Some(effect), Some(last)) = (fold_report.main_effect(), fold_report.effects.last()) else {
        return block;
    };
    let limits = limits(policy, effect.by);
    let name = text!("plan-fold-report-by", name = effect.by, limits = limits);
    // A later rule may have put a message back. The tokens are those at the end, so that they and
    // the summary block add up.
    let cause = if effect.dropped > 0 {
        text!("plan-fold-report-dropped", by = name, left = last.left)
    } else {
        text!("plan-fold-report-shortened", by = name, freed = effect.freed, left = last.left)
    };
    let place = if tokens.context <= tokens.low {
        text!("plan-below-low", tokens = distance)
    } else if fold_report.had_to_reach_low_mark {
        text!("plan-above-low", tokens = distance)
    } else {
        text!("plan-low-not-needed", tokens = distance)
    };
    format!("{}\n{block}", text!("plan-fold-report", place = place, cause = cause))
}

/// Returns the settings of a stage that say how much it keeps: ` (trim.keep = 28%)`. Returns an
/// empty text if it has none.
fn limits(policy: &Policy, stage: &str) -> String {
    let keys = ["messages", "steps", "turns", "tokens", "keep", "fill"];
    let settings = keys.iter().filter_map(|key| {
        let key = format!("{stage}.{key}");
        let value = policy.setting(&key)?;
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Some(format!("{key} = {value}"))
    });
    let settings = settings.collect::<Vec<_>>().join(", ");
    if settings.is_empty() { settings } else { format!(" ({settings})") }
}

/// Returns the label of a treatment.
pub fn treatment(treatment: Treatment) -> String {
    text!("plan-treatment", name = treatment.name())
}

fn share(part: usize, whole: usize) -> usize {
    (part * 100).checked_div(whole).unwrap_or(0)
}

fn rows(report: &Report<'_>) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for slot in report.plan.slots {
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
                reasons: slot.reasons.clone(),
                text: if slot.reasons.is_empty() {
                    opening(slot, report)
                } else {
                    super::reasons(&slot.reasons)
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

/// Returns the start of a slot's text.
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
    // A system message in the middle of the conversation is counted; the prompt is not.
    let has_number =
        slot.sources.first().is_some_and(|&source| report.history.number(source).is_some());
    let calls = list(&message.calls().map(|call| call.name.as_str()).collect::<Vec<_>>());
    match atom.map(|atom| atom.kind) {
        Some(AtomKind::System) if !has_number => text!("plan-system-prompt"),
        Some(AtomKind::Exchange) if !message.has_text() => text!("plan-calls", calls = calls),
        _ => role_line(message.role, &waterline::truncate::line(&message.text(), 100)),
    }
}

/// Returns the number of messages, without the system prompt.
fn count(history: &History) -> usize {
    (0..history.len()).filter(|&index| history.number(index).is_some()).count()
}

/// Formats message numbers as ranges: `1, 5–18, 21`. The system prompt has no number.
fn ranges(sources: &[usize], history: &History) -> String {
    let mut sorted: Vec<usize> =
        sources.iter().filter_map(|&source| history.number(source)).collect();
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
        few => list(few),
    }
}

fn bar(part: usize, whole: usize) -> String {
    super::text::bar(part, whole, BAR)
}

const fn color(treatment: Treatment) -> Style {
    let color = match treatment {
        Treatment::Verbatim => AnsiColor::Green,
        Treatment::Trimmed | Treatment::Preview => AnsiColor::Yellow,
        Treatment::Summary | Treatment::Recalled => AnsiColor::Cyan,
        _ => AnsiColor::BrightBlack,
    };
    Style::new().fg_color(Some(anstyle::Color::Ansi(color)))
}

/// Warnings shown of each kind.
const SHOWN: usize = 3;

fn warnings(out: &mut impl Write, report: &Report<'_>) -> Result<()> {
    let mut kinds: Vec<WarningKind> =
        report.plan.warnings.iter().map(|warning| warning.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    if !kinds.is_empty() {
        let heading = text!("plan-warnings", count = report.plan.warnings.len());
        writeln!(out, "\n{BOLD}{heading}{BOLD:#}")?;
    }
    for kind in kinds {
        let same: Vec<_> =
            report.plan.warnings.iter().filter(|warning| warning.kind == kind).collect();
        for warning in same.iter().take(SHOWN) {
            writeln!(out, "  {}", plain(&warning_text(report, warning)))?;
        }
        if same.len() > SHOWN {
            let more = text!("plan-more-warnings", count = same.len() - SHOWN);
            writeln!(out, "  {DIM}{more}{DIM:#}")?;
        }
    }
    Ok(())
}

/// Returns a warning with the number of its message.
fn warning_text(report: &Report<'_>, warning: &Warning) -> String {
    match warning.at.and_then(|at| report.history.number(at)) {
        Some(number) => {
            text!("at-message", number = number.to_string(), what = phrase(&warning.text))
        }
        None => phrase(&warning.text),
    }
}
