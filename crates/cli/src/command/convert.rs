//! `waterline convert`: writes session files of other programs in another format.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use waterline_transcript::write::{self, Format};
use waterline_transcript::{Source, Transcript, TranscriptKind};

use crate::files::Output;
use crate::input::raw_output;
use crate::sessions;
use crate::text;

/// Convert a session file of another program to OpenAI chat, Anthropic or ATIF
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Session file in any supported format; `-` for standard input
    input: String,
    /// File to write; `-` for standard output
    output: String,
    /// Format to write: openai-chat, anthropic, atif
    #[arg(long, default_value = "openai-chat", value_name = "FORMAT")]
    to: Format,
    /// Leave out abandoned branches and sub-agents
    #[arg(long)]
    main_only: bool,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
}

/// Counts of what was converted.
#[derive(Default)]
struct Counters {
    conversations: usize,
    messages: usize,
    calls: usize,
    results: usize,
}

impl Counters {
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
    let counters = if arguments.output == "-" {
        let mut out = raw_output();
        let counters = convert(arguments, &input, &mut out)?;
        out.flush()?;
        counters
    } else {
        to_file(arguments, &input, &PathBuf::from(&arguments.output))?
    };
    let report = text!(
        "convert-total",
        conversations = counters.conversations,
        messages = counters.messages,
        calls = counters.calls,
        results = counters.results
    );
    anstream::eprintln!("{report}");
    Ok(ExitCode::SUCCESS)
}

fn to_file(arguments: &Arguments, input: &Source, path: &Path) -> Result<Counters> {
    if path.is_file() && !arguments.force {
        bail!(text!("file-exists", path = path.display().to_string()));
    }
    let mut file = Output::create(path, &[PathBuf::from(&arguments.input)])?;
    let counters = convert(arguments, input, &mut file)?;
    file.finish()?;
    Ok(counters)
}

fn convert(arguments: &Arguments, input: &Source, out: &mut dyn Write) -> Result<Counters> {
    let mut counters = Counters::default();
    let mut failed = None;
    let report = waterline_transcript::read(input, |transcript| {
        if arguments.main_only && transcript.role != TranscriptKind::Main {
            return ControlFlow::Continue(());
        }
        counters.add(&transcript);
        failed = writeln!(out, "{}", write::line(&transcript, arguments.to)).err();
        if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    if let Some(error) = failed {
        let path = arguments.output.as_str();
        return Err(error).with_context(|| text!("cannot-write", path = path));
    }
    sessions::show_notices(&arguments.input, &report.notices);
    Ok(counters)
}
