//! `waterline doctor`: checks everything that the agent needs.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use waterline::message::Message;
use waterline_agent::{OFFLINE, Start, mcp, skill};
use waterline_config::{
    Assembly, Config, ModelOverrides, Models, Overrides, RecallEncoders, key_variables, roles,
    servers, skill_directories, workspaces,
};
use waterline_log::Session;
use waterline_memory::{Encoder as _, TextKind, encoder};
use waterline_provider::Request;
use waterline_provider::local;
use waterline_provider::wire::{self, Options};
use waterline_sandbox::{Support, support};
use waterline_session::{ModelTarget, WindowSource};

use crate::arguments::{AgentArguments, ModelArguments, user_of_environment};
use crate::command::models;
use crate::db::Database;
use crate::environment::environment;
use crate::error::{describe, describe_encode, describe_open, unsupported};
use crate::input::output;
use crate::lang::list;
use crate::show::{lines, notice, server_problem, skill_problem};
use crate::text;
use crate::trust;

/// How long to wait for a model's answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Check the config, keys, servers, database and sandbox
///
/// Exit status: 0 if everything that is set up works, 1 if something does not.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Ask the model a short question to check that it answers
    #[arg(long)]
    ask: bool,
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    database: Database,
}

/// The result of one check.
enum Finding {
    Good(String),
    /// Not set up, or not checked.
    Odd(String),
    Bad(String),
}

/// Prints findings, and remembers whether one was bad.
struct Report<W: Write> {
    out: W,
    has_failed: bool,
}

