//! `waterline replay`: recorded conversations through policies, side by side.

mod dump;
mod train;
mod usage;

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use dump::Dump;
use indicatif::{ProgressBar, ProgressStyle};
use waterline::ledger::Weights;
use waterline::policy::{PRESETS, Policy};
use waterline::tokens::Method;
use waterline_replay::page;
use waterline_replay::pool::{Done, Job, Watch, replay_all};
use waterline_replay::price::Prices;
use waterline_replay::report::Report;
use waterline_replay::run::{Context as Sent, ReplayConfig};
use waterline_transcript::Standing;

use crate::db::Stored;
use crate::files::Output;
use crate::input::{output, raw_output};
use crate::sessions::{self, Origin};
use crate::settings;
use crate::show::{plain, replay as show};

/// See what policies cost and forget, on recorded conversations
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: Run,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Learn the weights of the ledger from recorded conversations
    Train(train::Arguments),
    /// See how well tokens are counted, against what providers reported
    Usage(usage::Arguments),
}

#[derive(Debug, clap::Args)]
struct Run {
    #[command(flatten)]
    what: What,
    /// Presets or TOML files, separated by commas (default: all presets)
    #[arg(long, value_delimiter = ',', value_name = "NAME|FILE,…")]
    policy: Vec<String>,
    /// Set a key of every policy: `--set fold.low=50%` (see `waterline policy keys`)
    #[arg(long = "set", value_parser = settings::setting, value_name = "KEY=VALUE")]
    set: Vec<(String, String)>,
    /// Rank the ledger's values with these weights (default: those that come with the program)
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Price list: cached, cached-1h, cheap-reads, free-writes, uncached, or the name of a model
    #[arg(long, default_value = "cached", value_name = "NAME")]
    prices: String,
    /// List each value that would have been forgotten, with where it came from and what needed it
    #[arg(long)]
    lost: bool,
    /// Only the session of this id, or of which the id begins with this
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// One JSON object with a row for each policy, window and file
    #[arg(long)]
    json: bool,
    /// Write one page with the curves
    #[arg(long, value_name = "OUT")]
    html: Option<PathBuf>,
    /// Write every context as JSON lines
    #[arg(long, value_name = "OUT")]
    dump: Option<PathBuf>,
}

/// What is replayed, and how it is counted.
#[derive(Debug, clap::Args)]
pub struct What {
    /// Session files of any known format, or folders of them; with --db, ids of stored sessions
    /// (default: all)
    files: Vec<PathBuf>,
    #[command(flatten)]
    database: Stored,
    /// Tokens a context may take beside system prompt and tools: 8k,32k
    #[arg(long, value_delimiter = ',', value_parser = settings::size, default_value = "8k,32k", value_name = "N,…")]
    window: Vec<usize>,
    /// Take this model to be called (default: the one the session names)
    #[arg(long)]
    model: Option<String>,
    /// Count tokens in this way (default: as the model does); chars/4 is the unit of published
    /// figures
    #[arg(long, value_name = "METHOD")]
    tokens: Option<Method>,
}

impl What {
    /// The windows, each once.
    fn windows(&self) -> Vec<usize> {
        let mut windows: Vec<usize> = Vec::new();
        for &window in &self.window {
            if !windows.contains(&window) {
                windows.push(window);
            }
        }
        windows
    }
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    match &arguments.command {
        Some(Command::Train(arguments)) => train::run(arguments),
        Some(Command::Usage(arguments)) => usage::run(arguments),
        None => replay(&arguments.run),
    }
}

