//! `waterline policy`: lists, prints and checks policies.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use waterline::policy::{FOLD_KEYS, Key, PRESETS, Policy, Preset};
use waterline::stage::STAGES;
use waterline_config::Overrides;
use waterline_config::policy::effective;
use waterline_log::Session;

use crate::arguments::user_of_environment;
use crate::db::Database;
use crate::help::about;
use crate::input::output;
use crate::phrase::phrase;
use crate::settings;
use crate::text;

/// List, print and check policies
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List the presets
    List,
    /// Print a policy as TOML, with the values in effect, including preferences, config and
    /// environment variables
    Show {
        /// Preset or TOML file
        name: String,
        /// Set a key, such as window.messages=60
        #[arg(long = "set", value_parser = settings::setting, value_name = "KEY=VALUE")]
        set: Vec<(String, String)>,
        /// With the keys that the config sets for this model (default: the configured model)
        #[arg(long, value_name = "NAME")]
        model: Option<String>,
        /// With the preferences of this user (default: $WATERLINE_USER, else none)
        #[arg(long, value_name = "NAME")]
        user: Option<String>,
        #[command(flatten)]
        database: Database,
    },
    /// Check a policy; exit status 0 if it is valid
    Check {
        /// TOML file or preset
        file: String,
        /// Set a key, such as window.messages=60
        #[arg(long = "set", value_parser = settings::setting, value_name = "KEY=VALUE")]
        set: Vec<(String, String)>,
    },
    /// List all keys with their allowed values
    Keys,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let mut out = output();
    match &arguments.command {
        Command::List => {
            for preset in PRESETS {
                let policy = Policy::preset(preset.name)?;
                writeln!(
                    out,
                    "{:<11} {}",
                    policy.name,
                    about("policy", &policy.name, &policy.about)
                )?;
            }
        }
        Command::Show { name, set, model, user, database } => {
            let user = user.clone().or_else(user_of_environment);
            let config = settings::of_user(user.as_deref(), database)?;
            let model = model.clone().or_else(|| config.model_name()).unwrap_or_default();
            let overrides =
                Overrides { policy: Some(name.clone()), sets: set.clone(), ..Overrides::default() };
            // As for a new session.
            let policy = effective(&config, &overrides, &Session::new(""), &model)?;
            match Preset::named(name) {
                // The comments would be lost otherwise.
                Ok(preset) if policy.text() == Policy::preset(name)?.text() => {
                    write!(out, "{}", preset.text)?
                }
                _ => write!(out, "{}", policy.text())?,
            }
        }
        Command::Check { file, set } => {
            let policy = settings::policy(file, set)?;
            for warning in &policy.warnings {
                writeln!(out, "{}", text!("policy-warning", warning = phrase(warning)))?;
            }
            let name = if policy.name.is_empty() { file } else { &policy.name };
            let stages = policy.stages.len();
            writeln!(out, "{}", text!("policy-ok", name = name.as_str(), count = stages))?;
        }
        Command::Keys => {
            keys(&mut out, "fold", &text!("policy-fold-keys"), FOLD_KEYS)?;
            for stage in STAGES {
                keys(&mut out, stage.name, &about("stage", stage.name, stage.about), stage.keys)?;
            }
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn keys(out: &mut impl Write, section: &str, heading: &str, keys: &[Key]) -> Result<()> {
    writeln!(out, "[{section}]  {heading}")?;
    for key in keys {
        let about = about(section, key.name, key.about);
        let what = text!("with-detail", text = about, detail = phrase(&key.allowed.phrase()));
        writeln!(out, "  {:<22} {what}", format!("{section}.{}", key.name))?;
    }
    Ok(())
}
