//! `waterline replay`: runs recorded conversations through policies and compares them.

mod dump;
mod judge;
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
use waterline::model::Models;
use waterline::policy::{PRESETS, Policy};
use waterline::tokens::Method;
use waterline_agent::DEFAULT_POLICY;
use waterline_log::read_all;
use waterline_replay::judge::Candidates;
use waterline_replay::page;
use waterline_replay::pool::{Done, Job, Watch, replay_all};
use waterline_replay::price::Prices;
use waterline_replay::report::Report;
use waterline_replay::run::{Context as Sent, ReplayConfig};
use waterline_transcript::TranscriptKind;

use crate::db::Stored;
use crate::error::{describe, toml_error};
use crate::files::Output;
use crate::input::{output, raw_output};
use crate::lang::{lang, list};
use crate::sessions::{self, Origin};
use crate::settings;
use crate::show::{phrase, replay as show};
use crate::text;

/// Compare what policies cost and forget, on recorded conversations
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
    Train(train::Arguments),
    Usage(usage::Arguments),
}

#[derive(Debug, clap::Args)]
struct Run {
    #[command(flatten)]
    input: Input,
    /// Presets or TOML files, comma-separated (default: all presets)
    #[arg(long, value_delimiter = ',', value_name = "NAME|FILE,…")]
    policy: Vec<String>,
    /// Set a key of every policy, such as fold.low=50% (see `waterline policy keys`)
    #[arg(long = "set", value_parser = settings::setting, value_name = "KEY=VALUE")]
    set: Vec<(String, String)>,
    /// Weights to rank the ledger's values with (default: built in)
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Price list: cached, cached-1h, cheap-reads, free-writes, uncached, or a model's name
    #[arg(long, default_value = "cached", value_name = "NAME")]
    prices: String,
    /// List each value that the policies of --policy, or auto, would have forgotten, with its
    /// source and the call that needed it
    #[arg(long)]
    lost: bool,
    /// Replay only this session (id or prefix)
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Print one JSON object with a row for each policy, window and file
    #[arg(long)]
    json: bool,
    /// Write an HTML page with charts
    #[arg(long, value_name = "OUT")]
    html: Option<PathBuf>,
    /// Write every context to this file as JSON lines
    #[arg(long, value_name = "OUT")]
    dump: Option<PathBuf>,
    #[command(flatten)]
    judge: judge::JudgeArguments,
}

/// What to replay, and how to count its tokens.
#[derive(Debug, clap::Args)]
pub struct Input {
    /// Session files in any supported format, or directories of them; with --db, ids of stored
    /// sessions (default: all)
    files: Vec<PathBuf>,
    #[command(flatten)]
    database: Stored,
    /// Tokens a context may use in addition to system prompt and tools
    #[arg(
        long,
        value_delimiter = ',',
        value_parser = settings::size,
        default_value = "8k,32k",
        value_name = "N,…"
    )]
    window: Vec<usize>,
    /// Model to replay for (default: the one in the session)
    #[arg(long)]
    model: Option<String>,
    /// Counting method (default: the model's); published figures use chars/4
    #[arg(long, value_name = "METHOD")]
    tokens: Option<Method>,
}

impl Input {
    /// Returns the windows without duplicates.
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
    let input = &arguments.input;
    let models = settings::models()?;
    let config = ReplayConfig {
        policies: policies(arguments)?,
        windows: input.windows(),
        prices: prices(&arguments.prices, &models)?,
        model: input.model.clone(),
        models: models.clone(),
        method: input.tokens,
        trace: arguments.lost || arguments.html.is_some(),
        learn: false,
    };
    let name = input.model.as_deref();
    if let Some(warning) = name.and_then(|name| settings::model(&models, Some(name)).1) {
        anstream::eprintln!("waterline: {}", phrase(&warning.text));
    }
    let origins = sessions::origins(&input.files, &input.database)?;
    let judge = arguments.judge.connect(name)?;
    let mut report = Report::new(&config, origins.iter().map(Origin::name).collect());
    let files: Vec<PathBuf> = origins.iter().filter_map(Origin::file).cloned().collect();
    let create =
        |path: &Option<PathBuf>| path.as_ref().map(|path| Output::create(path, &files)).transpose();
    let page = create(&arguments.html)?;
    let dump = create(&arguments.dump)?.map(Dump::new);
    let candidates = Candidates::default();
    let watch = |number: usize, sent: &Sent<'_>| {
        if let Some(dump) = &dump {
            dump.write(sent);
        }
        if judge.is_some() {
            candidates.add(number, sent);
        }
    };
    let session = arguments.session.as_deref();
    let mut datasets = Vec::new();
    each(&config, &origins, session, None, &watch, |done| {
        datasets.push(done.dataset);
        report.add(done);
    })?;
    if let Some(dump) = dump {
        dump.finish()?;
    }
    if report.conversations() == 0 {
        match &arguments.session {
            Some(id) => bail!(text!("replay-no-such-session", id = id.as_str())),
            None => bail!(text!("replay-no-session")),
        }
    }
    if let Some(server) = judge {
        let config = &config;
        let second = judge::Second { config, origins: &origins, session, datasets: &datasets };
        server.judge(&mut report, candidates, &second)?;
    }
    if let Some(mut file) = page {
        let written = file.write_all(page::write(&report, lang().name(), &phrase).as_bytes());
        written.with_context(|| text!("replay-page-failed"))?;
        file.finish()?;
    }
    print(arguments, &report)?;
    Ok(ExitCode::SUCCESS)
}

