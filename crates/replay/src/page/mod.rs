//! Writes a report as a self-contained HTML page: no scripts, nothing to load, readable in light
//! and dark mode.

mod chart;
mod session_chart;

use std::fmt::Write;

use waterline::phrase;
use waterline::phrase::Phrase;

use crate::counters::Counters;
use crate::report::{Report, Row};
use crate::run::Outcome;
use chart::{Chart, Line};

const FRAME: &str = include_str!("frame.html");

/// Writes phrases in the language of the page.
type Say<'a> = &'a dyn Fn(&Phrase) -> String;

/// Returns the page of a report. `say` writes its phrases in the language of the page, which `lang`
/// names, such as `en`.
#[must_use]
pub fn write(report: &Report, lang: &str, say: Say<'_>) -> String {
    let totals: Vec<Row<'_>> = report.totals().collect();
    let parts = [
        ("{{lang}}", escape(lang)),
        ("{{title}}", say(&phrase!("page-title", "Waterline replay"))),
        ("{{about}}", escape(&about(report, &totals, say))),
        ("{{files}}", escape(&files(report))),
        ("{{method}}", say(&method())),
        ("{{curves}}", curves(report, &totals, say)),
        ("{{all}}", say(&phrase!("page-all", "All figures"))),
        ("{{table}}", table(&totals, say)),
        ("{{session}}", session_charts(report, say)),
        ("{{key}}", say(&phrase!("page-key", "Each column is a model call:"))),
        ("{{read}}", say(&phrase!("page-key-read", "tokens read from the cache"))),
        ("{{fresh}}", say(&phrase!("page-key-fresh", "tokens not in the cache"))),
        ("{{fold}}", say(&phrase!("page-key-fold", "a fold"))),
    ];
    let mut page = FRAME.to_owned();
    for (placeholder, text) in parts {
        page = page.replace(placeholder, &text);
    }
    page
}

