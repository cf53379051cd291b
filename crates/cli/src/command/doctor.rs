//! `waterline doctor`: is everything there that the agent needs.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use waterline::message::Message;
use waterline_agent::{OFFLINE, mcp, skill};
use waterline_config::{
    Assembly, Config, KEY_VARIABLES, ModelOverrides, Models, Overrides, roles, servers,
    skill_directories, workspaces,
};
use waterline_log::Session;
use waterline_provider::Request;
use waterline_provider::local;
use waterline_provider::wire::{self, Options};
use waterline_sandbox::{Support, support};
use waterline_session::ModelTarget;

use crate::arguments::ModelArguments;
use crate::db::Database;
use crate::environment::environment;
use crate::hint::with_hint;
use crate::input::output;
use crate::lang::{self, say};
use crate::show::{lines, notice};
use crate::trust;

/// How long a model may take to say anything.
const PATIENCE: Duration = Duration::from_secs(30);

/// Check config, keys, servers, database and sandbox
///
/// Exit status: 0 when everything that is set up works, 1 when something does not.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Ask the model one short question, to see that it answers
    #[arg(long)]
    ask: bool,
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    database: Database,
}

/// What was found of one thing.
enum Finding {
    Good(String),
    Odd(String),
    Bad(String),
}

/// Tells what was found, and remembers whether anything was bad.
struct Report<W: Write> {
    out: W,
    bad: bool,
}

