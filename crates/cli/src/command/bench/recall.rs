//! `waterline bench recall`: measures how many of the messages that answer a question are found, on
//! conversations with questions whose answers are known.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use waterline_memory::Encoder;
use waterline_memory::encoder;
use waterline_memory::evaluate::{self, Conversation, Figures, Outcome, Scope, Vectors};

use crate::error::{describe_open, json_error};
use crate::input::{output, raw_output};
use crate::show::{align_right, pad, plain, width};
use crate::text;

/// Measure how many of the messages that answer a question are found
///
/// Each line of a file is a conversation: {"turns":[{"id","session","time","speaker","text"}],
/// "queries":[{"question","evidence":[ids],"category","user"}]}. If all questions name a user, the
/// set is measured three times: over everything, with the messages of the user only, and with an
/// index for each user.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Question sets, JSON lines with one conversation per line
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Measure search with the vectors of this model too: a directory with a sentence encoder
    /// (model.onnx, tokenizer.json) or a table of word vectors (*.safetensors, *tokenizer*.json)
    #[arg(long, value_name = "DIR")]
    encoder: Option<PathBuf>,
    /// Print one JSON object with the figures of each set, in percent
    #[arg(long)]
    json: bool,
}

/// A set, measured in one scope.
struct Measured {
    name: String,
    outcome: Outcome,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let encoder = arguments.encoder.as_deref().map(open).transpose()?;
    let bar = progress();
    let mut sets = Vec::new();
    for path in &arguments.files {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        bar.set_message(name.clone());
        let set = read(path)?;
        let encode = |encoder: &dyn Encoder| {
            evaluate::encode(&set, encoder, |done, all| {
                bar.set_message(format!("{name} {done}/{all}"))
            })
        };
        let vectors = encoder.as_deref().map(encode).transpose()?;
        sets.extend(measure(&name, &set, vectors.as_ref()));
    }
    bar.finish_and_clear();
    if arguments.json {
        let mut out = raw_output();
        let sets: Vec<Value> = sets.iter().map(object).collect();
        writeln!(out, "{}", json!({ "sets": sets }))?;
        out.flush()?;
    } else {
        let mut out = output();
        table(&mut out, &sets)?;
        out.flush()?;
    }
    Ok(ExitCode::SUCCESS)
}

fn open(directory: &Path) -> Result<Box<dyn Encoder>> {
    encoder::open(directory).map_err(|error| anyhow!(describe_open(directory, error)))
}

fn read(path: &Path) -> Result<Vec<Conversation>> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .with_context(|| text!("cannot-read", path = name.as_str()))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let set: Vec<Conversation> = lines
        .map(|(at, line)| {
            serde_json::from_str(line).map_err(|error| {
                let cause = json_error(&error);
                anyhow!(text!(
                    "bench-not-a-set",
                    path = name.as_str(),
                    line = at + 1,
                    cause = cause
                ))
            })
        })
        .collect::<Result<_>>()?;
    if set.is_empty() {
        bail!(text!("bench-empty", path = name.as_str()));
    }
    Ok(set)
}

fn measure(name: &str, set: &[Conversation], vectors: Option<&Vectors>) -> Vec<Measured> {
    let mut scopes = vec![(Scope::Everything, name.to_owned())];
    if evaluate::has_users(set) {
        scopes.push((Scope::Asker, format!("{name}, asker's")));
        scopes.push((Scope::IndexPerUser, format!("{name}, index per user")));
    }
    let measure =
        |(scope, name)| Measured { name, outcome: evaluate::evaluate(set, scope, vectors) };
    scopes.into_iter().map(measure).collect()
}

fn object(set: &Measured) -> Value {
    json!({
        "name": set.name,
        "queries": set.outcome.questions,
        "keyword": set.outcome.keyword,
        "vector": set.outcome.vector,
        "hybrid": set.outcome.hybrid,
    })
}

fn table(out: &mut impl Write, sets: &[Measured]) -> Result<()> {
    let wide = sets.iter().map(|set| width(&set.name)).max().unwrap_or(0);
    let methods = [text!("bench-keyword"), text!("bench-vector"), text!("bench-hybrid")];
    let method_wide = methods.iter().map(|name| width(name)).max().unwrap_or(0);
    let columns = ["recall@5", "recall@10", "recall@20", "hit@10", "mrr", "in 2K"];
    let heading = pad(&text!("bench-column-set"), wide);
    let questions = text!("bench-column-questions");
    write!(out, "{heading}  {questions}  {}", pad("", method_wide))?;
    // 100.0 is wider than the shortest name.
    let column_wide = |column: &str| width(column).max(5);
    for column in columns {
        write!(out, "  {}", align_right(column, column_wide(column)))?;
    }
    writeln!(out)?;
    for set in sets {
        let outcome = &set.outcome;
        let figures = [Some(&outcome.keyword), outcome.vector.as_ref(), outcome.hybrid.as_ref()];
        let rows = methods.iter().zip(figures).filter_map(|(name, it)| Some((name, it?)));
        for (method, figures) in rows {
            let count = align_right(&outcome.questions.to_string(), width(&questions));
            write!(out, "{}  {count}  ", pad(&plain(&set.name), wide))?;
            write!(out, "{}", pad(method, method_wide))?;
            for (column, value) in columns.iter().zip(values(figures)) {
                write!(out, "  {}", align_right(&format!("{value:.1}"), column_wide(column)))?;
            }
            writeln!(out)?;
        }
    }
    writeln!(out, "\n{}", text!("bench-legend"))?;
    Ok(())
}

const fn values(figures: &Figures) -> [f64; 6] {
    let Figures { recall_5, recall_10, recall_20, hit_10, mrr, recall_2k_tokens, .. } = figures;
    [*recall_5, *recall_10, *recall_20, *hit_10, *mrr, *recall_2k_tokens]
}

fn progress() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} · {elapsed}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(std::time::Duration::from_millis(120));
    bar
}
