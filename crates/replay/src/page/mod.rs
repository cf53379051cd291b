//! Writes a report as a self-contained HTML page: no scripts, nothing to load, readable in light
//! and dark mode.

mod chart;
mod session_chart;

use std::fmt::Write;

use crate::counters::Counters;
use crate::report::{Report, Row};
use crate::run::Outcome;
use chart::{Chart, Line};

const FRAME: &str = include_str!("frame.html");

/// Returns the page of a report.
#[must_use]
pub fn write(report: &Report) -> String {
    let totals: Vec<Row<'_>> = report.totals().collect();
    let counters = totals.first().map(|row| row.counters).unwrap_or_default();
    let counted = match &report.counted {
        Some(method) => format!("with {}", escape(method)),
        None => "with each model's tokenizer".to_owned(),
    };
    let about = format!(
        "{}, {}, {} needed by {}. Tokens are counted {counted}. \
         Price list {}: cache reads cost {}, cache writes {} times an uncached token.",
        count(counters.conversations, "session"),
        count(counters.contexts, "model call"),
        count(counters.values, "value"),
        count(counters.calls, "tool call"),
        escape(&report.prices.name),
        report.prices.read,
        report.prices.write,
    );
    let parts = [
        ("{{about}}", about),
        ("{{curves}}", curves(report, &totals)),
        ("{{table}}", table(&totals)),
        (
            "{{session}}",
            report
                .longest
                .as_ref()
                .map_or_else(String::new, |longest| session_charts(report, &longest.id)),
        ),
    ];
    let mut page = FRAME.to_owned();
    for (placeholder, text) in parts {
        page = page.replace(placeholder, &text);
    }
    page
}

/// Returns a number with its noun: `1 fold`, `2 folds`.
fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// Draws retention, intact calls and cost over the window, with one line per policy.
fn curves(report: &Report, totals: &[Row<'_>]) -> String {
    type Figure = fn(&Counters) -> f64;
    let mut figures: Vec<(&str, Figure, bool)> = vec![
        ("Values retained, %", |counters| counters.retained() * 100.0, false),
        ("Calls intact, %", |counters| counters.calls_intact() * 100.0, false),
        ("Cost relative to never folding", Counters::cost, true),
    ];
    if is_judged(totals) {
        let mean: Figure = |counters| counters.surprise.mean().unwrap_or_default();
        figures.push(("Surprise, nats per token", mean, false));
    }
    let mut text = String::new();
    for (title, figure, from_zero) in figures {
        let lines = report.policies.iter().map(|policy| {
            let rows = totals.iter().filter(|row| row.policy == policy);
            let points =
                rows.map(|row| (crate::price::tokens(row.window), figure(&row.counters))).collect();
            Line { name: policy, points }
        });
        let chart = Chart { title, lines: lines.collect(), from_zero };
        let _ = write!(text, "<figure>{}</figure>", chart.svg());
    }
    text
}

fn table(totals: &[Row<'_>]) -> String {
    let mut text = String::from(
        "<table><thead><tr><th>policy</th><th>window</th><th>values retained</th>\
         <th>calls intact</th><th>mean tokens</th><th>max tokens</th><th>folds</th>\
         <th>cached</th><th>cost</th><th>invalid</th><th>too large</th>",
    );
    let is_judged = is_judged(totals);
    text.push_str(if is_judged { "<th>surprise</th>" } else { "" });
    text.push_str("</tr></thead><tbody>");
    for row in totals {
        let counters = &row.counters;
        let class = if row.policy == "auto" { " class=\"ours\"" } else { "" };
        let _ = write!(
            text,
            "<tr{class}><td>{}</td><td>{}</td><td>{:.2}%</td><td>{:.2}%</td><td>{:.0}</td>\
             <td>{}</td><td>{}</td><td>{:.1}%</td><td>{:.2}</td><td>{}</td><td>{}</td>",
            escape(row.policy),
            row.window,
            counters.retained() * 100.0,
            counters.calls_intact() * 100.0,
            counters.tokens_mean(),
            counters.tokens_max,
            counters.folds,
            counters.bill.cached_share() * 100.0,
            counters.cost(),
            counters.invalid,
            counters.over,
        );
        if is_judged {
            let _ = write!(text, "<td>{}</td>", surprise(counters));
        }
        text.push_str("</tr>");
    }
    text.push_str("</tbody></table>");
    text
}

fn is_judged(totals: &[Row<'_>]) -> bool {
    totals.iter().any(|row| row.counters.surprise.sessions > 0)
}

fn surprise(counters: &Counters) -> String {
    match (counters.surprise.mean(), counters.surprise.margin()) {
        (Some(mean), Some(margin)) => format!("{mean:.3} ± {margin:.3}"),
        (Some(mean), None) => format!("{mean:.3}"),
        _ => "–".to_owned(),
    }
}

/// Draws the prompts of the longest session, call by call, for every window and policy.
fn session_charts(report: &Report, id: &str) -> String {
    let Some(longest) = &report.longest else { return String::new() };
    let mut text =
        format!("<h2>The longest session, call by call</h2><p class=\"note\">{}</p>", escape(id));
    for &window in &report.windows {
        let outcomes = || longest.outcomes.iter().filter(|outcome| outcome.window == window);
        let max_tokens = outcomes()
            .flat_map(|outcome| &outcome.calls)
            .map(|call| call.tokens)
            .max()
            .unwrap_or(1);
        let _ = write!(text, "<h3>Window of {window} tokens</h3><div class=\"sessions\">");
        for outcome in outcomes() {
            let svg = session_chart::svg(outcome, max_tokens);
            let _ = write!(text, "<figure>{svg}{}</figure>", caption(outcome));
        }
        text.push_str("</div>");
    }
    text
}

fn caption(outcome: &Outcome) -> String {
    format!(
        "<figcaption><b>{}</b> {}, cost {:.2}, {} of {} lost</figcaption>",
        escape(&outcome.policy),
        count(outcome.folds.len(), "fold"),
        outcome.counters.cost(),
        outcome.lost.len(),
        count(outcome.counters.values, "value"),
    )
}

/// Escapes text that comes from a file.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_from_files_do_not_become_markup() {
        assert_eq!(super::escape("<b>\"x\" & 'y'"), "&lt;b&gt;&quot;x&quot; &amp; &#39;y&#39;");
    }
}
