//! The reasons for the values in a plan's ledger.

use std::io::Write;

use anyhow::Result;
use waterline::ledger::FEATURES;

use super::{Report, plain};
use crate::help;
use crate::text;

/// Reasons shown for each value.
const REASONS: usize = 3;

/// Columns for a value.
const VALUE: usize = 48;

/// Writes the values of the ledger with the reasons for and against each, likeliest first.
pub fn why(out: &mut impl Write, report: &Report<'_>) -> Result<()> {
    let listed: Vec<&str> =
        report.plan.slots.iter().flat_map(|slot| &slot.listed).map(String::as_str).collect();
    if listed.is_empty() {
        writeln!(out, "\n{}", text!("ledger-empty"))?;
        return Ok(());
    }
    writeln!(out, "\n{}", text!("ledger-heading"))?;
    let index = report.history.values();
    let width = listed.iter().map(|value| value.chars().count()).max().unwrap_or(0).min(VALUE);
    for value in listed {
        let reasons = index
            .get(value)
            .map(|seen| report.policy.weights.reasons(index, value, seen))
            .unwrap_or_default();
        let reasons = reasons
            .iter()
            .take(REASONS)
            .map(|(about, share)| format!("{share:+.1} {}", feature(about)));
        writeln!(out, "  {:<width$}  {}", plain(value), reasons.collect::<Vec<_>>().join(" · "))?;
    }
    Ok(())
}

/// Returns the description of a feature in the chosen language.
fn feature(english: &str) -> String {
    let known = FEATURES.iter().find(|(_, about)| *about == english);
    known.map_or_else(|| english.to_owned(), |(name, about)| help::about("feature", name, about))
}
