//! `waterline replay train`: learns the ledger's weights from recorded conversations, and measures
//! them on files that were held out.

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

use super::{Input, each, prices, weights};
use crate::files::Output;
use crate::input::output;
use crate::sessions::{self, Origin};
use crate::settings;
use crate::show::{pad, percent, plain};
use crate::text;

/// Learn the ledger's weights from recorded conversations
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    input: Input,
    /// Weights to start from and stay close to (default: built in)
    #[arg(long, value_name = "FILE")]
    start: Option<PathBuf>,
    /// File to write (default: print the weights)
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Hold out each file in turn, and measure the weights learned from the others on it
    #[arg(long)]
    hold_out: bool,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let start = arguments.start.as_ref().map_or_else(|| Ok(Weights::shipped().clone()), weights)?;
    let origins = sessions::origins(&arguments.input.files, &arguments.input.database)?;
    let mut training_folds: Vec<Vec<TrainingFold>> = Vec::new();
    for origin in &origins {
        training_folds.push(learn(arguments, &start, origin)?);
    }
    let mut out = output();
    if arguments.hold_out {
        for (held_out, origin) in origins.iter().enumerate() {
            let others = training_folds.iter().enumerate().filter(|(at, _)| *at != held_out);
            let others: Vec<&TrainingFold> =
                others.flat_map(|(_, training_folds)| training_folds).collect();
            let learned = fit(&others, &start, Fit::default());
            writeln!(out, "{}", plain(&origin.name()))?;
            let start_label = text!("train-start");
            let learned_label = text!("train-held-out");
            for (label, weights) in [(start_label, &start), (learned_label, &learned)] {
                for (window, counters) in measure(arguments, weights, origin)? {
                    let retained = percent(counters.retained());
                    let intact = percent(counters.calls_intact());
                    let shares = text!("train-shares", retained = retained, intact = intact);
                    writeln!(out, "  {} {window:>7}  {shares}", pad(&label, 11))?;
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
            let path = path.display().to_string();
            file.write_all(format!("{HEAD}{}", weights.text()).as_bytes())
                .with_context(|| text!("cannot-write", path = path.as_str()))?;
            file.finish()?;
            writeln!(out, "{}", text!("train-done", count = all.len(), path = plain(&path)))?;
        }
        None => write!(out, "{}", weights.text())?,
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// The first lines of a file of weights.
const HEAD: &str = "\
# The weights of the ledger's ranking: how likely a value is to be needed again.
# The odds of a value are exp(sum of weight × feature). Values are ranked by odds per token.
# Counts are taken as log2(1 + count), so a weight is the value of each doubling.
# Written by `waterline replay train` (docs/replay.md); `waterline plan --why` shows the reasons.

";

fn config(arguments: &Arguments, weights: &Weights, learn: bool) -> Result<ReplayConfig> {
    let mut policy = Policy::preset("auto")?;
    policy.weights = weights.clone();
    let models = settings::models()?;
    Ok(ReplayConfig {
        policies: vec![policy],
        windows: arguments.input.windows(),
        prices: prices("cached", &models)?,
        model: arguments.input.model.clone(),
        models,
        method: arguments.input.tokens,
        trace: false,
        learn,
    })
}

fn learn(arguments: &Arguments, start: &Weights, origin: &Origin) -> Result<Vec<TrainingFold>> {
    let mut training_folds = Vec::new();
    let config = config(arguments, start, true)?;
    each(&config, std::slice::from_ref(origin), None, None, &|_, _| {}, |done| {
        // Most folds teach nothing and have many candidates, so they are dropped early.
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
    let config = config(arguments, weights, false)?;
    let mut measured: Vec<(usize, Counters)> =
        config.windows.iter().map(|&window| (window, Counters::default())).collect();
    each(&config, std::slice::from_ref(origin), None, None, &|_, _| {}, |done| {
        for ((_, counters), outcome) in measured.iter_mut().zip(&done.outcomes) {
            counters.add(&outcome.counters);
        }
    })?;
    Ok(measured)
}
