//! `/help`.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;

use crate::lang::say;
use crate::show::pad;

use super::{ALL, Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["help"],
    takes: "",
    about: ("list the commands", "列出命令"),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, _: &str) -> Result<Then> {
    for spec in &ALL {
        let word = spec.names.iter().map(|name| format!("/{name}")).collect::<Vec<_>>().join(" ");
        let takes = if spec.takes.is_empty() { String::new() } else { format!(" {}", spec.takes) };
        chat.screen.say(&format!("{}  {}", pad(&format!("{word}{takes}"), 36), say(spec.about.0, spec.about.1)));
    }
    chat.screen.note(say(
        "@name mentions a tool, a skill or a role; #file, #folder/ and #**/*.md take files along; a line that ends with \\ goes on",
        "@名称 提及工具、技能或角色；#文件、#目录/、#**/*.md 附带文件；以 \\ 结尾的行可续行",
    ));
    Ok(Then::Stay)
}
