//! `waterline plan --json`: one object per conversation. The format is stable and documented in
//! docs/plan-json.md.

use std::io::Write;

use anyhow::Result;
use serde_json::{Value, json};
use waterline::json::one_line;
use waterline::plan::{Action, Slot};
use waterline::warning::Warning;

use super::Report;

/// Writes a plan as one line of JSON. Messages are counted from 0, as indexes of the file's list.
pub fn json(out: &mut impl Write, report: &Report<'_>) -> Result<()> {
    let Report { rendered, tokens, .. } = report;
    write!(out, "{{\"id\":{},\"wire\":{}", json!(report.id), json!(report.wire.name()))?;
    write!(
        out,
        ",\"policy\":{},\"model\":{}",
        json!(report.policy.name),
        json!(report.model_name)
    )?;
    let reason = match report.action {
        Action::Fold { reason, .. } => json!(reason),
        _ => Value::Null,
    };
    write!(out, ",\"fold\":{reason}")?;
    if let Some(system) = &rendered.system {
        write!(out, ",\"system\":{}", one_line(system.as_str()))?;
    }
    write!(out, ",\"messages\":[")?;
    // Written one by one: a context may be as large as its source, so it is not copied.
    for (at, message) in rendered.messages.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        write!(out, "{comma}{}", one_line(message.as_str()))?;
    }
    let slots: Vec<Slot> =
        report.slots.iter().map(|slot| with_file_indexes(slot, report.outside)).collect();
    let warnings: Vec<String> =
        report.warnings.iter().map(|warning| numbered(report, warning)).collect();
    writeln!(
        out,
        "],\"tokens\":{},\"fold_report\":{},\"slots\":{},\"warnings\":{}}}",
        json!(tokens),
        json!(report.fold_report),
        json!(slots),
        json!(warnings)
    )?;
    Ok(())
}

/// Returns a warning with the index of its message in the file.
fn numbered(report: &Report<'_>, warning: &Warning) -> String {
    let mut numbered = warning.clone();
    numbered.at = report.index(warning);
    numbered.to_string()
}

/// Returns a slot with the indexes of its sources in the file. Messages outside the list have none.
fn with_file_indexes(slot: &Slot, outside: usize) -> Slot {
    let sources = slot.sources.iter().filter_map(|source| source.checked_sub(outside)).collect();
    let mut numbered = slot.clone();
    numbered.sources = sources;
    numbered
}
