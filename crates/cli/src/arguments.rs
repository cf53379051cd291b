//! The flags of commands that call a model or run an agent, and the overrides they become.

use std::path::PathBuf;

use waterline::message::Wire;
use waterline_agent::approval::Mode;
use waterline_config::{ModelOverrides, Overrides};
use waterline_sandbox::workspace::Grant;

use crate::environment::environment;
use crate::settings;

/// The flags that choose a model.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ModelArguments {
    /// Model to use; `offline` for the built-in one (default: $WATERLINE_MODEL, the config, the
    /// first of ANTHROPIC_API_KEY, OPENAI_API_KEY and GEMINI_API_KEY that is set, a server on this
    /// machine, offline)
    #[arg(long)]
    pub model: Option<String>,
    /// URL of the model's server, such as http://127.0.0.1:8080 (default: $WATERLINE_BASE_URL, else
    /// the config); its key comes from $WATERLINE_API_KEY or --key-file
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// Wire format of the server: openai-chat, openai-responses, anthropic, gemini (default:
    /// detected from the model's name)
    #[arg(long, value_parser = waterline_provider::wire::named)]
    pub wire: Option<Wire>,
    /// Read the API key from this file
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// Tokens a prompt may use, such as 4000 or 128k
    #[arg(long, value_parser = settings::size)]
    pub window: Option<usize>,
}

impl ModelArguments {
    /// Returns the overrides for these flags and for the variables that count as flags.
    pub fn overrides(&self) -> ModelOverrides {
        let Self { model, base_url, wire, key_file, window } = self.clone();
        ModelOverrides { model, base_url, wire, key_file, window }.or_variables(environment())
    }
}

/// The flags that set up an agent.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct AgentArguments {
    #[command(flatten)]
    pub model: ModelArguments,
    /// Policy to use: a preset or a file (default: the session's own, else the config, else auto)
    #[arg(long)]
    pub policy: Option<String>,
    /// Set a key of the policy, such as fold.high=60%
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = settings::setting)]
    pub sets: Vec<(String, String)>,
    /// Maximum number of tokens in an answer
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<usize>,
    /// Directory of the daily memory files (default: from the config, else none)
    #[arg(long, value_name = "DIR")]
    pub memory: Option<PathBuf>,
    /// User whose sessions and preferences are used (default: $WATERLINE_USER, else none)
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// Role of the agent: init, execute, or one of your own
    #[arg(long, value_name = "NAME")]
    pub role: Option<String>,
    /// Let the agent access this directory as well as its workspace; DIR:ro for reading only
    #[arg(long = "allow-dir", value_name = "DIR")]
    pub allow_dirs: Vec<Grant>,
    /// When to ask before a tool call: all, selective, custom, none
    #[arg(long, value_name = "MODE")]
    pub approval: Option<Mode>,
    /// Allow commands to use the network
    #[arg(long)]
    pub allow_network: bool,
    /// Trust the servers that this directory's waterline.toml names, for this run
    #[arg(long)]
    pub trust_project: bool,
}

impl AgentArguments {
    /// Returns the overrides for these flags and for the variables that count as flags.
    pub fn overrides(&self) -> Overrides {
        let flags = self.clone();
        Overrides {
            model: flags.model.overrides(),
            policy: flags.policy,
            sets: flags.sets,
            max_tokens: flags.max_tokens,
            memory: flags.memory,
            user: flags.user.or_else(user_of_environment),
            role: flags.role,
            allow_dirs: flags.allow_dirs,
            approval: flags.approval,
            allow_network: flags.allow_network,
            ..Overrides::default()
        }
    }
}

/// Returns the user that the environment names. `.env` may come from someone else and names none.
pub fn user_of_environment() -> Option<String> {
    environment().variable("WATERLINE_USER")
}
