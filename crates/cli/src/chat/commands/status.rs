//! `/status`.

use crate::lang::say;
use crate::settings;
use crate::show::{number, pad};
use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_agent::{Agent, State, Waiting};
use waterline_sandbox::workspace::Grant;
use waterline_sandbox::{Support, support};
use waterline_session::{Level, LiveSession};

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["status"],
    takes: "",
    about: ("how things stand", "当前状态"),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

/// What is told, and how it is.
type Row = (&'static str, String);

async fn run(chat: &mut Chat, _: &str) -> Result<Then> {
    let agent = &chat.relay.agent;
    let mut rows = held_with(agent)?;
    rows.extend(context(agent.live()));
    rows.extend(reaches(chat));
    rows.extend(went_wrong(agent));
    for (name, value) in rows {
        chat.screen.say(&format!("{}  {value}", pad(name, 12)));
    }
    Ok(Then::Stay)
}

/// Which session it is, what it is held with, and where it stands.
fn held_with(agent: &Agent) -> Result<Vec<Row>> {
    let state = agent.state()?;
    let (live, session) = (agent.live(), agent.live().session());
    let or_none = |text: Option<&str>| text.unwrap_or("–").to_owned();
    Ok(vec![
        (say("session", "会话"), session.id.clone()),
        (say("model", "模型"), live.model().name.clone()),
        (say("policy", "策略"), live.policy().name.clone()),
        (say("role", "角色"), or_none(state.role.as_deref())),
        (say("skill", "技能"), or_none(state.active_skill.as_deref())),
        (say("last turn", "上一轮"), turn(&state, agent.is_open()?)),
    ])
}

/// How the newest turn ended.
fn turn(state: &State, is_open: bool) -> String {
    match (&state.pending, is_open) {
        (Some(Waiting::Question(question)), _) => say(
            format!("waits for your answer: {}", question.question),
            format!("等待您的回答：{}", question.question),
        ),
        (Some(Waiting::Approval(request)), _) => say(
            format!("waits for your word on {}", request.tool),
            format!("等待您批准 {}", request.tool),
        ),
        (None, true) => say("broken off; /resume goes on", "已中断；/resume 继续").to_owned(),
        (None, false) => say("finished", "已完成").to_owned(),
    }
}

/// How full the window is, and how large.
fn context(live: &LiveSession) -> Vec<Row> {
    let (used, window) = (live.context_tokens(), live.window());
    let level = Level::of(used, window);
    let [used, high, window, answer] =
        [used, live.high_mark(), window, live.answer_tokens()].map(number);
    let en = format!("{window} tokens for the prompt, {answer} for the answer");
    vec![
        (say("context", "上下文"), format!("{used} / {high} / {window} ({level})")),
        (say("window", "窗口"), say(en, format!("提示 {window} 个 token，回答 {answer} 个"))),
        (say("folds", "折叠"), live.generation().number.to_string()),
    ]
}

/// What it may do, and where.
fn reaches(chat: &Chat) -> Vec<Row> {
    let agent = &chat.relay.agent;
    let confined = match support() {
        Support::Full => say("confined by the kernel", "由内核隔离").to_owned(),
        Support::None(why) => say(format!("not confined ({why})"), format!("未隔离（{why}）")),
    };
    let network = if chat.assembly.overrides.allow_network
        || chat.assembly.config.settings.agent.network.unwrap_or(false)
    {
        say("commands may use it", "命令可以使用")
    } else {
        say("not for commands", "命令不可使用")
    };
    let grant = |grant: Grant| {
        format!("{}{}", grant.path.display(), if grant.writable { "" } else { ":ro" })
    };
    let grants: Vec<String> = agent.workspace().grants().map(grant).collect();
    let grants = if grants.is_empty() { "–".to_owned() } else { grants.join(", ") };
    vec![
        (say("approval", "审批"), settings::approval(agent.config().approval.mode).to_owned()),
        (say("commands", "命令"), confined),
        (say("network", "网络"), network.to_owned()),
        (say("workspace", "工作区"), agent.workspace().path().display().to_string()),
        (say("granted", "授权目录"), grants),
    ]
}

/// What should not have happened, where it did.
fn went_wrong(agent: &Agent) -> Vec<Row> {
    let counts = [
        (say("failed hooks", "失败的钩子"), agent.hook_failures()),
        (say("rules broken", "违反规则"), agent.live().violations().len()),
    ];
    counts
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| (name, number(count)))
        .collect()
}
