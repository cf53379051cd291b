//! `waterline models list`.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;
use waterline_memory::encoder::{self, AddedModel, OpenError};

use super::{directory, existing_log, kind};
use crate::db::Database;
use crate::error::describe_open;
use crate::input::{output, raw_output};
use crate::number::bytes;
use crate::show::{align_right, pad, width};
use crate::text;

/// List the encoders that were added, the preferred one first
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Print one JSON object per encoder
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let models = directory()?.list()?;
    let counts = match existing_log(database)? {
        Some(log) => log.vector_counts()?,
        None => BTreeMap::new(),
    };
    let mut out = if arguments.json { raw_output() } else { output() };
    if models.is_empty() && !arguments.json {
        writeln!(out, "{}", text!("models-none"))?;
    }
    let wide = models.iter().map(|model| width(&model.name)).max().unwrap_or(0);
    for model in models {
        let name = encoder::name(&model.path).ok();
        let count = name.and_then(|name| counts.get(&name).copied()).unwrap_or(0);
        match arguments.json {
            true => writeln!(out, "{}", object(&model, count))?,
            false => {
                let encoded = text!("models-encoded", count = count);
                let size = align_right(&bytes(model.bytes), 9);
                let name = pad(&model.name, wide);
                let path = model.path;
                let about = model.kind.map_or_else(|error| describe_open(&path, error), kind);
                writeln!(out, "{name}  {size}  {about}, {encoded}")?;
            }
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn object(model: &AddedModel, encoded: u64) -> serde_json::Value {
    let kind = model.kind.as_ref().ok().map(|kind| match kind {
        encoder::ModelKind::Sentences => "sentences",
        encoder::ModelKind::Multilingual => "multilingual",
        encoder::ModelKind::Words => "words",
    });
    json!({
        "name": model.name,
        "kind": kind,
        "problem": model.kind.as_ref().err().map(OpenError::to_string),
        "bytes": model.bytes,
        "path": model.path.display().to_string(),
        "encoded": encoded,
    })
}
