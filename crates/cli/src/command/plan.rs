//! `waterline plan`: what would be sent for a conversation's next call, and why.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use waterline::history::History;
use waterline::message::{Message, Wire};
use waterline::model::Model;
use waterline::plan::{Budget, Generation, Input as PlanInput, plan};
use waterline::policy::Policy;
use waterline::tokens::Calibration;
use waterline::warning::{Oddity, Warning};
use waterline_provider::wire::{self, Conversation};

use crate::db::Stored;
use crate::input::{Input, output, raw_output};
use crate::settings;
use crate::show::{self, Report};

/// Show what would be sent for a conversation's next call, and why
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// A JSON conversation, a request body, or JSON lines with one conversation a line; `-` for
    /// standard input; with --db, the id of a stored session
    file: String,
    #[command(flatten)]
    database: Stored,
    /// A preset (see `waterline policy list`) or a TOML file
    #[arg(long, default_value = "auto", value_name = "NAME|FILE")]
    policy: String,
    /// Set a key of the policy: `--set window.messages=60` (see `waterline policy keys`)
    #[arg(long = "set", value_parser = settings::setting, value_name = "KEY=VALUE")]
    set: Vec<(String, String)>,
    /// The model that is called (default: the one the file names)
    #[arg(long)]
    model: Option<String>,
    /// Tokens the context may take: 8000, 8k, 1m (default: the model's window less what its answer
    /// needs)
    #[arg(long, value_parser = settings::size, value_name = "N")]
    window: Option<usize>,
    /// The wire of the file: openai-chat, openai-responses, anthropic, gemini (default: told from
    /// its content)
    #[arg(long, value_name = "WIRE", value_parser = wire::named)]
    from: Option<Wire>,
    /// The wire to write (default: that of the file)
    #[arg(long, value_name = "WIRE", value_parser = wire::named)]
    to: Option<Wire>,
    /// Plan the call after the first N messages (default: all)
    #[arg(long, value_name = "N")]
    at: Option<usize>,
    /// Show what speaks for each value of the ledger; for a file of one conversation
    #[arg(long, conflicts_with = "json")]
    why: bool,
    /// One JSON object a conversation
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let policy = settings::policy(&arguments.policy, &arguments.set)?;
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

fn report(
    arguments: &Arguments,
    policy: &Policy,
    mut conversation: Conversation,
    at: usize,
    show: impl FnOnce(&Report<'_>) -> Result<()>,
) -> Result<()> {
    let model_name = arguments.model.clone().or_else(|| conversation.model.clone());
    let (model, unknown) = settings::model(model_name.as_deref());
    let mut warnings: Vec<Warning> = unknown.into_iter().collect();
    warnings.extend(policy.warnings.iter().map(|text| Warning::new(Oddity::Setting, text)));
    let messages = std::mem::take(&mut conversation.messages);
    let end = arguments.at.map_or(messages.len(), |at| at.saturating_add(conversation.outside));
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
    let (action, tokens) = (planned.action.clone(), planned.tokens);
    generation.freeze(&history, planned);
    let context: Vec<&Message> = generation.context(&history).collect();
    let wire = arguments.to.unwrap_or(conversation.wire);
    let rendered = wire::render(wire, &context);

    // Checked once more as the provider will read it. What it finds is a bug of ours: said, not
    // hidden.
    if rendered.messages.is_empty() {
        warnings.push(Warning::new(
            Oddity::EmptyMessage,
            format!("nothing can be sent to {wire}: there is no message"),
        ));
    } else {
        let found = wire::check(wire, &rendered.texts());
        warnings.extend(found.iter().map(|v| {
            Warning::new(Oddity::Internal, format!("the context breaks a rule of {wire}: {v}"))
        }));
    }
    show(&Report {
        id: conversation.id.clone().unwrap_or_else(|| at.to_string()),
        model_name: model_name.as_deref(),
        policy,
        history: &history,
        wire,
        rendered: &rendered,
        action: &action,
        tokens: &tokens,
        slots: generation.slots(),
        warnings: &warnings,
        tools: budget.tools,
        outside: conversation.outside,
    })
}

fn budget(arguments: &Arguments, model: &Model, conversation: &Conversation) -> Budget {
    let counter = model.counter();
    Budget {
        window: arguments.window.unwrap_or_else(|| model.input_window()),
        whole: arguments.window.unwrap_or(model.window),
        tools: conversation.tools.iter().map(|tool| counter.tool(&tool.definition())).sum(),
        calibration: Calibration::default(),
        cold: false,
    }
}
