//! Which model is asked: the one that is named, else the one whose key is there, else one on this machine, else the built-in
//! one. Keys come from the environment or from files; they are handed on and never shown.

use anyhow::{Context, Result, anyhow, bail};
use waterline::message::Wire;
use waterline::policy::Policy;
use waterline_agent::{OFFLINE, Offline};
use waterline_provider::http::{Endpoint, Key, Timeouts};
use waterline_provider::local;
use waterline_session::Candidate;

use crate::config::{Config, ModelConfig};
use crate::environment::{self, ANTHROPIC_KEY, GEMINI_KEY, OPENAI_KEY, OWN_KEY, Origin, variable};
use crate::lang::say;
use crate::settings;

/// The variables that tell which provider somebody uses, and the model that is asked there if none is named.
const PROVIDERS: [(&str, Wire, &str); 3] = [
    (ANTHROPIC_KEY, Wire::Anthropic, "claude-sonnet-5"),
    (OPENAI_KEY, Wire::OpenaiChat, "gpt-5.6"),
    (GEMINI_KEY, Wire::Gemini, "gemini-2.5-pro"),
];

/// Which model, as flags say it.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ModelArguments {
    /// The model; `offline` for the built-in one (default: $WATERLINE_MODEL, else from the config, else the first of
    /// ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY that is set, else a server on this machine, else offline)
    #[arg(long)]
    pub model: Option<String>,
    /// The address of its server, such as http://127.0.0.1:8080 (default: $WATERLINE_BASE_URL, else from the config); the key for
    /// it is taken from $WATERLINE_API_KEY or --key-file
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// The wire it speaks: openai-chat, openai-responses, anthropic, gemini (default: told from the model's name)
    #[arg(long)]
    pub wire: Option<Wire>,
    /// A file that holds its key
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<std::path::PathBuf>,
    /// Tokens a prompt may take, such as 4000 or 128k
    #[arg(long, value_parser = settings::size)]
    pub window: Option<usize>,
}

impl ModelArguments {
    /// The same with what the process's variables say where no flag does: they count as flags do. A model that a folder's file names
    /// does not, because the address of the user's config must go on holding for it.
    pub fn or_variables(&self) -> Self {
        let of_process = |name: &str| match environment::find(name) {
            Some((value, Origin::Process)) => Some(value),
            Some((_, Origin::File)) | None => None,
        };
        Self {
            model: self.model.clone().or_else(|| of_process("WATERLINE_MODEL")),
            base_url: self.base_url.clone().or_else(|| of_process("WATERLINE_BASE_URL")),
            ..self.clone()
        }
    }

    /// The model that is asked. `chosen` is the policy that flags and config name.
    pub async fn candidate(&self, config: &Config, chosen: &Chosen) -> Result<Candidate> {
        let name = self.model.clone().or_else(|| variable("WATERLINE_MODEL")).or_else(|| config.model.clone());
        let base = self.base_url.clone().or_else(|| config.base_url.clone().filter(|_| self.model.is_none()));
        let mut found = match (name, base) {
            (Some(name), base) => self.named(&name, base, config, chosen)?,
            (None, Some(base)) => {
                let servers = [("the server", base.trim_end_matches('/').trim_end_matches("/v1"))];
                let found = local::find(&servers).await;
                let found =
                    found.ok_or_else(|| anyhow!("{base} does not say which models it has; name one with --model"))?;
                let mut candidate = self.named(&found.model, Some(base), config, chosen)?;
                candidate.window = candidate.window.or(Some(prompt_window(found.window)));
                candidate
            }
            (None, None) => self.without_setup(config, chosen).await?,
        };
        found.window = self.window.or(found.window);
        Ok(found)
    }

    /// A model that is named, with what the config says about it.
    fn named(&self, name: &str, base: Option<String>, config: &Config, chosen: &Chosen) -> Result<Candidate> {
        let own = config.models.get(name).cloned().unwrap_or_default();
        let is_foreign = match (&self.base_url, &base) {
            (Some(_), _) => false,
            (None, Some(_)) => config.is_foreign,
            (None, None) => own.is_foreign,
        };
        // A file with a key that is named by a flag is meant for just this.
        let is_foreign = is_foreign && self.key_file.is_none();
        let own = ModelConfig {
            is_foreign,
            base_url: base.or(own.base_url),
            wire: self.wire.or(own.wire),
            key_file: self.key_file.clone().or(own.key_file),
            ..own
        };
        candidate(name, &own, chosen)
    }

    /// What is there without any set-up.
    async fn without_setup(&self, config: &Config, chosen: &Chosen) -> Result<Candidate> {
        for (name, _, model) in PROVIDERS {
            if variable(name).is_some() {
                return self.named(model, None, config, chosen);
            }
        }
        let Some(found) = local::find(&local::USUAL).await else { return Ok(offline()) };
        let mut candidate = self.named(&found.model, Some(found.base), config, chosen)?;
        candidate.window = candidate.window.or(Some(prompt_window(found.window)));
        Ok(candidate)
    }
}

