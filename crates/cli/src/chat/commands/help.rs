//! `/help`: the commands and the keys, in as many columns as the terminal has.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;

use crate::lang::say;
use crate::show::{pad, room, width, wrap};

use super::{ALL, Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["help"],
    takes: "[COMMAND]",
    about: ("list the commands and the keys, or explain one", "列出命令与按键，或说明一个命令"),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

/// The columns before what a command does.
const LEFT: usize = 21;

/// The keys, each with what it does in English and in Chinese.
const KEYS: [(&str, (&str, &str)); 6] = [
    ("Tab", ("completes commands, @names and #files", "补全命令、@名称 和 #文件")),
    ("Alt-Enter", ("another line; so does \\ at the end of one", "换行；行尾的 \\ 也可续行")),
    ("↑, Ctrl-R", ("what was written before; search in it", "之前输入的内容；在其中搜索")),
    ("Ctrl-O", ("the last call, whole", "完整显示最近一次调用")),
    (
        "Ctrl-C",
        ("ends the turn; at the prompt throws the line away", "停止一轮；在提示符处清除该行"),
    ),
    ("Ctrl-D", ("ends; the session is kept", "退出；会话会保留")),
];

async fn run(chat: &mut Chat, rest: &str) -> Result<Then> {
    let word = rest.trim_start_matches('/');
    match super::find(word) {
        _ if word.is_empty() => all(chat),
        Some(spec) => tell(chat, &spec.usage(), spec.about),
        None => chat.screen.say(&super::unknown(word)),
    }
    Ok(Then::Stay)
}

fn all(chat: &Chat) {
    for spec in ALL {
        tell(chat, &spec.usage(), spec.about);
    }
    chat.screen.note(say("keys", "按键"));
    for (key, about) in KEYS {
        tell(chat, key, about);
    }
    let names = say(
        "@name mentions a tool, a skill or a role; #file, #\"a file\", #folder/ and #**/*.md take files along",
        "@名称 提及工具、技能或角色；#文件、#\"文件 名\"、#目录/、#**/*.md 附带文件",
    );
    wrap(names, room(1)).iter().for_each(|line| chat.screen.note(line));
}

fn tell(chat: &Chat, usage: &str, about: (&str, &str)) {
    lines(usage, say(about.0, about.1), room(1)).iter().for_each(|line| chat.screen.say(line));
}

/// What something does, beside its name; a name that is too long for that has a line of its own.
fn lines(usage: &str, about: &str, columns: usize) -> Vec<String> {
    let mut left = usage;
    let mut lines = Vec::new();
    if width(usage) + 1 >= LEFT {
        lines.push(usage.to_owned());
        left = "";
    }
    for line in wrap(about, columns.saturating_sub(LEFT)) {
        lines.push(format!("{}{line}", pad(left, LEFT)));
        left = "";
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_fits_into_eighty_columns() {
        for (usage, (en, zh)) in ALL.iter().map(|spec| (spec.usage(), spec.about)) {
            for line in [en, zh].into_iter().flat_map(|about| lines(&usage, about, 79)) {
                assert!(width(&line) <= 79, "{line}");
            }
        }
        assert_eq!(lines("/undo [N]", "take it back", 79), ["/undo [N]            take it back"]);
        let long = lines("/skill /skills [NAME | off]", "list them", 79);
        assert_eq!(long, ["/skill /skills [NAME | off]", "                     list them"]);
    }
}