impl<W: Write> Report<W> {
    fn add(&mut self, what: &str, finding: Finding) -> Result<()> {
        let (mark, text) = match finding {
            Finding::Good(text) => ("ok", text),
            Finding::Odd(text) => ("--", text),
            Finding::Bad(text) => {
                self.has_failed = true;
                ("!!", text)
            }
        };
        let line = text!("error-with-cause", error = what, cause = lines(&text));
        writeln!(self.out, "{mark}  {line}")?;
        Ok(self.out.flush()?)
    }
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let mut report = Report { out: output(), has_failed: false };
    let loaded = Config::load(Arc::clone(environment())).map_err(anyhow::Error::from);
    let config = match loaded.and_then(|config| with_preferences(config, &arguments.database)) {
        Ok(config) => {
            report.add(&text!("doctor-config"), Finding::Good(text!("doctor-config-ok")))?;
            config
        }
        Err(error) => {
            report.add(&text!("doctor-config"), Finding::Bad(describe(&error)))?;
            Config::empty(Arc::clone(environment()))
        }
    };
    machine(arguments, &config, &mut report)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(reachable(arguments, &config, &mut report))?;
    own(&mut report)?;
    Ok(if report.has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Applies the user's preferences. A log that cannot be opened is reported by its own check.
fn with_preferences(mut config: Config, database: &Database) -> Result<Config> {
    if let Ok(log) = database.open_existing() {
        let user = user_of_environment().unwrap_or_default();
        config.add_preferences(&user, &log.preferences(&user)?)?;
    }
    Ok(config)
}

/// Checks what is on this machine.
fn machine<W: Write>(arguments: &Arguments, config: &Config, report: &mut Report<W>) -> Result<()> {
    report.add(&text!("doctor-database"), database(&arguments.database, config))?;
    report.add(&text!("doctor-sandbox"), confinement(config))?;
    report.add(&text!("doctor-recall"), recall(config, arguments.ask))?;
    for name in key_variables() {
        let finding = match environment().variable(name) {
            Some(_) => Finding::Good(text!("doctor-set")),
            None => Finding::Odd(text!("doctor-not-set")),
        };
        report.add(name, finding)?;
    }
    Ok(())
}

/// Checks models and servers, and that an agent can be made with them.
async fn reachable<W: Write>(
    arguments: &Arguments,
    config: &Config,
    report: &mut Report<W>,
) -> Result<()> {
    let found = match local::find(&local::USUAL).await {
        Some(local::Found { model, base, window: Some(window), .. }) => {
            Finding::Good(text!("doctor-local-found", model = model, url = base, window = window))
        }
        Some(local::Found { model, base, .. }) => Finding::Odd(text!(
            "doctor-local-guess",
            model = model,
            url = base,
            window = local::ASSUMED_WINDOW
        )),
        None => Finding::Odd(text!("doctor-local-none")),
    };
    report.add(&text!("doctor-local"), found)?;
    let untrusted = waterline_config::trust::unapproved(config)?;
    let mut overrides = AgentArguments::default().overrides();
    overrides.model = arguments.model.overrides();
    let model = if untrusted.is_empty() {
        answering(&overrides.model, config, arguments.ask).await
    } else {
        Finding::Odd(untrusted_finding(&untrusted))
    };
    if matches!(model, Finding::Bad(_)) || !untrusted.is_empty() {
        // The rest of the agent is checked with a model that needs no server.
        overrides.model = ModelOverrides::default();
        overrides.model.model = Some(OFFLINE.to_owned());
    }
    report.add(&text!("doctor-model"), model)?;
    let (_, notices) = Models::new(config).fallback();
    for about in notices.iter().filter(|_| untrusted.is_empty()) {
        report.add(&text!("doctor-fallback"), Finding::Bad(notice(about)))?;
    }
    for server in servers(config) {
        let finding = match mcp::connect(&server).await {
            Ok(connected) if !connected.refused.is_empty() => {
                let refused: Vec<String> = connected.refused.iter().map(server_problem).collect();
                Finding::Odd(refused.join("; "))
            }
            Ok(connected) => Finding::Good(text!("doctor-tools", count = connected.tools.len())),
            Err(problem) => Finding::Bad(server_problem(&problem)),
        };
        report.add(&format!("mcp {}", server.name), finding)?;
    }
    report.add(&text!("doctor-agent"), assembled(config, overrides, &arguments.database).await)
}

/// Checks the model, and with `ask_it` that it answers.
async fn answering(overrides: &ModelOverrides, config: &Config, ask_it: bool) -> Finding {
    let models = Models::new(config);
    let found = match models.primary(overrides).await {
        Ok(model) if model.name == OFFLINE => {
            Finding::Good(text!("doctor-model-built-in", model = OFFLINE))
        }
        Ok(model) if ask_it => ask(&model).await,
        Ok(model) => described(&model),
        Err(error) => return Finding::Bad(describe(&error.into())),
    };
    match models.summariser() {
        Ok(_) => found,
        Err(error) => Finding::Bad(describe(&error.into())),
    }
}

/// Describes a model with its window and its price.
fn described(model: &ModelTarget) -> Finding {
    let name = model.name.as_str();
    let window = model.window.unwrap_or_else(|| model.about.input_window());
    match (&model.price, model.window_source) {
        (_, WindowSource::Guess) => {
            Finding::Odd(text!("window-guess", model = name, window = window))
        }
        (Some(price), _) => Finding::Good(text!(
            "doctor-model-price",
            model = name,
            window = window,
            input = price.rates.input.to_string(),
            output = price.rates.output.to_string()
        )),
        (None, _) => Finding::Good(text!("doctor-model-window", model = name, window = window)),
    }
}

/// Explains why the model was not checked: a request would already tell an untrusted server about
/// the user.
fn untrusted_finding(addresses: &[&str]) -> String {
    text!("doctor-untrusted", addresses = trust::listed(addresses))
}

/// Checks that an agent can be made as a chat without flags makes it: with the middleware, the
/// rules, the policy and the servers of the config.
async fn assembled(config: &Config, overrides: Overrides, database: &Database) -> Finding {
    let log = match database.open_with(&config.settings.log.options()) {
        Ok(log) => log,
        Err(error) => return Finding::Bad(describe(&error)),
    };
    let mut config = config.clone();
    // These models are checked already, and building an agent with them would query their servers.
    config.settings.fallback = None;
    config.settings.summariser = None;
    let assembly = Assembly::new(config, overrides, log, Start::New).await;
    let agent = assembly.and_then(|(assembly, _)| {
        let builder = assembly.builder()?;
        let agent = builder.config();
        agent.policies.of(&Session::with_new_id(), &agent.session.model.name)?;
        Ok(builder)
    });
    match agent {
        Ok(builder) => {
            let agent = builder.config();
            let names = agent.named();
            let middleware = if names.is_empty() { "–".to_owned() } else { list(names) };
            let rules = agent.approval.rules.len();
            Finding::Good(text!("doctor-agent-ok", middleware = middleware, rules = rules))
        }
        Err(error) => Finding::Bad(describe(&error.into())),
    }
}

/// Checks the user's own skills and roles.
fn own<W: Write>(report: &mut Report<W>) -> Result<()> {
    let (skills, notices) = skill::find(&skill_directories(environment()));
    let finding = if notices.is_empty() {
        Finding::Good(skills.len().to_string())
    } else {
        Finding::Bad(notices.iter().map(skill_problem).collect::<Vec<_>>().join("; "))
    };
    report.add(&text!("doctor-skills"), finding)?;
    let finding = match roles(environment()) {
        Ok((_, notices)) if !notices.is_empty() => {
            Finding::Bad(notices.iter().map(notice).collect::<Vec<_>>().join("; "))
        }
        Ok((roles, _)) => {
            Finding::Good(list(&roles.iter().map(|role| role.name.as_str()).collect::<Vec<_>>()))
        }
        Err(error) => Finding::Bad(describe(&error.into())),
    };
    report.add(&text!("doctor-roles"), finding)
}

fn database(database: &Database, config: &Config) -> Finding {
    let opened = database
        .open_with(&config.settings.log.options())
        .and_then(|log| Ok((log.url().to_owned(), log.stats()?)));
    match opened {
        Ok((url, stats)) => {
            Finding::Good(text!("doctor-database-ok", url = url, count = stats.sessions))
        }
        Err(error) => Finding::Bad(describe(&error)),
    }
}

fn confinement(config: &Config) -> Finding {
    let path = workspaces(config).map(|path| path.display().to_string()).unwrap_or_default();
    match support() {
        Support::Full => Finding::Good(text!("doctor-sandbox-ok", path = path)),
        Support::None(why) => Finding::Odd(text!("doctor-sandbox-none", why = unsupported(&why))),
    }
}

/// Checks the encoders for search by meaning, and with `ask_it` that a server encodes a text.
fn recall(config: &Config, ask_it: bool) -> Finding {
    let found = match RecallEncoders::find(config) {
        Ok(found) => found,
        Err(error) => return Finding::Bad(describe(&error.into())),
    };
    let mut names = Vec::new();
    if let Some((model, url)) = &found.server {
        let asked = match found.server_encoder() {
            Ok(Some(server)) if ask_it => server.encode(&["ready"], TextKind::Question).err(),
            _ => None,
        };
        if let Some(error) = asked {
            return Finding::Bad(describe_encode(&error));
        }
        names.push(text!("doctor-recall-server", model = model.as_str(), url = url.as_str()));
    }
    for model in found.added {
        if let Err(error) = encoder::open(&model.path) {
            return Finding::Bad(describe_open(&model.path, error));
        }
        let kind = model.kind.map(models::kind).unwrap_or_default();
        names.push(text!("with-detail", text = &model.name, detail = kind));
    }
    match names.is_empty() {
        true => Finding::Odd(text!("doctor-recall-keywords")),
        false => Finding::Good(list(&names)),
    }
}

/// Checks that a model answers.
async fn ask(model: &ModelTarget) -> Finding {
    let name = model.name.as_str();
    let question = Message::user("Reply with one word: ready");
    let context = wire::render(model.model.wire(), &[&question]);
    let options = Options { max_tokens: Some(50), ..Options::default() };
    let messages = [&question];
    let request = Request::new(name, &messages, &context).options(&options);
    match tokio::time::timeout(TIMEOUT, waterline_provider::ask(&*model.model, request, |_| ()))
        .await
    {
        Ok(Ok(answer)) => {
            let answer: String = answer.messages.iter().map(Message::text).collect();
            Finding::Good(text!("doctor-model-answers", model = name, answer = answer.trim()))
        }
        Ok(Err(error)) => {
            let cause = describe(&error.into());
            Finding::Bad(text!("error-with-cause", error = name, cause = cause))
        }
        Err(_) => {
            let seconds = TIMEOUT.as_secs();
            Finding::Bad(text!("doctor-model-timeout", model = name, seconds = seconds))
        }
    }
}
