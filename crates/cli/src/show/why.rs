//! Why the ledger of a plan lists what it lists: for each value, what speaks for it and what
//! against it.

use std::io::Write;

use anyhow::Result;

use super::{Report, plain};

/// Reasons shown for each value.
const REASONS: usize = 3;

/// The values of the ledger, likeliest first.
pub fn why(out: &mut impl Write, report: &Report<'_>) -> Result<()> {
    let listed: Vec<&str> =
        report.slots.iter().flat_map(|slot| &slot.listed).map(String::as_str).collect();
    if listed.is_empty() {
        writeln!(out, "\nno value is listed: nothing was folded, or the policy keeps no ledger")?;
        return Ok(());
    }
    writeln!(out, "\nthe ledger, by what each value adds for its room")?;
    let index = report.history.values();
    let width = listed.iter().map(|value| value.chars().count()).max().unwrap_or(0).min(48);
    for value in listed {
        let reasons = index
            .get(value)
            .map(|seen| report.policy.weights.reasons(index, value, seen))
            .unwrap_or_default();
        let words =
            reasons.iter().take(REASONS).map(|(about, share)| format!("{share:+.1} {about}"));
        writeln!(out, "  {:<width$}  {}", plain(value), words.collect::<Vec<_>>().join(" · "))?;
    }
    Ok(())
}
