//! `waterline models remove`.

use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use waterline_memory::encoder;

use super::{directory, existing_log};
use crate::db::Database;
use crate::error::describe_add;
use crate::text;

/// Delete an encoder's files, and the vectors that it made for the messages in the log
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Name of the encoder
    name: String,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let models = directory()?;
    let name = arguments.name.as_str();
    let found = models.list()?.into_iter().find(|model| model.name == name);
    let Some(model) = found else { bail!(text!("models-unknown", name = name)) };
    // The files come last: without them, the name of the vectors is no longer known.
    let vectors = match (encoder::name(&model.path), existing_log(database)?) {
        (Ok(id), Some(log)) => log.delete_vectors(&id)?,
        _ => 0,
    };
    models.remove(name).map_err(|error| anyhow!(describe_add(&error)))?;
    anstream::println!("{}", text!("models-removed", name = name, count = vectors));
    Ok(ExitCode::SUCCESS)
}
