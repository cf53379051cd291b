//! `waterline config`: settings, and where each comes from.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use waterline_config::origin::{BUILT_IN, Value};
use waterline_config::{Config, ModelOverrides, Models, PROVIDER_KEYS, files};
use waterline_session::ModelTarget;

use crate::db;
use crate::environment::environment;
use crate::input::{output, raw_output};
use crate::lang::lang;
use crate::show::{lines, notice, pad, plain};

/// Show settings, and where each comes from
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Every value that holds, and where it comes from: built in or found < user's file < project's
    /// file < .env < environment
    Show {
        /// One JSON object a value
        #[arg(long)]
        json: bool,
    },
    /// The files that are looked for, and whether they are there
    Files,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    match arguments.command {
        Action::Show { json } => show(json)?,
        Action::Files => {
            let mut out = output();
            for path in files(environment()).into_iter().chain([environment().file()]) {
                let there = if path.is_file() { "" } else { "  (not there)" };
                writeln!(out, "{}{there}", path.display())?;
            }
            out.flush()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn show(json: bool) -> Result<()> {
    // A file that cannot be used is said first: its values would not hold. So is what of it does
    // not hold.
    let config = Config::load(Arc::clone(environment()))?;
    for told in &config.notices {
        anstream::eprintln!("waterline: {}", lines(&notice(told)));
    }
    let mut values = config.values();
    for value in unset(&config)? {
        if !values.iter().any(|known| known.key == value.key) {
            values.push(value);
        }
    }
    values.sort_by(|left, right| left.key.cmp(&right.key));
    if json {
        let mut out = raw_output();
        for value in &values {
            writeln!(out, "{}", serde_json::to_string(value)?)?;
        }
        return Ok(out.flush()?);
    }
    let mut out = output();
    let wide = values.iter().map(|value| value.key.len()).max().unwrap_or(0);
    let wider = values.iter().map(|value| value.value.len()).max().unwrap_or(0).min(40);
    for value in &values {
        writeln!(
            out,
            "{}  {}  {}",
            pad(&plain(&value.key), wide),
            pad(&plain(&value.value), wider),
            plain(&value.origin)
        )?;
    }
    Ok(out.flush()?)
}

/// What holds where nobody sets it: found on this machine, or built in.
fn unset(config: &Config) -> Result<Vec<Value>> {
    // Without a home there is none.
    let (url, named) = db::usual().unwrap_or_default();
    let database = named.map(|name| format!("${name}"));
    let language = environment().locale().map(|(_, name)| found(&format!("${name}")));
    let built_in = || BUILT_IN.to_owned();
    let mut values = vec![
        Value::new("database", quoted(&url), database.unwrap_or_else(built_in)),
        Value::new("lang", quoted(&lang().to_string()), language.unwrap_or_else(built_in)),
        Value::new("memory", usual_memory(config), BUILT_IN),
    ];
    values.extend(model(config)?);
    Ok(values)
}

/// The directory of the day's memory files, which only the policy `chat` uses by default.
fn usual_memory(config: &Config) -> String {
    let directory = config
        .environment
        .data_directory()
        .ok()
        .filter(|_| config.settings.policy.as_deref() == Some("chat"));
    directory
        .map_or_else(|| "none".to_owned(), |data| quoted(&data.join("memory").to_string_lossy()))
}

/// The model that is asked, and its window.
fn model(config: &Config) -> Result<Vec<Value>> {
    let (settings, variable) = (&config.settings, |name: &str| config.environment.variable(name));
    let overrides = ModelOverrides::default().or_variables(&config.environment);
    let has_name = overrides.model.is_some()
        || variable("WATERLINE_MODEL").is_some()
        || settings.model.is_some();
    if !has_name && overrides.base_url.is_none() && settings.is_untrusted {
        // Nobody has agreed yet to ask the server that a folder names.
        return Ok(vec![Value::new(
            "model",
            "none",
            "its server is asked when somebody agrees to that",
        )]);
    }
    let models = Models { config };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let candidate = match runtime.block_on(models.primary(&overrides)) {
        Ok(candidate) => candidate,
        // The reason may hold an address with a secret in it.
        Err(_) => {
            return Ok(vec![Value::new(
                "model",
                "none",
                "it cannot be had: `waterline doctor` says why",
            )]);
        }
    };
    let has_address = overrides.base_url.is_some() || settings.base_url.is_some();
    let key = PROVIDER_KEYS.iter().find(|name| variable(name).is_some()).filter(|_| !has_address);
    let origin = match (key, candidate.model.address()) {
        (Some(name), _) => found(&format!("${name}")),
        (None, "") => BUILT_IN.to_owned(),
        (None, address) => found(address),
    };
    Ok(vec![Value::new("model", quoted(&candidate.name), origin), window(config, &candidate)])
}

/// Tokens that a prompt may take.
fn window(config: &Config, candidate: &ModelTarget) -> Value {
    let (name, known) = (&candidate.name, waterline::Models::builtin().find(&candidate.name));
    let tokens = candidate.window.unwrap_or_else(|| candidate.about.input_window());
    let origin =
        match (config.settings.models.get(name).and_then(|own| own.window), candidate.window) {
            (Some(_), _) => format!("models.{name}.window"),
            (None, Some(_)) => found("the server"),
            (None, None) if known.is_some() => format!("{BUILT_IN}, for {name}"),
            (None, None) => format!("{BUILT_IN}, for models that are not known"),
        };
    Value::new("window", tokens.to_string(), origin)
}

/// Where something was found that nobody set.
fn found(place: &str) -> String {
    format!("found: {place}")
}

/// A text as a file would hold it.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}
