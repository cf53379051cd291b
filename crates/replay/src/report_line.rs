//! [`ReportLine`]: the results of a replay as one JSON object for programs (docs/replay.md).

use serde::Serialize;

use crate::lost::Lost;
use crate::report::{Report, Row};
use crate::run::Outcome;

/// The results of a replay, with a row for each policy, window and file.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ReportLine<'a> {
    /// The figures of all files together, then of each file if there are several.
    pub rows: Vec<RowLine<'a>>,
    /// The session with the most calls, if its lost values are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<&'a str>,
    /// What its calls needed and no longer had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<Vec<LostLine<'a>>>,
    /// The model that judged answers, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge: Option<&'a str>,
    /// How many answers it did not judge, because a context was too long for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub too_long: Option<usize>,
}

/// The figures of a policy and a window.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
#[expect(missing_docs, reason = "docs/replay.md explains the figures")]
pub struct RowLine<'a> {
    pub policy: &'a str,
    pub window: usize,
    pub dataset: &'a str,
    pub conversations: usize,
    pub calls: usize,
    pub values: usize,
    pub retained: f64,
    pub calls_intact: f64,
    pub tokens_mean: f64,
    pub tokens_max: usize,
    pub verbatim_share: f64,
    pub folds: usize,
    pub fold_verbatim_share: f64,
    pub cached_share: f64,
    pub cost: f64,
    pub invalid: usize,
    pub over: usize,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub judged: Option<JudgedLine>,
}

/// What a judge measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
#[expect(missing_docs, reason = "docs/replay.md explains the figures")]
pub struct JudgedLine {
    pub judged: usize,
    pub surprise: Option<f64>,
    pub surprise_low: Option<f64>,
    pub surprise_high: Option<f64>,
}

/// A value that a policy would have forgotten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LostLine<'a> {
    /// The policy.
    pub policy: &'a str,
    /// The window.
    pub window: usize,
    /// The value, and the fold that dropped it.
    #[serde(flatten)]
    pub lost: &'a Lost,
}

impl<'a> ReportLine<'a> {
    /// Creates the object of a report. `lists_lost` adds the values that the session with the most
    /// calls lost.
    #[must_use]
    pub fn new(report: &'a Report, lists_lost: bool) -> Self {
        let several = report.datasets.len() > 1;
        let files = report.rows().filter(|_| several);
        let is_judged = report.judge.is_some();
        let rows = report.totals().chain(files).map(|row| RowLine::new(&row, is_judged));
        let session = report.longest.as_ref().filter(|_| lists_lost);
        Self {
            rows: rows.collect(),
            session: session.map(|session| session.id.as_str()),
            lost: session.map(|session| session.outcomes.iter().flat_map(lost_lines).collect()),
            judge: report.judge.as_ref().map(|judge| judge.model.as_str()),
            too_long: report.judge.as_ref().map(|judge| judge.too_long),
        }
    }
}

fn lost_lines(outcome: &Outcome) -> impl Iterator<Item = LostLine<'_>> {
    let line = |lost| LostLine { policy: &outcome.policy, window: outcome.window, lost };
    outcome.lost.iter().map(line)
}

impl<'a> RowLine<'a> {
    fn new(row: &Row<'a>, is_judged: bool) -> Self {
        let counters = &row.counters;
        let surprise = &counters.surprise;
        let mean = surprise.mean();
        let bound = |sign: f64| Some(rounded(mean? + sign * surprise.margin()?, 5));
        let judged = is_judged.then(|| JudgedLine {
            judged: surprise.total.answers,
            surprise: mean.map(|mean| rounded(mean, 5)),
            surprise_low: bound(-1.0),
            surprise_high: bound(1.0),
        });
        Self {
            policy: row.policy,
            window: row.window,
            dataset: row.dataset,
            conversations: counters.conversations,
            calls: counters.calls,
            values: counters.values,
            retained: rounded(counters.retained(), 5),
            calls_intact: rounded(counters.calls_intact(), 5),
            tokens_mean: rounded(counters.tokens_mean(), 1),
            tokens_max: counters.tokens_max,
            verbatim_share: rounded(counters.verbatim_share(), 5),
            folds: counters.folds,
            fold_verbatim_share: rounded(counters.fold_verbatim_share(), 5),
            cached_share: rounded(counters.bill.cached_share(), 5),
            cost: rounded(counters.cost(), 5),
            invalid: counters.invalid,
            over: counters.over,
            judged,
        }
    }
}

fn rounded(value: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    (value * scale).round() / scale
}
