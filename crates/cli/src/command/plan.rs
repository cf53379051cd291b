//! `waterline plan`: the context that the next call of a conversation would send, and why.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

use waterline::history::History;
use waterline::message::{Message, Role, Wire};
use waterline::model::{Model, Models};
use waterline::phrase;
use waterline::plan::{Action, Budget, Generation, Input as PlanInput, Plan, plan};
use waterline::policy::{Policy, Size, When};
use waterline::tokens::Calibration;
use waterline::validity::Violation;
use waterline::warning::{Warning, WarningKind};
use waterline_agent::Start;
use waterline_config::policy::effective;
use waterline_config::{Config, ConfigError, Overrides};
use waterline_log::Session;
use waterline_provider::Planned;
use waterline_provider::wire::{self, Conversation, Rendered};

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
    /// Preset (see `waterline policy list`) or TOML file (default: the stored session's, else the
    /// user's preference, else the config, else auto)
    #[arg(long, value_name = "NAME|FILE")]
    policy: Option<String>,
    /// User whose preferences are used (default: $WATERLINE_USER, else none)
    #[arg(long, value_name = "NAME")]
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

/// What all conversations of a file are planned with.
struct Setup {
    config: Config,
    overrides: Overrides,
    /// The stored session, or a new one.
    session: Session,
    models: Models,
    /// Policies by the model that they are for.
    policies: BTreeMap<String, Policy>,
}

impl Setup {
    fn new(arguments: &Arguments, input: &Input, config: Config) -> Self {
        let overrides = Overrides {
            policy: arguments.policy.clone(),
            sets: arguments.set.clone(),
            ..Overrides::default()
        };
        let session = input.session().cloned().unwrap_or_else(|| Session::new(""));
        let models = config.catalog();
        Self { config, overrides, session, models, policies: BTreeMap::new() }
    }

    /// Returns the policy for a model.
    fn policy(&mut self, model: &str) -> Result<Policy, ConfigError> {
        if let Some(known) = self.policies.get(model) {
            return Ok(known.clone());
        }
        let policy = effective(&self.config, &self.overrides, &self.session, model)?;
        self.policies.insert(model.to_owned(), policy.clone());
        Ok(policy)
    }
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let user = arguments.user.clone().or_else(user_of_environment);
    let config = settings::of_user(user.as_deref(), &arguments.database.database())?;
    if let (Some(log), Some(user)) = (arguments.database.open()?, &user) {
        Start::Open(arguments.file.clone()).find(&log, Some(user))?;
    }
    let input = Input::of(&arguments.file, arguments.from, &arguments.database)?;
    let mut setup = Setup::new(arguments, &input, config);
    let count = input.count()?;
    let name = input.name().to_owned();
    let mut out = if arguments.json { raw_output() } else { output() };
    let mut at = 0;
    input.each(|conversation| {
        at += 1;
        report(arguments, &mut setup, conversation, at, |report| {
            if arguments.json {
                show::json(&mut out, report)
            } else if count > 1 {
                show::line(&mut out, report)
            } else {
                show::table(&mut out, &name, report)?;
                if arguments.why { show::why(&mut out, report) } else { Ok(()) }
            }
        })
    })?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn report(
    arguments: &Arguments,
    setup: &mut Setup,
    mut conversation: Conversation,
    at: usize,
    show: impl FnOnce(&Report<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let model_name = arguments.model.clone().or_else(|| conversation.model.clone());
    let policy = &setup.policy(model_name.as_deref().unwrap_or_default())?;
    let (model, unknown) = settings::model(&setup.models, model_name.as_deref());
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
    let input = PlanInput::new(&history, &generation, policy, budget, &model);
    let planned = plan(&input);
    let freeable = freeable(&input, &planned);
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

    warnings.extend(violations(wire, &rendered));
    let id = conversation.id.clone().unwrap_or_else(|| at.to_string());
    let mut plan = Planned::new(&id, wire, &rendered, &action, &tokens, generation.slots())
        .names(&policy.name, model_name.as_deref());
    plan.fold_report = fold_report.as_ref();
    plan.warnings = &warnings;
    plan.outside = conversation.outside;
    show(&Report { plan, policy, history: &history, tools: budget.tools, freeable })
}

/// Checks a context once more as the provider will read it. A violation here is our bug: reported,
/// not hidden.
fn violations(wire: Wire, rendered: &Rendered) -> Vec<Warning> {
    if rendered.messages.is_empty() {
        let text = phrase!(
            "plan-no-message",
            "nothing to send to {wire}: there is no message",
            wire = wire.name()
        );
        return vec![Warning::new(WarningKind::EmptyMessage, text)];
    }
    let found = wire::check(wire, &rendered.texts());
    let warning = |violation: &Violation| {
        let text = phrase!(
            "plan-invalid",
            "the context breaks a rule of {wire}: {what}",
            wire = wire.name(),
            what = violation.phrase()
        );
        Warning::new(WarningKind::Internal, text)
    };
    found.iter().map(warning).collect()
}

/// Returns how many tokens a fold would free, if one is due over the high mark and was not done
/// because it would free too few.
fn freeable(input: &PlanInput<'_>, planned: &Plan) -> Option<usize> {
    let rule = &input.policy.fold;
    let messages = (0..input.history.len()).filter(|&at| input.history.number(at).is_some());
    let is_due = planned.action == Action::Extend
        && planned.tokens.context > planned.tokens.high
        && rule.when != When::Window
        && messages.count() > rule.min_messages;
    if !is_due {
        return None;
    }
    let mut policy = input.policy.clone();
    policy.fold.free = Size::Tokens(0);
    let folded = plan(&PlanInput { policy: &policy, ..*input });
    Some(planned.tokens.context.saturating_sub(folded.tokens.context))
}

fn budget(arguments: &Arguments, model: &Model, conversation: &Conversation) -> Budget {
    let counter = model.counter();
    Budget {
        window: arguments.window.unwrap_or_else(|| model.input_window()),
        model_window: arguments.window.unwrap_or(model.window),
        tools: conversation.tools.iter().map(|tool| counter.tool(tool)).sum(),
        calibration: Calibration::default(),
        cold: false,
    }
}
