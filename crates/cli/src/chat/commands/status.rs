//! `/status`.

use crate::lang::say;
use crate::settings;
use crate::show::{number, pad};
use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_agent::Waiting;
use waterline_agent::role;
use waterline_agent::sandbox::{self, Support};

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["status"],
    takes: "",
    about: ("how things stand", "当前状态"),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, _: &str) -> Result<Then> {
    let agent = &chat.relay.agent;
    let (live, session) = (agent.live(), agent.live().session());
    let turn = match (Waiting::of(&session.state), agent.is_open()) {
        (Some(Waiting::Question(question)), _) => {
            say(format!("waits for your answer: {}", question.question), format!("等待您的回答：{}", question.question))
        }
        (Some(Waiting::Approval(request)), _) => {
            say(format!("waits for your word on {}", request.tool), format!("等待您批准 {}", request.tool))
        }
        (None, true) => say("broken off; /resume goes on", "已中断；/resume 继续").to_owned(),
        (None, false) => say("finished", "已完成").to_owned(),
    };
    let confined = match sandbox::support() {
        Support::Full => say("confined by the kernel", "由内核隔离").to_owned(),
        Support::None(why) => say(format!("not confined ({why})"), format!("未隔离（{why}）")),
    };
    let role = role::of(&session.state).unwrap_or("–");
    let rows = [
        (say("session", "会话"), session.id.clone()),
        (say("model", "模型"), live.model().name.clone()),
        (say("policy", "策略"), live.policy().name.clone()),
        (say("role", "角色"), role.to_owned()),
        (say("last turn", "上一轮"), turn),
        (
            say("context", "上下文"),
            format!(
                "{} / {} / {} ({})",
                number(live.prompt_tokens()),
                number(live.high_mark()),
                number(live.window()),
                live.level()
            ),
        ),
        (say("folds", "折叠"), live.generation().number.to_string()),
        (say("approval", "审批"), settings::approval(agent.equipment().approval.mode).to_owned()),
        (say("commands", "命令"), confined),
        (say("workspace", "工作区"), agent.workspace().path().display().to_string()),
        (say("failed hooks", "失败的钩子"), agent.hook_failures().to_string()),
        (say("rules broken", "违反规则"), live.violations().len().to_string()),
    ];
    for (name, value) in rows {
        chat.screen.say(&format!("{}  {value}", pad(name, 12)));
    }
    Ok(Then::Stay)
}
