//! The flags of commands that call a model or run an agent, and the overrides they become.

use std::path::{Path, PathBuf};

use waterline::message::Wire;
use waterline_agent::approval::Mode;
use waterline_config::{ModelOverrides, Overrides, WorkspaceChoice};
use waterline_sandbox::network::Host;
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
        let flags =
            ModelOverrides { model, base_url, wire, key_file, window, is_remembered: false };
        flags.or_variables(environment())
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
    #[arg(long, value_name = "N", value_parser = settings::size)]
    pub max_tokens: Option<usize>,
    /// Directory of MEMORY.md and the daily files (default: from the config, else the data
    /// directory)
    #[arg(long, value_name = "DIR")]
    pub memory: Option<PathBuf>,
    /// User whose sessions and preferences are used (default: $WATERLINE_USER, else none)
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// Role of the agent: init, execute, or one of your own
    #[arg(long, value_name = "NAME")]
    pub role: Option<String>,
    /// Where the agent works: here, private, or a directory (default: here in a git work tree or
    /// a directory that you approved, else private)
    #[arg(long, value_name = "here|private|DIR")]
    pub workspace: Option<WorkspaceChoice>,
    /// Let the agent access this directory too; DIR:ro for read-only access
    #[arg(long = "allow-dir", value_name = "DIR")]
    pub allow_dirs: Vec<Grant>,
    /// When to ask before a tool call: all, selective, custom, none
    #[arg(long, value_name = "MODE")]
    pub approval: Option<Mode>,
    /// Allow commands to use the network
    #[arg(long)]
    pub allow_network: bool,
    /// Allow commands to reach this host: crates.io, *.pypi.org, localhost:8080
    #[arg(long = "allow-host", value_name = "HOST")]
    pub allow_hosts: Vec<Host>,
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
            workspace: flags.workspace,
            allow_dirs: flags.allow_dirs,
            approval: flags.approval,
            allow_network: flags.allow_network,
            allow_hosts: flags.allow_hosts.iter().map(Host::to_string).collect(),
            ..Overrides::default()
        }
    }
}

/// Returns the flags that repeat these overrides, each with its value, quoted for a shell.
/// What the session stores is repeated too.
pub fn repeated(overrides: &Overrides) -> Vec<String> {
    let path = |path: &PathBuf| whole_path(path);
    let model = &overrides.model;
    let workspace = overrides.workspace.as_ref().map(|choice| match choice {
        WorkspaceChoice::Private => "private".to_owned(),
        WorkspaceChoice::Here => "here".to_owned(),
        WorkspaceChoice::Directory(directory) => path(directory),
    });
    let single = [
        ("base-url", model.base_url.clone()),
        ("model", model.model.clone()),
        ("wire", model.wire.map(|wire| wire.to_string())),
        ("key-file", model.key_file.as_ref().map(path)),
        ("window", model.window.map(|window| window.to_string())),
        ("policy", overrides.policy.clone()),
        ("max-tokens", overrides.max_tokens.map(|tokens| tokens.to_string())),
        ("memory", overrides.memory.as_ref().map(path)),
        ("user", overrides.user.clone()),
        ("role", overrides.role.clone()),
        ("workspace", workspace),
        ("approval", overrides.approval.map(|mode| settings::approval(mode).to_owned())),
    ];
    let single = single.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let sets = overrides.sets.iter().map(|(key, value)| ("set", format!("{key}={value}")));
    let grants = overrides.allow_dirs.iter().map(|grant| {
        ("allow-dir", format!("{}{}", path(&grant.path), if grant.writable { "" } else { ":ro" }))
    });
    let hosts = overrides.allow_hosts.iter().map(|host| ("allow-host", host.clone()));
    let all = single.chain(sets).chain(grants).chain(hosts);
    let mut flags: Vec<String> =
        all.map(|(name, value)| format!("--{name} {}", quoted(&value))).collect();
    if overrides.allow_network {
        flags.push("--allow-network".to_owned());
    }
    flags
}

/// Returns the whole path of a file, for a command that may be used in another directory.
pub fn whole_path(path: &Path) -> String {
    let absolute = || std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.canonicalize().unwrap_or_else(|_| absolute()).display().to_string()
}

/// Quotes an argument for a shell if it has characters that mean something there.
pub fn quoted(argument: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=@%+,".contains(c);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', r"'\''"))
    }
}

/// Returns the user that the environment names. The `.env` file may come from someone else, so it
/// cannot name one.
pub fn user_of_environment() -> Option<String> {
    environment().variable("WATERLINE_USER")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_with_spaces_is_quoted() {
        assert_eq!(quoted("sessions.db"), "sessions.db");
        assert_eq!(quoted("my files/it's.db"), r"'my files/it'\''s.db'");
        assert_eq!(quoted("a;b"), "'a;b'");
    }

    #[test]
    fn a_path_is_whole_and_has_no_steps_upwards() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("demo")).unwrap();
        std::fs::write(root.join("x.db"), "").unwrap();
        let path = whole_path(&root.join("demo/../x.db"));
        assert_eq!(path, root.join("x.db").display().to_string());
    }

    #[test]
    fn everything_that_was_given_is_repeated() {
        let flags = AgentArguments {
            model: ModelArguments {
                model: Some("offline".to_owned()),
                window: Some(9_000),
                ..ModelArguments::default()
            },
            sets: vec![("fold.high".to_owned(), "60%".to_owned())],
            memory: Some(PathBuf::from("my mem")),
            workspace: Some(WorkspaceChoice::Private),
            allow_dirs: vec!["docs:ro".parse().unwrap(), ".".parse().unwrap()],
            approval: Some(Mode::All),
            allow_network: true,
            allow_hosts: vec!["crates.io".parse().unwrap(), "*.pypi.org".parse().unwrap()],
            ..AgentArguments::default()
        };
        assert_eq!(
            repeated(&flags.overrides()).join(" "),
            format!(
                "--model offline --window 9000 --memory '{0}/my mem' --workspace private \
                 --approval all --set fold.high=60% --allow-dir {0}/docs:ro --allow-dir {0} \
                 --allow-host crates.io --allow-host '*.pypi.org' --allow-network",
                std::env::current_dir().unwrap().display()
            )
        );
    }
}
