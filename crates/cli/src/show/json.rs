//! `waterline plan --json`: one object per conversation.

use std::io::Write;

use anyhow::Result;
use waterline_provider::PlanLine;

use super::Report;

/// Writes a plan as one line of JSON. A context may be as large as its source, so the line is
/// written as it is made.
pub fn json(out: &mut impl Write, report: &Report<'_>) -> Result<()> {
    serde_json::to_writer(&mut *out, &PlanLine::new(&report.plan))?;
    writeln!(out)?;
    Ok(())
}
