//! `waterline replay`: recorded conversations through policies, side by side.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use waterline::policy::PRESETS;
use waterline::tokens::Method;
use waterline_replay::crew::{Done, Job, replay_all};
use waterline_replay::price::Prices;
use waterline_replay::run::Setup;
use waterline_replay::tally::Tally;
use waterline_transcript::Source;

use crate::settings;

/// See what policies cost and forget, on recorded conversations
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Session files of any known format, or folders of them
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Presets or TOML files, separated by commas (default: all presets)
    #[arg(long, value_delimiter = ',', value_name = "NAME|FILE,…")]
    policy: Vec<String>,
    /// Set a key of every policy: `--set summarise.ledger=30%`
    #[arg(long = "set", value_parser = settings::setting, value_name = "KEY=VALUE")]
    set: Vec<(String, String)>,
    /// Tokens a context may take beside system prompt and tools: 8k,32k
    #[arg(long, value_delimiter = ',', value_parser = settings::size, default_value = "8k,32k", value_name = "N,…")]
    window: Vec<usize>,
    /// Price list: cached, cached-1h, cheap-reads, free-writes, uncached, or a model's name
    #[arg(long, default_value = "cached", value_name = "NAME")]
    prices: String,
    /// Count tokens in this way (default: as the model does)
    #[arg(long, value_name = "METHOD")]
    tokens: Option<Method>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let names: Vec<String> = if arguments.policy.is_empty() {
        PRESETS.iter().map(|preset| preset.name.to_owned()).collect()
    } else {
        arguments.policy.clone()
    };
    let policies = names.iter().map(|name| settings::policy(name, &arguments.set)).collect::<Result<Vec<_>>>()?;
    let prices = Prices::named(&arguments.prices).ok_or_else(|| anyhow!("no prices"))?;
    let setup = Setup { policies, windows: arguments.window.clone(), prices, model: None, method: arguments.tokens };
    let mut tallies: Vec<Tally> = vec![Tally::default(); setup.policies.len() * setup.windows.len()];
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    replay_all(
        &setup,
        threads,
        None,
        |emit| -> Result<()> {
            for (dataset, file) in arguments.files.iter().enumerate() {
                waterline_transcript::read(&Source::File(file.clone()), |transcript| {
                    emit(Job { dataset, transcript });
                    std::ops::ControlFlow::Continue(())
                })?;
            }
            Ok(())
        },
        |done: Done| {
            for (tally, outcome) in tallies.iter_mut().zip(&done.outcomes) {
                tally.add(&outcome.tally);
            }
        },
    )?;
    let mut out = std::io::stdout().lock();
    for (at, tally) in tallies.iter().enumerate() {
        let policy = setup.policies.get(at / setup.windows.len()).map_or("", |policy| &policy.name);
        let window = setup.windows.get(at % setup.windows.len()).copied().unwrap_or(0);
        writeln!(
            out,
            "{policy:12} {window:>6} retained {:.2} intact {:.2} mean {:.0} max {} folds {} cached {:.3} cost {:.3} verbatim {:.2} invalid {} over {} ({} values, {} calls, {} contexts)",
            tally.retained() * 100.0,
            tally.calls_intact() * 100.0,
            tally.tokens_mean(),
            tally.tokens_max,
            tally.folds,
            tally.bill.cached_share(),
            tally.cost(),
            tally.verbatim_share(),
            tally.invalid,
            tally.over,
            tally.values,
            tally.calls,
            tally.contexts,
        )?;
    }
    Ok(ExitCode::SUCCESS)
}