fn print(arguments: &Run, report: &Report) -> Result<()> {
    let mut out = if arguments.json { raw_output() } else { output() };
    if arguments.json {
        show::json(&mut out, report, arguments.lost)?;
    } else {
        show::table(&mut out, report)?;
        if arguments.lost {
            // The lists of all presets would fill many screens.
            let only = arguments.policy.is_empty().then_some(DEFAULT_POLICY);
            show::lost(&mut out, report, only)?;
        }
    }
    Ok(out.flush()?)
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

/// The largest file of weights that is read.
const MAX_WEIGHTS_BYTES: usize = 1 << 20;

fn weights(path: &PathBuf) -> Result<Weights> {
    let name = path.display().to_string();
    let text = std::fs::File::open(path)
        .and_then(|mut file| read_all(&mut file, MAX_WEIGHTS_BYTES))
        .and_then(|bytes| String::from_utf8(bytes).map_err(std::io::Error::other))
        .with_context(|| text!("cannot-read", path = name.as_str()))?;
    Weights::read(&text).map_err(|error| {
        let cause = toml_error(&error);
        anyhow!(text!("error-with-cause", error = name, cause = cause))
    })
}

fn prices(name: &str, models: &Models) -> Result<Prices> {
    Prices::named(name, models).ok_or_else(|| {
        let names: Vec<&str> = Prices::shipped().iter().map(|list| list.name.as_str()).collect();
        anyhow!(text!("replay-no-prices", name = name, known = list(&names)))
    })
}

/// Replays every session of these files on all cores, with a progress bar on a terminal. A repeated
/// replay has its own bar, and reports nothing about the files again.
fn each(
    config: &ReplayConfig,
    origins: &[Origin],
    session: Option<&str>,
    repeated: Option<&ProgressBar>,
    watch: &Watch<'_>,
    mut collect: impl FnMut(Done),
) -> Result<()> {
    let is_first = repeated.is_none();
    let bar = repeated.cloned().unwrap_or_else(|| progress(origins.len()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let read = |emit: &mut dyn FnMut(Job)| -> Result<()> {
        let mut refused = Vec::new();
        for (dataset, origin) in origins.iter().enumerate() {
            let read = origin.read(|transcript| {
                // A branch repeats the messages that it shares with its session, so it counts only
                // if it is named.
                let is_named = session.is_some() || origin.file().is_none() && origins.len() == 1;
                let counts = transcript.role != TranscriptKind::Branch || is_named;
                if counts && session.is_none_or(|id| transcript.id.starts_with(id)) {
                    emit(Job::new(dataset, transcript));
                }
                ControlFlow::Continue(())
            });
            bar.inc(u64::from(is_first));
            match read {
                Ok(_) if !is_first => {}
                Ok(notices) => bar.suspend(|| sessions::show_notices(&origin.name(), &notices)),
                // A directory may contain other files.
                Err(error) if origins.len() > 1 => refused.push(describe(&error)),
                Err(error) => return Err(error),
            }
        }
        if is_first {
            bar.suspend(|| sessions::show_refused(&refused));
        }
        if refused.len() == origins.len() {
            Err(anyhow!(text!("sessions-none-readable")))
        } else {
            Ok(())
        }
    };
    let mut count = 0_usize;
    let outcome = replay_all(config, threads, watch, read, |done| {
        count += 1;
        if is_first {
            bar.set_message(text!("replay-progress", count = count));
        }
        collect(done);
    });
    bar.finish_and_clear();
    outcome
}

fn progress(count: usize) -> ProgressBar {
    let bar = ProgressBar::new(u64::try_from(count).unwrap_or(u64::MAX));
    if let Ok(style) = ProgressStyle::with_template("{spinner} {pos}/{len} · {msg} · {elapsed}") {
        bar.set_style(style);
    }
    bar.set_message(text!("reading"));
    bar.enable_steady_tick(std::time::Duration::from_millis(120));
    bar
}
