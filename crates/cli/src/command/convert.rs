//! `waterline convert`: session files of other programs, written in another format.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use waterline_transcript::write::{self, Format};
use waterline_transcript::{Source, Standing, Transcript};

use crate::files::Output;
use crate::input::raw_output;
use crate::sessions;
use crate::show::number;

/// Write a session file of another program as OpenAI chat lines, Anthropic messages or ATIF
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// A session file of any known format; `-` for standard input
    input: String,
    /// The file to write; `-` for standard output
    output: String,
    /// The format to write: openai-chat, anthropic, atif
    #[arg(long, default_value = "openai-chat", value_name = "FORMAT")]
    to: Format,
    /// Leave out branches that were given up, and sub-agents
    #[arg(long)]
    main_only: bool,
    /// Write over a file that is there
    #[arg(long)]
    force: bool,
}

/// What was converted.
#[derive(Default)]
struct Tally {
    conversations: usize,
    messages: usize,
    calls: usize,
    results: usize,
}

impl Tally {
    fn add(&mut self, transcript: &Transcript) {
        self.conversations += 1;
        self.messages += transcript.entries.len();
        self.calls += transcript.messages().map(|message| message.calls().count()).sum::<usize>();
        self.results +=
            transcript.messages().map(|message| message.results().count()).sum::<usize>();
    }
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let input = sessions::source(&arguments.input)?;
    let tally = if arguments.output == "-" {
        let mut out = raw_output();
        let tally = convert(arguments, &input, &mut out)?;
        out.flush()?;
        tally
    } else {
        to_file(arguments, &input, &PathBuf::from(&arguments.output))?
    };
    anstream::eprintln!(
        "{} conversations, {} messages, {} calls, {} results",
        number(tally.conversations),
        number(tally.messages),
        number(tally.calls),
        number(tally.results)
    );
    Ok(ExitCode::SUCCESS)
}

fn to_file(arguments: &Arguments, input: &Source, path: &Path) -> Result<Tally> {
    if path.is_file() && !arguments.force {
        bail!("{} is there already; `--force` writes over it", path.display());
    }
    let mut file = Output::create(path, &[PathBuf::from(&arguments.input)])?;
    let tally = convert(arguments, input, &mut file)?;
    file.finish()?;
    Ok(tally)
}

fn convert(arguments: &Arguments, input: &Source, out: &mut dyn Write) -> Result<Tally> {
    let mut tally = Tally::default();
    let mut failed = None;
    let report = waterline_transcript::read(input, |transcript| {
        if arguments.main_only && transcript.role != Standing::Main {
            return ControlFlow::Continue(());
        }
        tally.add(&transcript);
        failed = writeln!(out, "{}", write::line(&transcript, arguments.to)).err();
        if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    if let Some(error) = failed {
        return Err(error).with_context(|| format!("cannot write {}", arguments.output));
    }
    sessions::show_notices(&arguments.input, &report.notices);
    Ok(tally)
}
