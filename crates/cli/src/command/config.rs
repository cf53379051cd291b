//! `waterline config`: the settings and their origins.

use std::fmt;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Result, bail};
use waterline_config::origin::{BUILT_IN, PREFERENCE, SESSION_PREFERENCE, Value};
use waterline_config::{
    Config, ModelOverrides, Models, check_preferences, files, preference_name, provider_keys,
};
use waterline_session::{ModelTarget, WindowSource};

use crate::arguments::user_of_environment;
use crate::db::{self, Database};
use crate::environment::environment;
use crate::input::{output, raw_output};
use crate::lang::lang;
use crate::settings;
use crate::show::{lines, notice, pad, plain};
use crate::text;

/// Show the settings and where each comes from
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Show every effective value and its origin: built in or found < user config < project config
    /// < .env < environment
    Show {
        /// Print one JSON object per value
        #[arg(long)]
        json: bool,
        /// Include the preferences of this user
        #[arg(long, value_name = "NAME")]
        user: Option<String>,
        #[command(flatten)]
        database: Database,
    },
    /// Set a user's preference: policy, model, or a key of the policy
    Set {
        /// policy, model, or a key such as window.messages
        key: String,
        /// Value
        value: String,
        /// User whose sessions and preferences are used (default: $WATERLINE_USER, else none)
        #[arg(long, value_name = "NAME")]
        user: Option<String>,
        #[command(flatten)]
        database: Database,
    },
    /// Remove a user's preference
    Unset {
        /// policy, model, or a key such as window.messages
        key: String,
        /// User whose sessions and preferences are used (default: $WATERLINE_USER, else none)
        #[arg(long, value_name = "NAME")]
        user: Option<String>,
        #[command(flatten)]
        database: Database,
    },
    /// List the config files and whether they exist
    Files,
}

/// The origin of a value that is not set: the display is English, for JSON.
enum Origin {
    BuiltIn,
    BuiltInFor(String),
    BuiltInForUnknown,
    Found(String),
    FoundOnServer,
    /// As the config names it.
    Set(String),
    NotTrusted,
    Unavailable,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str(BUILT_IN),
            Self::BuiltInFor(model) => write!(f, "{BUILT_IN}, for {model}"),
            Self::BuiltInForUnknown => write!(f, "{BUILT_IN}, for models that are not known"),
            Self::Found(place) => write!(f, "found: {place}"),
            Self::FoundOnServer => f.write_str("found: the server"),
            Self::Set(origin) => f.write_str(origin),
            Self::NotTrusted => f.write_str("its server is asked once you trust it"),
            Self::Unavailable => f.write_str("not available: run `waterline doctor`"),
        }
    }
}

impl Origin {
    /// Returns the origin in the chosen language.
    fn shown(&self) -> String {
        match self {
            Self::BuiltIn => text!("config-built-in"),
            Self::BuiltInFor(model) => text!("config-built-in-for", model = model.as_str()),
            Self::BuiltInForUnknown => text!("config-built-in-for-unknown"),
            Self::Found(place) => text!("config-found", place = place.as_str()),
            Self::FoundOnServer => text!("config-found-on-server"),
            Self::Set(origin) => set_by(origin),
            Self::NotTrusted => text!("config-not-trusted"),
            Self::Unavailable => text!("config-unavailable"),
        }
    }
}

/// Returns the origin that the config names, in the chosen language.
fn set_by(origin: &str) -> String {
    let user = origin.strip_prefix(PREFERENCE).and_then(|rest| rest.strip_prefix(" of "));
    match (origin, user) {
        (BUILT_IN, _) => text!("config-built-in"),
        (PREFERENCE, _) => text!("config-preference"),
        (SESSION_PREFERENCE, _) => text!("config-preference-of-session"),
        (_, Some(user)) => text!("config-preference-of-user", user = user),
        (file_or_variable, None) => file_or_variable.to_owned(),
    }
}

/// A value with its origin.
struct Setting {
    key: String,
    value: String,
    origin: Origin,
}

