//! `waterline plan --json`: one object per conversation.

use std::io::Write;

use anyhow::Result;
use waterline_provider::{PlanLine, Planned};

use super::Report;

/// Writes a plan as one line of JSON. A context may be as large as its source, so the line is
/// written as it is made.
pub fn json(out: &mut impl Write, report: &Report<'_>) -> Result<()> {
    let line = PlanLine::new(&Planned {
        id: &report.id,
        policy: &report.policy.name,
        model: report.model_name,
        wire: report.wire,
        context: report.rendered,
        action: report.action,
        tokens: report.tokens,
        fold_report: report.fold_report,
        slots: report.slots,
        warnings: report.warnings,
        outside: report.outside,
    });
    serde_json::to_writer(&mut *out, &line)?;
    writeln!(out)?;
    Ok(())
}
