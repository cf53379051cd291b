//! `waterline replay train`: the ledger's weights from recorded conversations, and how they do on
//! ones never seen.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use waterline::ledger::Weights;
use waterline::policy::Policy;
use waterline_replay::counters::Counters;
use waterline_replay::run::ReplayConfig;
use waterline_replay::train::{Fit, fit};
use waterline_replay::training_fold::TrainingFold;

use super::{What, each, prices, weights};
use crate::files::Output;
use crate::input::output;
use crate::sessions::{self, Origin};
use crate::show::{percent, plain};

/// Learn the weights of the ledger from recorded conversations
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    what: What,
    /// Where the training starts, and what holds it (default: the weights that come with the
    /// program)
    #[arg(long, value_name = "FILE")]
    start: Option<PathBuf>,
    /// The file to write (default: only show the weights)
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Leave each file out once, and show how weights learned from the others do on it
    #[arg(long)]
    hold_out: bool,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let start = arguments.start.as_ref().map_or_else(|| Ok(Weights::shipped().clone()), weights)?;
    let origins = sessions::origins(&arguments.what.files, &arguments.what.database)?;
    let mut training_folds: Vec<Vec<TrainingFold>> = Vec::new();
    for origin in &origins {
        training_folds.push(learn(arguments, &start, origin)?);
    }
    let mut out = output();
    if arguments.hold_out {
        for (left_out, origin) in origins.iter().enumerate() {
            let others = training_folds.iter().enumerate().filter(|(at, _)| *at != left_out);
            let others: Vec<&TrainingFold> =
                others.flat_map(|(_, training_folds)| training_folds).collect();
            let learned = fit(&others, &start, Fit::default());
            writeln!(out, "{}", plain(&origin.name()))?;
            for (name, weights) in [("start", &start), ("never seen", &learned)] {
                for (window, tally) in measure(arguments, weights, origin)? {
                    let (retained, intact) =
                        (percent(tally.retained()), percent(tally.calls_intact()));
                    writeln!(
                        out,
                        "  {name:<11} {window:>7}  retained {retained}  calls intact {intact}"
                    )?;
                }
            }
        }
    }
    let all: Vec<&TrainingFold> = training_folds.iter().flatten().collect();
    let weights = fit(&all, &start, Fit::default());
    match &arguments.out {
        Some(path) => {
            let files: Vec<PathBuf> = origins.iter().filter_map(Origin::file).cloned().collect();
            let mut file = Output::create(path, &files)?;
            file.write_all(format!("{HEAD}{}", weights.text()).as_bytes())
                .context("cannot write the weights")?;
            file.finish()?;
            writeln!(out, "{} folds taught {}", all.len(), plain(&path.display().to_string()))?;
        }
        None => write!(out, "{}", weights.text())?,
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// The first lines of a file of weights.
const HEAD: &str = "\
# How likely a value is to be needed again: the weights of the ledger's ranking.
# The odds of a value are exp(sum of weight × feature); it is listed by its odds for the room it takes. Counts are taken
# as log2(1 + count), so a weight says what each doubling is worth.
# Made by `waterline replay train` (docs/replay.md); `waterline plan FILE --why` shows what speaks for each value.

";

fn setup(arguments: &Arguments, weights: &Weights, learn: bool) -> Result<ReplayConfig> {
    let mut policy = Policy::preset("auto")?;
    policy.weights = weights.clone();
    Ok(ReplayConfig {
        policies: vec![policy],
        windows: arguments.what.windows(),
        prices: prices("cached")?,
        model: arguments.what.model.clone(),
        method: arguments.what.tokens,
        trace: false,
        learn,
    })
}

fn learn(arguments: &Arguments, start: &Weights, origin: &Origin) -> Result<Vec<TrainingFold>> {
    let mut training_folds = Vec::new();
    let setup = setup(arguments, start, true)?;
    each(&setup, std::slice::from_ref(origin), None, &|_| {}, |done| {
        // Most folds teach nothing, and their candidates are many.
        let all = done.outcomes.into_iter().flat_map(|outcome| outcome.training_folds);
        training_folds.extend(all.filter(TrainingFold::teaches));
    })?;
    Ok(training_folds)
}

fn measure(
    arguments: &Arguments,
    weights: &Weights,
    origin: &Origin,
) -> Result<Vec<(usize, Counters)>> {
    let setup = setup(arguments, weights, false)?;
    let mut tallies: Vec<(usize, Counters)> =
        setup.windows.iter().map(|&window| (window, Counters::default())).collect();
    each(&setup, std::slice::from_ref(origin), None, &|_| {}, |done| {
        for ((_, tally), outcome) in tallies.iter_mut().zip(&done.outcomes) {
            tally.add(&outcome.counters);
        }
    })?;
    Ok(tallies)
}
