//! `waterline replay usage`: how well tokens are counted, against what providers reported.

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use waterline::tokens::Method;
use waterline_replay::usage::{Accuracy, compare};
use waterline_transcript::Standing;

use crate::db::Stored;
use crate::input::output;
use crate::sessions;
use crate::show::{number, plain};

/// See how well tokens are counted, against what providers reported in recorded conversations
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Session files of any known format, or folders of them; with --db, ids of stored sessions
    /// (default: all)
    files: Vec<PathBuf>,
    #[command(flatten)]
    database: Stored,
    /// Count tokens in this way (default: as the model does)
    #[arg(long, value_name = "METHOD")]
    tokens: Option<Method>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let mut families: BTreeMap<String, Accuracy> = BTreeMap::new();
    for origin in sessions::origins(&arguments.files, &arguments.database)? {
        let read = origin.read(|transcript| {
            // A branch repeats what it shares with the session it left.
            if transcript.role != Standing::Branch {
                compare(transcript, arguments.tokens, &mut families);
            }
            ControlFlow::Continue(())
        });
        match read {
            Ok(notices) => sessions::show_notices(&origin.name(), &notices),
            Err(error) => {
                anstream::eprintln!("waterline: {}; skipped", plain(&format!("{error:#}")));
            }
        }
    }
    families.retain(|_, accuracy| accuracy.prompts > 0);
    if families.is_empty() {
        bail!("no session in these files tells what its calls cost");
    }
    let mut out = output();
    writeln!(
        out,
        "model               prompts   counted / real   prompt off by   calibrated   from the last call"
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
