//! The flags of commands that ask a model or run an agent, and the overrides they stand for.

use std::path::PathBuf;

use waterline::message::Wire;
use waterline_agent::approval::Mode;
use waterline_config::{Lang, ModelOverrides, Overrides};
use waterline_sandbox::workspace::Grant;

use crate::environment::environment;
use crate::settings;

/// Which model, as flags say it.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ModelArguments {
    /// The model; `offline` for the built-in one (default: $WATERLINE_MODEL, else from the config,
    /// else the first of ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY that is set, else a
    /// server on this machine, else offline)
    #[arg(long)]
    pub model: Option<String>,
    /// The address of its server, such as http://127.0.0.1:8080 (default: $WATERLINE_BASE_URL, else
    /// from the config); the key for it is taken from $WATERLINE_API_KEY or --key-file
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// The wire it speaks: openai-chat, openai-responses, anthropic, gemini (default: told from the
    /// model's name)
    #[arg(long, value_parser = waterline_provider::wire::named)]
    pub wire: Option<Wire>,
    /// A file that holds its key
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// Tokens a prompt may take, such as 4000 or 128k
    #[arg(long, value_parser = settings::size)]
    pub window: Option<usize>,
}

impl ModelArguments {
    /// The overrides that these flags stand for, with the variables that count as flags.
    pub fn overrides(&self) -> ModelOverrides {
        let Self { model, base_url, wire, key_file, window } = self.clone();
        ModelOverrides { model, base_url, wire, key_file, window }.or_variables(environment())
    }
}

/// What an agent is to be, as flags say it.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct AgentArguments {
    #[command(flatten)]
    pub model: ModelArguments,
    /// The policy: a preset or a file (default: the one the session was begun with, else from the
    /// config, else auto)
    #[arg(long)]
    pub policy: Option<String>,
    /// Sets a key of the policy, such as fold.high=60%
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = settings::setting)]
    pub sets: Vec<(String, String)>,
    /// The most tokens of an answer
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<usize>,
    /// The folder of the day's memory files (default: from the config, else none)
    #[arg(long, value_name = "FOLDER")]
    pub memory: Option<PathBuf>,
    /// The role: init, execute, or one of your own
    #[arg(long, value_name = "NAME")]
    pub role: Option<String>,
    /// Lets the agent reach a folder beside its workspace; FOLDER:ro only to read
    #[arg(long = "allow-dir", value_name = "FOLDER")]
    pub allow_dirs: Vec<Grant>,
    /// When you are asked before a call: all, selective, custom, none
    #[arg(long, value_name = "MODE")]
    pub approval: Option<Mode>,
    /// Lets commands use the network
    #[arg(long)]
    pub allow_network: bool,
    /// Agrees, for this run, to the addresses that waterline.toml of this folder sends the
    /// conversation to
    #[arg(long)]
    pub trust_project: bool,
    /// The language of what the program says: en, zh (default: from the locale)
    #[arg(long)]
    pub lang: Option<Lang>,
}

impl AgentArguments {
    /// The overrides that these flags stand for, with the variables that count as flags.
    pub fn overrides(&self) -> Overrides {
        let flags = self.clone();
        Overrides {
            model: flags.model.overrides(),
            policy: flags.policy,
            sets: flags.sets,
            max_tokens: flags.max_tokens,
            memory: flags.memory,
            role: flags.role,
            allow_dirs: flags.allow_dirs,
            approval: flags.approval,
            allow_network: flags.allow_network,
            ..Overrides::default()
        }
    }
}