fn about(report: &Report, totals: &[Row<'_>], say: Say<'_>) -> String {
    let counters = totals.first().map(|row| row.counters).unwrap_or_default();
    let counted = match &report.counted {
        Some(method) => phrase!("page-counted", "with {method}", method = method.as_str()),
        None => phrase!("page-counted-by-model", "with each model's tokenizer"),
    };
    say(&phrase!(
        "page-about",
        "{conversations} sessions, {contexts} model calls, {values} values needed by {calls} tool \
         calls. Tokens are counted {counted}. Price list {prices}: cache reads cost {read}, cache \
         writes {written} times an uncached token.",
        conversations = counters.conversations,
        contexts = counters.contexts,
        values = counters.values,
        calls = counters.calls,
        counted = counted,
        prices = report.prices.name.as_str(),
        read = report.prices.read.to_string(),
        written = report.prices.write.to_string()
    ))
}

/// Returns the names of the files.
fn files(report: &Report) -> String {
    let names: Vec<&str> = report.datasets.iter().map(|dataset| dataset.name.as_str()).collect();
    names.join(" · ")
}

fn method() -> Phrase {
    phrase!(
        "page-method",
        "Each policy planned the context of every model call as it would have been sent. A value \
         is an id, path, name or number in the arguments of a tool call that an earlier message \
         had shown. It is retained if it is still in the context, and a call is intact if all its \
         values are. The cost is relative to never folding."
    )
}

/// Draws retention, intact calls and cost over the window, with one line per policy.
fn curves(report: &Report, totals: &[Row<'_>], say: Say<'_>) -> String {
    type Figure = fn(&Counters) -> f64;
    let retained = say(&phrase!("page-chart-retained", "Values retained, %"));
    let intact = say(&phrase!("page-chart-intact", "Calls intact, %"));
    let cost = say(&phrase!("page-chart-cost", "Cost relative to never folding"));
    let mut figures: Vec<(String, Figure, bool)> = vec![
        (retained, |counters| counters.retained() * 100.0, false),
        (intact, |counters| counters.calls_intact() * 100.0, false),
        (cost, Counters::cost, true),
    ];
    if is_judged(totals) {
        let mean: Figure = |counters| counters.surprise.mean().unwrap_or_default();
        let title = say(&phrase!("page-chart-surprise", "Surprise, nats per token"));
        figures.push((title, mean, false));
    }
    let mut text = String::new();
    for (title, figure, from_zero) in figures {
        let lines = report.policies.iter().map(|policy| {
            let rows = totals.iter().filter(|row| row.policy == policy);
            let points =
                rows.map(|row| (crate::price::tokens(row.window), figure(&row.counters))).collect();
            Line { name: policy, points }
        });
        let chart = Chart { title: &title, lines: lines.collect(), from_zero };
        let _ = write!(text, "<figure>{}</figure>", chart.svg());
    }
    text
}

fn table(totals: &[Row<'_>], say: Say<'_>) -> String {
    let is_judged = is_judged(totals);
    let mut heads = vec![
        phrase!("page-policy", "policy"),
        phrase!("page-window", "window"),
        phrase!("page-retained", "values retained"),
        phrase!("page-intact", "calls intact"),
        phrase!("page-mean", "mean tokens"),
        phrase!("page-most", "max tokens"),
        phrase!("page-folds", "folds"),
        phrase!("page-cached", "cached"),
        phrase!("page-cost", "cost"),
        phrase!("page-invalid", "invalid"),
        phrase!("page-over", "too large"),
    ];
    heads.extend(is_judged.then(|| phrase!("page-surprise", "surprise")));
    let heads: Vec<String> = heads.iter().map(|head| format!("<th>{}</th>", say(head))).collect();
    let mut text = format!("<table><thead><tr>{}</tr></thead><tbody>", heads.concat());
    for row in totals {
        let counters = &row.counters;
        let class = if row.policy == "auto" { " class=\"ours\"" } else { "" };
        let _ = write!(
            text,
            "<tr{class}><td>{}</td><td>{}</td><td>{:.2}%</td><td>{:.2}%</td><td>{}</td>\
             <td>{}</td><td>{}</td><td>{:.1}%</td><td>{:.2}</td><td>{}</td><td>{}</td>",
            escape(row.policy),
            grouped(&row.window.to_string()),
            counters.retained() * 100.0,
            counters.calls_intact() * 100.0,
            grouped(&format!("{:.0}", counters.tokens_mean())),
            grouped(&counters.tokens_max.to_string()),
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
fn session_charts(report: &Report, say: Say<'_>) -> String {
    let Some(longest) = &report.longest else { return String::new() };
    let title = phrase!("page-session", "The longest session, call by call");
    let id = escape(&longest.id);
    let mut text = format!("<h2>{}</h2><p class=\"note\">{id}</p>", say(&title));
    for &window in &report.windows {
        let outcomes = || longest.outcomes.iter().filter(|outcome| outcome.window == window);
        let max_tokens = outcomes()
            .flat_map(|outcome| &outcome.calls)
            .map(|call| call.tokens)
            .max()
            .unwrap_or(1);
        let tokens = grouped(&window.to_string());
        let head = phrase!("page-session-window", "Window of {tokens} tokens", tokens = tokens);
        let _ = write!(text, "<h3>{}</h3><div class=\"sessions\">", say(&head));
        for outcome in outcomes() {
            let svg = session_chart::svg(outcome, max_tokens, say);
            let _ = write!(text, "<figure>{svg}{}</figure>", caption(outcome, say));
        }
        text.push_str("</div>");
    }
    text
}

fn caption(outcome: &Outcome, say: Say<'_>) -> String {
    let figures = phrase!(
        "page-caption",
        "folds: {folds}, cost: {cost}, values lost: {lost} of {values}",
        folds = outcome.folds.len(),
        cost = format!("{:.2}", outcome.counters.cost()),
        lost = outcome.lost.len(),
        values = outcome.counters.values
    );
    let policy = escape(&outcome.policy);
    format!("<figcaption><b>{policy}</b> {}</figcaption>", say(&figures))
}

/// Separates the thousands of a number.
fn grouped(digits: &str) -> String {
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
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
