//! One page with the curves, complete in itself: no script, no address to fetch, readable in light
//! and dark.

mod chart;
mod course;

use std::fmt::Write;

use crate::counters::Counters;
use crate::report::{Report, Row};
use crate::run::Outcome;
use chart::{Chart, Line};

const FRAME: &str = include_str!("frame.html");

/// The page of a report.
#[must_use]
pub fn write(report: &Report) -> String {
    let totals: Vec<Row<'_>> = report.totals().collect();
    let head = totals.first().map(|row| row.tally).unwrap_or_default();
    let counted = report.counted.as_ref().map_or("as each model does", String::as_str);
    let about = format!(
        "{} sessions, {} model calls, {} values that {} tool calls needed. Tokens counted {}; prices {}: reads {}, writes {}.",
        head.conversations,
        head.contexts,
        head.values,
        head.calls,
        escape(counted),
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
                .map_or_else(String::new, |longest| courses(report, &longest.id)),
        ),
    ];
    let mut page = FRAME.to_owned();
    for (place, text) in parts {
        page = page.replace(place, &text);
    }
    page
}

/// Retention, intact calls and cost against the window, a line for each policy.
fn curves(report: &Report, totals: &[Row<'_>]) -> String {
    type Figure = fn(&Counters) -> f64;
    let figures: [(&str, Figure, bool); 3] = [
        ("Values retained, %", |tally| tally.retained() * 100.0, false),
        ("Calls intact, %", |tally| tally.calls_intact() * 100.0, false),
        ("Cost against never folding", Counters::cost, true),
    ];
    let mut text = String::new();
    for (title, figure, from_zero) in figures {
        let lines = report.policies.iter().map(|policy| {
            let rows = totals.iter().filter(|row| row.policy == policy);
            let points =
                rows.map(|row| (crate::price::tokens(row.window), figure(&row.tally))).collect();
            Line { name: policy, points }
        });
        let chart = Chart { title, lines: lines.collect(), from_zero };
        let _ = write!(text, "<figure>{}</figure>", chart.svg());
    }
    text
}

fn table(totals: &[Row<'_>]) -> String {
    let mut text = String::from(
        "<table><thead><tr><th>policy</th><th>window</th><th>retained</th><th>calls intact</th><th>tokens, mean</th>\
         <th>most</th><th>folds</th><th>cached</th><th>cost</th><th>invalid</th><th>too large</th></tr></thead><tbody>",
    );
    for row in totals {
        let tally = &row.tally;
        let class = if row.policy == "auto" { " class=\"ours\"" } else { "" };
        let _ = write!(
            text,
            "<tr{class}><td>{}</td><td>{}</td><td>{:.2}%</td><td>{:.2}%</td><td>{:.0}</td><td>{}</td><td>{}</td>\
             <td>{:.1}%</td><td>{:.2}</td><td>{}</td><td>{}</td></tr>",
            escape(row.policy),
            row.window,
            tally.retained() * 100.0,
            tally.calls_intact() * 100.0,
            tally.tokens_mean(),
            tally.tokens_max,
            tally.folds,
            tally.bill.cached_share() * 100.0,
            tally.cost(),
            tally.invalid,
            tally.over,
        );
    }
    text.push_str("</tbody></table>");
    text
}

/// The prompts of one session, call by call: what the cache served, what it did not, and the folds.
fn courses(report: &Report, id: &str) -> String {
    let Some(longest) = &report.longest else { return String::new() };
    let mut text =
        format!("<h2>One session, call by call</h2><p class=\"note\">{}</p>", escape(id));
    for &window in &report.windows {
        let outcomes = || longest.outcomes.iter().filter(|outcome| outcome.window == window);
        let most = outcomes()
            .flat_map(|outcome| &outcome.calls)
            .map(|call| call.tokens)
            .max()
            .unwrap_or(1);
        let _ = write!(text, "<h3>window {window}</h3><div class=\"courses\">");
        for outcome in outcomes() {
            let _ =
                write!(text, "<figure>{}{}</figure>", course::svg(outcome, most), caption(outcome));
        }
        text.push_str("</div>");
    }
    text
}

fn caption(outcome: &Outcome) -> String {
    format!(
        "<figcaption><b>{}</b> {} folds, cost {:.2}, {} of {} values lost</figcaption>",
        escape(&outcome.policy),
        outcome.folds.len(),
        outcome.tally.cost(),
        outcome.lost.len(),
        outcome.tally.values
    )
}

/// Text that comes from a file is text on the page too.
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