/// The offline model, which says how to connect another one.
pub fn offline() -> Candidate {
    Offline::candidate(
        "Set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, start a local server, or name a model with --model and --base-url.",
    )
}

/// What a prompt may take of a window: a quarter is kept for the answer.
const fn prompt_window(window: usize) -> usize {
    window * 3 / 4
}

/// The models of a config that are asked when the first fails, and a word on each that cannot be: the first may well answer.
pub fn fallback(config: &Config, chosen: &Chosen) -> (Vec<Candidate>, Vec<String>) {
    let (mut found, mut notices) = (Vec::new(), Vec::new());
    for name in config.fallback.iter().flatten() {
        match find(name, config, chosen) {
            Ok(candidate) => found.push(candidate),
            Err(error) => notices.push(say(
                format!("the fallback {name:?} of the config is left out: {error:#}"),
                format!("配置中的后备模型 {name:?} 不可用，已略过：{error:#}"),
            )),
        }
    }
    (found, notices)
}

/// The model of a config that writes summaries.
pub fn summariser(config: &Config, chosen: &Chosen) -> Result<Option<Candidate>> {
    let found = config.summariser.as_ref().map(|name| find(name, config, chosen)).transpose();
    found.context("the summariser of the config cannot be used")
}

/// A model by its name, with what the config says about it.
pub fn find(name: &str, config: &Config, chosen: &Chosen) -> Result<Candidate> {
    let own = config.models.get(name).cloned().unwrap_or_default();
    if own.base_url.is_none() && config.model.as_deref() == Some(name) {
        let own = ModelConfig { base_url: config.base_url.clone(), is_foreign: config.is_foreign, ..own };
        return candidate(name, &own, chosen);
    }
    candidate(name, &own, chosen)
}

fn candidate(name: &str, own: &ModelConfig, chosen: &Chosen) -> Result<Candidate> {
    if name == OFFLINE {
        return Ok(offline());
    }
    let wire = own.wire.unwrap_or_else(|| wire_of(name));
    let key = key(name, wire, own)?;
    let endpoint = Endpoint::new(wire, own.base_url.as_deref(), key, Timeouts::default())?;
    let policy = chosen.for_model(own)?;
    Ok(Candidate { window: own.window, price: own.price, policy, ..Candidate::new(name, endpoint) })
}

/// The policy that flags and config choose.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The one that a flag names.
    pub flag: Option<String>,
    /// The one that the config names.
    pub config: Option<String>,
    /// What flags set.
    pub sets: Vec<(String, String)>,
}

impl Chosen {
    /// Its name, or its file.
    pub fn name(&self) -> &str {
        self.flag.as_deref().or(self.config.as_deref()).unwrap_or("auto")
    }

    /// The policy for models about which nothing particular is said.
    pub fn policy(&self) -> Result<Policy> {
        settings::policy(self.name(), &self.sets)
    }

    /// The policy for a model about which something is; flags win over it.
    fn for_model(&self, own: &ModelConfig) -> Result<Option<Policy>> {
        if own.policy.is_none() && own.set.is_empty() {
            return Ok(None);
        }
        let name = self.flag.as_deref().or(own.policy.as_deref()).or(self.config.as_deref()).unwrap_or("auto");
        let own = own.set.iter().map(|(key, value)| (key.clone(), value.to_string()));
        let sets: Vec<(String, String)> = own.chain(self.sets.iter().cloned()).collect();
        settings::policy(name, &sets).map(Some)
    }
}

/// The wire that models of such a name are reached by.
fn wire_of(name: &str) -> Wire {
    let name = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    match () {
        () if name.starts_with("claude") => Wire::Anthropic,
        () if name.starts_with("gemini") => Wire::Gemini,
        () => Wire::OpenaiChat,
    }
}

/// The key of a model. A provider's key is not sent to another address unless somebody says so.
fn key(name: &str, wire: Wire, own: &ModelConfig) -> Result<Option<Key>> {
    if own.is_foreign {
        return Ok(None);
    }
    if let Some(path) = &own.key_file {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read the key file {}", path.display()))?;
        return Ok(Some(Key::new(text)));
    }
    if let Some(from) = &own.key_env {
        let key = variable(from).ok_or_else(|| anyhow!("the key of {name} should be in ${from}, which is not set"))?;
        return Ok(Some(Key::new(key)));
    }
    if own.base_url.is_some() {
        return Ok(variable(OWN_KEY).map(Key::new));
    }
    let usual = PROVIDERS
        .iter()
        .find(|(_, known, _)| *known == wire || *known == Wire::OpenaiChat && wire == Wire::OpenaiResponses);
    let Some((usual, ..)) = usual else { return Ok(None) };
    match variable(usual) {
        Some(key) => Ok(Some(Key::new(key))),
        None => bail!("{name} needs a key in ${usual}; for a server of your own, give its address with --base-url"),
    }
}
