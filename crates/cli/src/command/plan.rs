//! `waterline plan`: the context that the next call of a conversation would send, and why.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use waterline::history::History;
use waterline::message::{Message, Role, Wire};
use waterline::model::Model;
use waterline::phrase;
use waterline::plan::{Budget, Generation, Input as PlanInput, plan};
use waterline::policy::Policy;
use waterline::tokens::Calibration;
use waterline::warning::{Warning, WarningKind};
use waterline_agent::{DEFAULT_POLICY, Start};
use waterline_provider::Planned;
use waterline_provider::wire::{self, Conversation};

use crate::arguments::user_of_environment;
use crate::db::Stored;
use crate::input::{Input, output, raw_output};
use crate::settings;
use crate::show::{self, Report};

/// Show what the next call of a conversation would send, and why
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// JSON conversation, request body, or JSON lines with one conversation per line; `-` for
    /// standard input; or the id of a stored session
    file: String,
    #[command(flatten)]
    database: Stored,
    /// Preset (see `waterline policy list`) or TOML file (default: the user's preference, else
    /// auto)
    #[arg(long, value_name = "NAME|FILE")]
    policy: Option<String>,
    /// With --db, user whose preferences are used (default: $WATERLINE_USER, else none)
    #[arg(long, value_name = "NAME", requires = "url")]
    user: Option<String>,
    /// Set a key of the policy, such as window.messages=60 (see `waterline policy keys`)
    #[arg(long = "set", value_parser = settings::setting, value_name = "KEY=VALUE")]
    set: Vec<(String, String)>,
    /// Model to plan for (default: the one in the file)
    #[arg(long)]
    model: Option<String>,
    /// Tokens the context may use: 8000, 8k, 1m (default: the model's window minus its answer)
    #[arg(long, value_parser = settings::size, value_name = "N")]
    window: Option<usize>,
    /// Wire format of the file: openai-chat, openai-responses, anthropic, gemini (default:
    /// detected)
    #[arg(long, value_name = "WIRE", value_parser = wire::named)]
    from: Option<Wire>,
    /// Wire format to write (default: that of the file)
    #[arg(long, value_name = "WIRE", value_parser = wire::named)]
    to: Option<Wire>,
    /// Plan the call after the first N messages (default: all)
    #[arg(long, value_name = "N")]
    at: Option<usize>,
    /// Show the reasons for each value of the ledger, for a single conversation
    #[arg(long, conflicts_with = "json")]
    why: bool,
    /// Print one JSON object per conversation
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let policy = policy(arguments)?;
    let input = Input::of(&arguments.file, arguments.from, &arguments.database)?;
    let count = input.count()?;
    let name = input.name().to_owned();
    let mut out = if arguments.json { raw_output() } else { output() };
    let mut at = 0;
    input.each(|conversation| {
        report(arguments, &policy, conversation, at, |report| {
            if arguments.json {
                show::json(&mut out, report)
            } else if count > 1 {
                show::line(&mut out, report)
            } else {
                show::table(&mut out, &name, report)?;
                if arguments.why { show::why(&mut out, report) } else { Ok(()) }
            }
        })?;
        at += 1;
        Ok(())
    })?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the policy that the flags name, else the one that the user prefers.
fn policy(arguments: &Arguments) -> Result<Policy> {
    let log = arguments.database.open()?;
    let user = arguments.user.clone().or_else(user_of_environment);
    let (Some(log), Some(user)) = (log, user) else {
        let name = arguments.policy.as_deref().unwrap_or(DEFAULT_POLICY);
        return Ok(settings::policy(name, &arguments.set)?);
    };
    Start::Open(arguments.file.clone()).find(&log, Some(&user))?;
    let preferred = log.preferences(&user)?;
    let own = preferred.get("policy").map_or(DEFAULT_POLICY, String::as_str);
    let name = arguments.policy.as_deref().unwrap_or(own);
    let keys = preferred.iter().filter(|(key, _)| name == own && key.contains('.'));
    let keys: Vec<_> = keys.map(|(key, value)| (key.clone(), value.clone())).collect();
    Ok(settings::policy(name, &[keys.as_slice(), &arguments.set].concat())?)
}

fn report(
    arguments: &Arguments,
    policy: &Policy,
    mut conversation: Conversation,
    at: usize,
    show: impl FnOnce(&Report<'_>) -> Result<()>,
) -> Result<()> {
    let model_name = arguments.model.clone().or_else(|| conversation.model.clone());
    let (model, unknown) = settings::model(&settings::models()?, model_name.as_deref());
    let mut warnings: Vec<Warning> = unknown.into_iter().collect();
    warnings.extend(
        policy.warnings.iter().map(|text| Warning::new(WarningKind::Setting, text.clone())),
    );
    let messages = std::mem::take(&mut conversation.messages);
    let is_prompt = |message: &&Message| message.role == Role::System;
    let prompts = messages.iter().take_while(is_prompt).count();
    let end = arguments.at.map_or(messages.len(), |at| at.saturating_add(prompts));
    let budget = budget(arguments, &model, &conversation);
    warnings.extend(
        conversation
            .warnings
            .iter()
            .filter(|warning| warning.at.is_none_or(|at| at < end))
            .cloned(),
    );

    let history = History::of(model.counter(), messages.into_iter().take(end));
    let mut generation = Generation::new();
    let planned = plan(&PlanInput::new(&history, &generation, policy, budget, &model));
    warnings.extend(
        history.warnings().iter().chain(&history.loose_ends()).chain(&planned.warnings).cloned(),
    );
    let action = planned.action.clone();
    let tokens = planned.tokens;
    let fold_report = planned.fold_report.clone();
    generation.freeze(&history, planned);
    let context: Vec<&Message> = generation.context(&history).collect();
    let wire = arguments.to.unwrap_or(conversation.wire);
    let rendered = wire::render(wire, &context);

    // Checked once more as the provider will read it. A violation here is our bug: reported, not
    // hidden.
    if rendered.messages.is_empty() {
        let text = phrase!(
            "plan-no-message",
            "nothing to send to {wire}: there is no message",
            wire = wire.name()
        );
        warnings.push(Warning::new(WarningKind::EmptyMessage, text));
    } else {
        let found = wire::check(wire, &rendered.texts());
        warnings.extend(found.iter().map(|violation| {
            let text = phrase!(
                "plan-invalid",
                "the context breaks a rule of {wire}: {what}",
                wire = wire.name(),
                what = violation.phrase()
            );
            Warning::new(WarningKind::Internal, text)
        }));
    }
    let id = conversation.id.clone().unwrap_or_else(|| at.to_string());
    show(&Report {
        plan: Planned {
            id: &id,
            policy: &policy.name,
            model: model_name.as_deref(),
            wire,
            context: &rendered,
            action: &action,
            tokens: &tokens,
            fold_report: fold_report.as_ref(),
            slots: generation.slots(),
            warnings: &warnings,
            outside: conversation.outside,
        },
        policy,
        history: &history,
        tools: budget.tools,
    })
}

fn budget(arguments: &Arguments, model: &Model, conversation: &Conversation) -> Budget {
    let counter = model.counter();
    Budget {
        window: arguments.window.unwrap_or_else(|| model.input_window()),
        whole: arguments.window.unwrap_or(model.window),
        tools: conversation.tools.iter().map(|tool| counter.tool(tool)).sum(),
        calibration: Calibration::default(),
        cold: false,
    }
}