impl<W: Write> Report<W> {
    fn tell(&mut self, what: &str, finding: Finding) -> Result<()> {
        let (mark, text) = match finding {
            Finding::Good(text) => ("ok", text),
            Finding::Odd(text) => ("--", text),
            Finding::Bad(text) => {
                self.bad = true;
                ("!!", text)
            }
        };
        writeln!(self.out, "{mark}  {what}: {}", lines(&text))?;
        Ok(self.out.flush()?)
    }
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let mut report = Report { out: output(), bad: false };
    let config = match Config::load(Arc::clone(environment())) {
        Ok(config) => {
            lang::choose(None, config.settings.lang);
            report.tell(
                say("config", "配置"),
                Finding::Good(say("can be read", "可以读取").to_owned()),
            )?;
            config
        }
        Err(error) => {
            report.tell("config", Finding::Bad(with_hint(&error.into())))?;
            Config::empty(Arc::clone(environment()))
        }
    };
    machine(arguments, &config, &mut report)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(reachable(arguments, &config, &mut report))?;
    own(&mut report)?;
    Ok(if report.bad { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// What is on this machine.
fn machine<W: Write>(arguments: &Arguments, config: &Config, report: &mut Report<W>) -> Result<()> {
    report.tell(say("database", "数据库"), database(&arguments.database))?;
    report.tell(say("sandbox", "沙箱"), confinement(config))?;
    for name in KEY_VARIABLES {
        let finding = match environment().variable(name) {
            Some(_) => Finding::Good(say("set", "已设置").to_owned()),
            None => Finding::Odd(say("not set", "未设置").to_owned()),
        };
        report.tell(name, finding)?;
    }
    Ok(())
}

/// Models and servers, and an agent that is made with them.
async fn reachable<W: Write>(
    arguments: &Arguments,
    config: &Config,
    report: &mut Report<W>,
) -> Result<()> {
    let found = match local::find(&local::USUAL).await {
        Some(found) => {
            Finding::Good(format!("{} at {}, window {}", found.model, found.base, found.window))
        }
        None => Finding::Odd(say("none at the usual ports", "常用端口上没有").to_owned()),
    };
    report.tell(say("local server", "本机服务"), found)?;
    let untrusted = waterline_config::trust::unapproved(config)?;
    let model = if untrusted.is_empty() {
        answering(&arguments.model.overrides(), config, arguments.ask).await
    } else {
        Finding::Odd(not_asked(&untrusted))
    };
    report.tell(say("model", "模型"), model)?;
    let (_, notices) = Models { config }.fallback();
    for told in notices.iter().filter(|_| untrusted.is_empty()) {
        report.tell(say("fallback", "后备模型"), Finding::Bad(notice(told)))?;
    }
    for server in servers(config) {
        let finding = match mcp::connect(&server).await {
            Ok(connected) => Finding::Good(format!("{} tools", connected.tools.len())),
            Err(why) => Finding::Bad(why),
        };
        report.tell(&format!("mcp {}", server.name), finding)?;
    }
    report.tell(say("agent", "代理"), made(config).await)
}

/// The model that answers, and whether it does.
async fn answering(overrides: &ModelOverrides, config: &Config, ask_it: bool) -> Finding {
    let models = Models { config };
    let found = match models.primary(overrides).await {
        Ok(model) if ask_it => ask(&model).await,
        Ok(model) => Finding::Good(model.name),
        Err(error) => return Finding::Bad(with_hint(&error.into())),
    };
    match models.summariser() {
        Ok(_) => found,
        Err(error) => Finding::Bad(with_hint(&error.into())),
    }
}

/// Looking for a model would already tell a stranger's server that somebody is here.
fn not_asked(addresses: &[&str]) -> String {
    let shown = trust::listed(addresses);
    say(
        format!(
            "not asked: nobody agreed to {shown} of waterline.toml; `waterline chat` in this folder asks you"
        ),
        format!(
            "未询问：尚未有人同意 waterline.toml 中的 {shown}；在此目录运行 `waterline chat` 可确认"
        ),
    )
}

/// Whether an agent can be made with the middlewares, the rules and the policy of the config.
async fn made(config: &Config) -> Finding {
    let mut config = config.clone();
    // Models and servers were tried already.
    config.settings.mcp.clear();
    config.settings.fallback = None;
    config.settings.summariser = None;
    let model = ModelOverrides { model: Some(OFFLINE.to_owned()), ..ModelOverrides::default() };
    let overrides = Overrides { model, ..Overrides::default() };
    let assembled = Assembly::new(config, overrides).await;
    let made = assembled.and_then(|(assembly, _)| {
        let agent = assembly.agent_config()?;
        agent.policies.of(&Session::with_new_id(), OFFLINE)?;
        Ok(agent)
    });
    match made {
        Ok(equipment) => {
            let names = equipment.named();
            let names = if names.is_empty() { "–".to_owned() } else { names.join(", ") };
            let rules = equipment.approval.rules.len();
            Finding::Good(say(
                format!("middleware: {names}; rules: {rules}"),
                format!("中间件：{names}；规则：{rules}"),
            ))
        }
        Err(error) => Finding::Bad(with_hint(&error.into())),
    }
}

/// What the user made.
fn own<W: Write>(report: &mut Report<W>) -> Result<()> {
    let (skills, notices) = skill::find(&skill_directories(environment()));
    let finding = if notices.is_empty() {
        Finding::Good(skills.len().to_string())
    } else {
        Finding::Bad(notices.join("; "))
    };
    report.tell(say("skills", "技能"), finding)?;
    let finding = match roles(environment()) {
        Ok((_, notices)) if !notices.is_empty() => {
            Finding::Bad(notices.iter().map(notice).collect::<Vec<_>>().join("; "))
        }
        Ok((roles, _)) => Finding::Good(
            roles.iter().map(|role| role.name.as_str()).collect::<Vec<_>>().join(", "),
        ),
        Err(error) => Finding::Bad(with_hint(&error.into())),
    };
    report.tell(say("roles", "角色"), finding)
}

fn database(database: &Database) -> Finding {
    let opened = database.open().and_then(|log| Ok((log.url().to_owned(), log.stats()?)));
    match opened {
        Ok((url, stats)) => Finding::Good(format!("{url}, {} sessions", stats.sessions)),
        Err(error) => Finding::Bad(with_hint(&error)),
    }
}

fn confinement(config: &Config) -> Finding {
    let folder = workspaces(config).map(|folder| folder.display().to_string()).unwrap_or_default();
    match support() {
        Support::Full => Finding::Good(say(
            format!("the kernel confines commands to their workspace under {folder}"),
            format!("内核将命令限制在 {folder} 下的工作区内"),
        )),
        Support::None(why) => Finding::Odd(say(
            format!("{why}; you are asked before each command"),
            format!("{why}；每条命令执行前都会询问"),
        )),
    }
}

/// Whether a model answers.
async fn ask(model: &ModelTarget) -> Finding {
    if model.name == OFFLINE {
        return Finding::Good(format!("{}: built in", model.name));
    }
    let question = Message::user("Say the word: ready");
    let context = wire::render(model.model.wire(), &[&question]);
    let options = Options { max_tokens: Some(50), ..Options::default() };
    let messages = [&question];
    let request = Request::new(&model.name, &messages, &context).options(&options);
    match tokio::time::timeout(PATIENCE, waterline_provider::ask(&*model.model, request, |_| ()))
        .await
    {
        Ok(Ok(answer)) => {
            let text: String = answer.messages.iter().map(Message::text).collect();
            Finding::Good(format!("{} answers: {}", model.name, text.trim()))
        }
        Ok(Err(error)) => Finding::Bad(format!("{}: {error}", model.name)),
        Err(_) => {
            Finding::Bad(format!("{} said nothing within {} s", model.name, PATIENCE.as_secs()))
        }
    }
}
