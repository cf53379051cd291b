//! `waterline replay usage`: how well tokens are counted, against what providers reported.

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use waterline::tokens::Method;
use waterline_replay::usage::{Accuracy, compare};
use waterline_transcript::Source;

use crate::input::output;
use crate::sessions;
use crate::show::number;

/// See how well tokens are counted, against what providers reported in recorded conversations
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Session files of any known format, or folders of them
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Count tokens in this way (default: as the model does)
    #[arg(long, value_name = "METHOD")]
    tokens: Option<Method>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let mut families: BTreeMap<String, Accuracy> = BTreeMap::new();
    for file in sessions::files(&arguments.files)? {
        let read = waterline_transcript::read(&Source::File(file.clone()), |transcript| {
            compare(transcript, arguments.tokens, &mut families);
            ControlFlow::Continue(())
        });
        match read {
            Ok(report) => sessions::show_notices(&file.display().to_string(), &report.notices),
            Err(error) => anstream::eprintln!("waterline: {error}; skipped"),
        }
    }
    families.retain(|_, accuracy| accuracy.steps > 0);
    if families.is_empty() {
        bail!("no session in these files tells what its calls cost");
    }
    let mut out = output();
    writeln!(out, "model                 steps   real tokens   sum off by   calibrated   a step off by   calibrated")?;
    for (family, accuracy) in &families {
        let ((bias, biased), (error, left)) = (accuracy.bias(), accuracy.error());
        writeln!(
            out,
            "{family:<20} {:>6} {:>13} {:>11.1}% {:>11.1}% {:>14.1}% {:>11.1}%",
            number(accuracy.steps),
            number(accuracy.real),
            bias * 100.0,
            biased * 100.0,
            error * 100.0,
            left * 100.0
        )?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