impl Setting {
    fn new(key: &str, value: impl Into<String>, origin: Origin) -> Self {
        Self { key: key.to_owned(), value: value.into(), origin }
    }
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    match &arguments.command {
        Action::Show { json, user, database } => {
            show(*json, user.clone().or_else(user_of_environment), database)?;
        }
        Action::Set { key, value, user, database } => {
            prefer(user.clone(), key, Some(value), database)?;
        }
        Action::Unset { key, user, database } => prefer(user.clone(), key, None, database)?,
        Action::Files => {
            let mut out = output();
            for path in files(environment()).into_iter().chain([environment().file()]) {
                let path_text = path.display().to_string();
                if path.is_file() {
                    writeln!(out, "{path_text}")?;
                } else {
                    writeln!(out, "{}", text!("config-file-missing", path = path_text))?;
                }
            }
            out.flush()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Sets or removes a preference, after checking that the preferences still fit together.
fn prefer(
    user: Option<String>,
    key: &str,
    value: Option<&String>,
    database: &Database,
) -> Result<()> {
    let Some(user) = user.or_else(user_of_environment) else { bail!(text!("config-no-user")) };
    let key = &preference_name(key);
    let config = Config::load(Arc::clone(environment()))?;
    let log = database.open()?;
    let mut preferences = log.preferences(&user)?;
    match value {
        Some(value) => drop(preferences.insert(key.to_owned(), value.clone())),
        None => drop(preferences.remove(key)),
    }
    check_preferences(&config, key, &preferences)?;
    log.set_preference(&user, key, value.map(String::as_str))?;
    let message = match value {
        Some(value) => {
            text!("config-preference-set", user = user, key = key.as_str(), value = value.as_str())
        }
        None => text!("config-preference-unset", user = user, key = key.as_str()),
    };
    let mut out = output();
    writeln!(out, "{message}")?;
    Ok(out.flush()?)
}

fn show(json: bool, user: Option<String>, database: &Database) -> Result<()> {
    // An invalid file is reported first: its values would not take effect. So are values that are
    // ignored.
    let config = settings::of_user(user.as_deref(), database)?;
    for about in &config.notices {
        anstream::eprintln!("waterline: {}", lines(&notice(about)));
    }
    let settings = effective(&config)?;
    if json {
        let mut out = raw_output();
        for Setting { key, value, origin } in settings {
            let line = serde_json::json!({
                "key": key,
                "value": as_json(value),
                "origin": origin.to_string(),
            });
            writeln!(out, "{line}")?;
        }
        return Ok(out.flush()?);
    }
    let mut out = output();
    let keys = settings.iter().map(|setting| setting.key.len()).max().unwrap_or(0);
    let values = settings.iter().map(|setting| setting.value.len()).max().unwrap_or(0).min(40);
    for Setting { key, value, origin } in &settings {
        writeln!(
            out,
            "{}  {}  {}",
            pad(&plain(key), keys),
            pad(&plain(value), values),
            plain(&origin.shown())
        )?;
    }
    Ok(out.flush()?)
}

/// Returns a value for programs. The values of files are TOML; others, such as those of variables,
/// are texts.
fn as_json(value: String) -> serde_json::Value {
    let parsed = toml::from_str::<toml::Table>(&format!("value = {value}"))
        .ok()
        .and_then(|mut table| serde_json::to_value(table.remove("value")?).ok());
    parsed.unwrap_or(serde_json::Value::String(value))
}

/// Returns every effective setting, sorted by key.
fn effective(config: &Config) -> Result<Vec<Setting>> {
    let set = config.values().into_iter();
    let mut settings: Vec<Setting> = set
        .map(|Value { key, value, origin }| Setting { key, value, origin: Origin::Set(origin) })
        .collect();
    for setting in unset(config)? {
        if !settings.iter().any(|known| known.key == setting.key) {
            settings.push(setting);
        }
    }
    settings.sort_by(|left, right| left.key.cmp(&right.key));
    Ok(settings)
}

/// Returns the values of settings that are not set: found on this machine, or built in.
fn unset(config: &Config) -> Result<Vec<Setting>> {
    // Without a home directory there is no default log.
    let (url, variable) = db::usual().unwrap_or_default();
    let database = variable.map(|name| Origin::Set(format!("${name}")));
    let language = environment().locale().map(|(_, name)| Origin::Found(format!("${name}")));
    let mut settings = vec![
        Setting::new("database", quoted(&url), database.unwrap_or(Origin::BuiltIn)),
        Setting::new("lang", quoted(&lang().to_string()), language.unwrap_or(Origin::BuiltIn)),
        Setting::new("memory", default_memory(config), Origin::BuiltIn),
    ];
    settings.extend(model(config)?);
    Ok(settings)
}

/// Returns the directory of the memory files.
fn default_memory(config: &Config) -> String {
    let directory = config.environment.data_directory();
    directory.map_or_else(|_| "none".to_owned(), |data| quoted(&data.to_string_lossy()))
}

/// Returns the model that would be used, and its window.
fn model(config: &Config) -> Result<Vec<Setting>> {
    let settings = &config.settings;
    let variable = |name: &str| config.environment.variable(name);
    let overrides = ModelOverrides::default().or_variables(&config.environment);
    let has_name = overrides.model.is_some()
        || variable("WATERLINE_MODEL").is_some()
        || settings.model.is_some();
    if !has_name && overrides.base_url.is_none() && settings.is_untrusted {
        // The server that the project's file names is not asked before the user trusts it.
        return Ok(vec![Setting::new("model", "none", Origin::NotTrusted)]);
    }
    let models = Models::new(config);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let target = match runtime.block_on(models.primary(&overrides)) {
        Ok(target) => target,
        // The reason is not shown: it may contain a URL with a secret.
        Err(_) => return Ok(vec![Setting::new("model", "none", Origin::Unavailable)]),
    };
    let has_address = overrides.base_url.is_some() || settings.base_url.is_some();
    let set = provider_keys().into_iter().find(|name| variable(name).is_some());
    let key = set.filter(|_| !has_address);
    let origin = match (key, target.model.address()) {
        (Some(name), _) => Origin::Found(format!("${name}")),
        (None, "") => Origin::BuiltIn,
        (None, address) => Origin::Found(address.to_owned()),
    };
    Ok(vec![Setting::new("model", quoted(&target.name), origin), window(&target)])
}

/// Returns the tokens that a prompt may use.
fn window(target: &ModelTarget) -> Setting {
    let name = &target.name;
    let tokens = target.window.unwrap_or_else(|| target.about.input_window());
    // A server of one's own may serve the model with another window than the built-in one.
    let is_built_in =
        waterline::Models::builtin().find(name).is_some_and(|known| known.input_window() == tokens);
    let origin = match target.window_source {
        WindowSource::Setting => Origin::Set(format!("models.{name}.window")),
        WindowSource::Server => Origin::FoundOnServer,
        WindowSource::Catalog => Origin::BuiltInFor(name.clone()),
        _ if is_built_in => Origin::BuiltInFor(name.clone()),
        _ => Origin::BuiltInForUnknown,
    };
    Setting::new("window", tokens.to_string(), origin)
}

/// Returns a text as TOML.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}