fn replay(arguments: &Run) -> Result<ExitCode> {
    let setup = ReplayConfig {
        policies: policies(arguments)?,
        windows: arguments.what.windows(),
        prices: prices(&arguments.prices)?,
        model: arguments.what.model.clone(),
        method: arguments.what.tokens,
        trace: arguments.lost || arguments.html.is_some(),
        learn: false,
    };
    if let Some(warning) =
        arguments.what.model.as_deref().and_then(|name| settings::model(Some(name)).1)
    {
        anstream::eprintln!("waterline: {}", plain(&warning.to_string()));
    }
    let origins = sessions::origins(&arguments.what.files, &arguments.what.database)?;
    let mut report = Report::new(&setup, origins.iter().map(Origin::name).collect());
    let files: Vec<PathBuf> = origins.iter().filter_map(Origin::file).cloned().collect();
    let create =
        |path: &Option<PathBuf>| path.as_ref().map(|path| Output::create(path, &files)).transpose();
    let (page, dump) = (create(&arguments.html)?, create(&arguments.dump)?.map(Dump::new));
    let watch = |sent: &Sent<'_>| {
        if let Some(dump) = &dump {
            dump.write(sent);
        }
    };
    each(&setup, &origins, arguments.session.as_deref(), &watch, |done| report.add(done))?;
    if let Some(dump) = dump {
        dump.finish()?;
    }
    if report.conversations() == 0 {
        bail!(
            "no session with a model call in it{}",
            arguments.session.as_ref().map_or("", |_| " has that id")
        );
    }
    if let Some(mut file) = page {
        file.write_all(page::write(&report).as_bytes()).context("cannot write the page")?;
        file.finish()?;
    }
    let mut out = if arguments.json { raw_output() } else { output() };
    if arguments.json {
        show::json(&mut out, &report, arguments.lost)?;
    } else {
        show::table(&mut out, &report)?;
        if arguments.lost {
            show::lost(&mut out, &report)?;
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn policies(arguments: &Run) -> Result<Vec<Policy>> {
    let mut names: Vec<&str> = Vec::new();
    for name in arguments.policy.iter().map(|name| name.trim()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        names = PRESETS.iter().map(|preset| preset.name).collect();
    }
    let mut policies = names
        .into_iter()
        .map(|name| settings::policy(name, &arguments.set))
        .collect::<Result<Vec<_>, _>>()?;
    if let Some(path) = &arguments.weights {
        let weights = weights(path)?;
        policies.iter_mut().for_each(|policy| policy.weights = weights.clone());
    }
    Ok(policies)
}

fn weights(path: &PathBuf) -> Result<Weights> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Weights::read(&text).map_err(|error| anyhow!("{}: {error}", path.display()))
}

fn prices(name: &str) -> Result<Prices> {
    Prices::named(name).ok_or_else(|| {
        let names: Vec<&str> = Prices::shipped().iter().map(|list| list.name.as_str()).collect();
        anyhow!(
            "no price list is called {name:?}; there are {}, and every model of the model table",
            names.join(", ")
        )
    })
}

/// Replays every session of these files on all cores, with a bar where somebody watches.
fn each(
    setup: &ReplayConfig,
    origins: &[Origin],
    session: Option<&str>,
    watch: &Watch<'_>,
    mut collect: impl FnMut(Done),
) -> Result<()> {
    let bar = progress(origins.len());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let read = |emit: &mut dyn FnMut(Job)| -> Result<()> {
        let mut refused = Vec::new();
        for (dataset, origin) in origins.iter().enumerate() {
            let read = origin.read(|transcript| {
                // A branch repeats what it shares with the session it left.
                let is_asked_for =
                    session.is_some() || origin.file().is_none() && origins.len() == 1;
                let counts = transcript.role != Standing::Branch || is_asked_for;
                if counts && session.is_none_or(|id| transcript.id.starts_with(id)) {
                    emit(Job { dataset, transcript });
                }
                ControlFlow::Continue(())
            });
            bar.inc(1);
            match read {
                Ok(notices) => bar.suspend(|| sessions::show_notices(&origin.name(), &notices)),
                // In a folder there may be files of other kinds.
                Err(error) if origins.len() > 1 => refused.push(format!("{error:#}")),
                Err(error) => return Err(error),
            }
        }
        bar.suspend(|| sessions::show_refused(&refused));
        if refused.len() == origins.len() {
            Err(anyhow!("no file could be read as sessions"))
        } else {
            Ok(())
        }
    };
    let mut count = 0_usize;
    let outcome = replay_all(setup, threads, watch, read, |done| {
        count += 1;
        bar.set_message(format!("{count} sessions replayed"));
        collect(done);
    });
    bar.finish_and_clear();
    outcome
}

fn progress(count: usize) -> ProgressBar {
    let bar = ProgressBar::new(u64::try_from(count).unwrap_or(u64::MAX));
    if let Ok(style) =
        ProgressStyle::with_template("{spinner} {pos} of {len} read · {msg} · {elapsed}")
    {
        bar.set_style(style);
    }
    bar.set_message("reading");
    bar.enable_steady_tick(std::time::Duration::from_millis(120));
    bar
}
