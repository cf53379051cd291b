//! `/status`: shows the state of the session.

use crate::error::unsupported;
use crate::settings;
use crate::show::{number, pad, wrap};
use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_agent::{Agent, State, Waiting};
use waterline_config::origin::{PREFERENCE, Value};
use waterline_sandbox::workspace::Grant;
use waterline_sandbox::{Network, Support, support};
use waterline_session::{Level, LiveSession, WindowSource};

use super::{Next, Spec};
use crate::chat::Chat;
use crate::lang::list;
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["status"],
    takes: "",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

/// The width of a label, and what follows it.
const LABEL: usize = 12;
const GAP: &str = "  ";

/// The value shown for something that does not exist.
const NONE: &str = "–";

/// A label and its value.
type Row = (String, String);

async fn run(chat: &mut Chat, _: &str) -> Result<Next> {
    let agent = &chat.runner.agent;
    let mut rows = session(chat)?;
    rows.extend(context(agent.live(), agent.context_tokens().await?));
    rows.extend(permissions(chat));
    rows.extend(problems(agent));
    for (label, value) in rows {
        let used = LABEL + GAP.len();
        let columns = chat.screen.columns().saturating_sub(used + 1);
        let value = wrap(&value, columns).join(&format!("\n{}", " ".repeat(used)));
        chat.screen.print_line(&format!("{}{GAP}{value}", pad(&label, LABEL)));
    }
    Ok(Next::Prompt)
}

/// The session, what it runs with, and the state of its last turn.
fn session(chat: &Chat) -> Result<Vec<Row>> {
    let agent = &chat.runner.agent;
    let state = agent.state()?;
    let live = agent.live();
    let or_none = |text: Option<&str>| text.unwrap_or(NONE).to_owned();
    let mut rows = vec![
        (text!("status-session"), live.session().id.clone()),
        (
            text!("status-model"),
            text!("with-detail", text = &live.model().name, detail = model_origin(chat, &state)),
        ),
        (text!("status-policy"), live.policy().name.clone()),
        (text!("status-role"), or_none(state.role.as_deref())),
        (text!("status-skill"), or_none(state.active_skill.as_deref())),
        (text!("status-turn"), turn(&state, agent.is_open()?)),
    ];
    rows.extend(state.run_id.map(|run| (text!("status-run"), run)));
    let uploads: Vec<&str> = state.uploads.iter().map(|upload| upload.path.as_str()).collect();
    let lists = [
        (text!("status-mentions"), list(&state.mentioned)),
        (text!("status-uploads"), list(&uploads)),
    ];
    rows.extend(lists.into_iter().filter(|(_, list)| !list.is_empty()));
    Ok(rows)
}

/// Describes where the choice of the model comes from.
fn model_origin(chat: &Chat, state: &State) -> String {
    let live = chat.runner.agent.live();
    let name = &live.model().name;
    let is_name = |chosen: &Option<String>| chosen.as_ref() == Some(name);
    if *name != live.config().model.name {
        return text!("model-origin-fallback");
    }
    let mut roles = chat.runner.agent.config().roles.iter();
    if roles.any(|role| state.role.as_ref() == Some(&role.name) && is_name(&role.model)) {
        return text!("model-origin-role");
    }
    let is_first = is_name(&chat.first_model.model);
    let is_set = |set: &Value| set.value.trim_matches('"') == name;
    match chat.assembly.config.values().into_iter().find(|value| value.key == "model") {
        // The variable takes the place of the flag.
        Some(set) if is_first && set.origin.starts_with('$') && is_set(&set) => set.origin,
        _ if is_first => text!("model-origin-flag"),
        _ if is_name(&chat.assembly.overrides.model.model) => text!("model-origin-command"),
        Some(set) if !is_set(&set) => text!("model-origin-automatic"),
        Some(set) if set.origin.starts_with(PREFERENCE) => text!("model-origin-preferred"),
        Some(set) => set.origin,
        None => text!("model-origin-automatic"),
    }
}

/// Describes how the last turn ended.
fn turn(state: &State, is_open: bool) -> String {
    match (&state.pending, is_open) {
        (Some(Waiting::Question(question)), _) => {
            text!("status-turn-question", question = &question.question)
        }
        (Some(Waiting::Approval(request)), _) => {
            text!("status-turn-approval", tool = &request.tool)
        }
        (Some(_), _) | (None, true) => text!("status-turn-interrupted"),
        (None, false) if state.run_id.is_none() => NONE.to_owned(),
        (None, false) => text!("status-turn-finished"),
    }
}

/// How full the window is, and how large.
fn context(live: &LiveSession, used: usize) -> Vec<Row> {
    let window = live.window();
    // The same level as in the prompt: how near the next fold is.
    let level = level(Level::of(used, live.high_mark()));
    let answer = live.answer_tokens();
    vec![
        (
            text!("status-context"),
            text!("status-context-tokens", used = used, high = live.high_mark(), level = level),
        ),
        (
            text!("status-window"),
            text!(
                "status-window-tokens",
                prompt = window,
                answer = answer,
                source = window_source(live)
            ),
        ),
        (text!("status-folds"), live.generation().number.to_string()),
    ]
}

fn window_source(live: &LiveSession) -> String {
    let model = live.model();
    if live.learned_window().is_some() {
        return text!("window-source-learned", address = model.model.address());
    }
    match model.window_source {
        WindowSource::Setting => text!("window-source-setting"),
        WindowSource::Server => text!("window-source-server"),
        WindowSource::Catalog => text!("config-built-in-for", model = &model.name),
        _ => text!("window-source-guess"),
    }
}

fn level(level: Level) -> String {
    match level {
        Level::Normal => text!("level-normal"),
        Level::Info => text!("level-info"),
        Level::Warning => text!("level-warning"),
        Level::Critical => text!("level-critical"),
    }
}

/// What the agent may do, and where.
fn permissions(chat: &Chat) -> Vec<Row> {
    let agent = &chat.runner.agent;
    let support = support();
    let is_confined = matches!(support, Support::Full);
    let sandbox = match support {
        Support::Full => text!("status-commands-sandboxed"),
        Support::None(why) => text!("status-commands-unconfined", why = unsupported(&why)),
    };
    let network = match chat.assembly.overrides.network(&chat.assembly.config.settings.agent) {
        // On Linux commands have no network without Landlock either.
        _ if !is_confined && !cfg!(target_os = "linux") => text!("status-network-unconfined"),
        Network::Any => text!("status-network-on"),
        Network::Hosts(hosts) => text!("status-network-hosts", hosts = list(&hosts)),
        Network::Off => text!("status-network-off"),
    };
    let grant = |grant: Grant| {
        format!("{}{}", grant.path.display(), if grant.writable { "" } else { ":ro" })
    };
    let granted: Vec<String> = agent.workspace().grants().map(grant).collect();
    let grants = if granted.is_empty() { NONE.to_owned() } else { list(&granted) };
    vec![
        (text!("status-approval"), settings::approval(agent.config().approval.mode).to_owned()),
        (text!("status-commands"), sandbox),
        (text!("status-network"), network),
        (text!("status-directory"), agent.workspace().working_directory().display().to_string()),
        (text!("status-workspace"), agent.workspace().path().display().to_string()),
        (text!("status-grants"), grants),
    ]
}

/// What went wrong, if anything did.
fn problems(agent: &Agent) -> Vec<Row> {
    let counts = [
        (text!("status-failed-hooks"), agent.hook_failures()),
        (text!("status-violations"), agent.live().violations().len()),
    ];
    counts
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(label, count)| (label, number(count)))
        .collect()
}
