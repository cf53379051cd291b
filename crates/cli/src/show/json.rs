//! `waterline plan --json`: one object a conversation. The shape is documented in docs/plan-json.md
//! and stable.

use std::io::Write;

use anyhow::Result;
use serde_json::{Value, json};
use waterline::json::one_line;
use waterline::plan::{Action, Slot};

use super::Report;

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
        Action::Extend => Value::Null,
    };
    write!(out, ",\"fold\":{reason}")?;
    if let Some(system) = &rendered.system {
        write!(out, ",\"system\":{}", one_line(system.as_str()))?;
    }
    write!(out, ",\"messages\":[")?;
    // Written one by one: a context may be as large as its source, and is not copied for this.
    for (at, message) in rendered.messages.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        write!(out, "{comma}{}", one_line(message.as_str()))?;
    }
    let slots: Vec<Slot> =
        report.slots.iter().map(|slot| counted_as_listed(slot, report.outside)).collect();
    let warnings: Vec<String> = report.warnings.iter().map(|warning| report.say(warning)).collect();
    writeln!(
        out,
        "],\"tokens\":{},\"slots\":{},\"warnings\":{}}}",
        json!(tokens),
        json!(slots),
        json!(warnings)
    )?;
    Ok(())
}

/// A slot with its sources counted as the file counts them: messages outside the list have no
/// index.
fn counted_as_listed(slot: &Slot, outside: usize) -> Slot {
    let sources = slot.sources.iter().filter_map(|source| source.checked_sub(outside)).collect();
    let mut numbered = slot.clone();
    numbered.sources = sources;
    numbered
}
