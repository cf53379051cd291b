//! `waterline replay usage`: compares counted tokens with the usage that providers reported.

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use waterline::tokens::Method;
use waterline_replay::usage::{Accuracy, compare};
use waterline_transcript::TranscriptKind;

use crate::db::Stored;
use crate::error::describe;
use crate::input::output;
use crate::sessions;
use crate::settings;
use crate::show::{align_right, number, pad};
use crate::text;

/// Compare counted tokens with the usage that providers reported
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Session files in any supported format, or directories of them; with --db, ids of stored
    /// sessions (default: all)
    files: Vec<PathBuf>,
    #[command(flatten)]
    database: Stored,
    /// Counting method (default: the model's)
    #[arg(long, value_name = "METHOD")]
    tokens: Option<Method>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let models = settings::models()?;
    let mut families: BTreeMap<String, Accuracy> = BTreeMap::new();
    for origin in sessions::origins(&arguments.files, &arguments.database)? {
        let read = origin.read(|transcript| {
            // A branch repeats the messages that it shares with its session.
            if transcript.role != TranscriptKind::Branch {
                compare(transcript, arguments.tokens, &models, &mut families);
            }
            ControlFlow::Continue(())
        });
        match read {
            Ok(notices) => sessions::show_notices(&origin.name(), &notices),
            Err(error) => sessions::show_refused(&[describe(&error)]),
        }
    }
    families.retain(|_, accuracy| accuracy.prompts > 0);
    if families.is_empty() {
        bail!(text!("usage-none"));
    }
    let mut out = output();
    writeln!(
        out,
        "{}{}{}{}{}{}",
        pad(&text!("usage-model"), 20),
        align_right(&text!("usage-prompts"), 7),
        align_right(&text!("usage-ratio"), 17),
        align_right(&text!("usage-off"), 16),
        align_right(&text!("usage-calibrated"), 13),
        align_right(&text!("usage-from-last"), 21)
    )?;
    for (family, accuracy) in &families {
        let share = |off: f64| off / accuracy.real * 100.0;
        writeln!(
            out,
            "{family:<20} {:>6} {:>16.2} {:>14.1}% {:>11.1}% {:>19.1}%",
            number(accuracy.prompts),
            accuracy.added.1 / accuracy.added.0,
            share(accuracy.counted_off),
            share(accuracy.calibrated_off),
            share(accuracy.running_off)
        )?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
