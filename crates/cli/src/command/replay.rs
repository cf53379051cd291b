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
    #[arg(long)]
    lost: bool,
    #[arg(long)]
    train: bool,
    #[arg(long)]
    weights: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let names: Vec<String> = if arguments.policy.is_empty() {
        PRESETS.iter().map(|preset| preset.name.to_owned()).collect()
    } else {
        arguments.policy.clone()
    };
    let mut policies = names.iter().map(|name| settings::policy(name, &arguments.set)).collect::<Result<Vec<_>>>()?;
    if let Some(file) = &arguments.weights {
        let weights = waterline::ledger::Weights::read(&std::fs::read_to_string(file)?).map_err(|e| anyhow!(e))?;
        policies.iter_mut().for_each(|policy| policy.weights = weights.clone());
    }
    let mut lessons = Vec::new();
    let prices = Prices::named(&arguments.prices).ok_or_else(|| anyhow!("no prices"))?;
    let setup = Setup { policies, windows: arguments.window.clone(), prices, model: None, method: arguments.tokens, learn: arguments.train };
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
        |mut done: Done| {
            for outcome in &mut done.outcomes {
                lessons.append(&mut outcome.lessons);
            }
            for (tally, outcome) in tallies.iter_mut().zip(&done.outcomes) {
                tally.add(&outcome.tally);
                if arguments.lost {
                    for lost in &outcome.lost {
                        println!("LOST\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{:?}", outcome.policy, outcome.window, done.id, lost.value, lost.seen, lost.by, lost.needed, lost.fold);
                    }
                }
            }
        },
    )?;
    if arguments.train {
        let start = waterline::ledger::Weights::shipped();
        let n: usize = lessons.iter().map(|l| l.candidates.len()).sum();
        let p: usize = lessons.iter().map(|l| l.needed.iter().filter(|n| **n > 0).count()).sum();
        eprintln!("{} lessons, {n} candidates, {p} needed", lessons.len());
        let weights = waterline_replay::train::fit(&lessons, start, waterline_replay::train::Fit::default());
        println!("{}", weights.text());
        return Ok(ExitCode::SUCCESS);
    }
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
