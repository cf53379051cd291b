//! In Chinese, every command speaks Chinese: what is left in English is data, names and code.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails loudly"
)]

mod program;
mod world;

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use program::{Ended, example, run, waterline};
use regex::Regex;
use serde_json::json;
use waterline_testkit::script::{Line, calls, says};
use world::World;

const CHAT: &str = concat!(
    r#"{"id":"one","model":"gpt-4o","messages":[{"role":"user","content":"你好"},"#,
    r#"{"role":"assistant","content":"您好"}]}"#
);

/// A conversation with every kind of irregularity that a client may send.
const IRREGULAR: &str = r#"{"id":"odd","model":"unknown-1","messages":[
{"role":"user","content":"hi"},{"role":"user","content":"again"},
{"role":"tool","tool_call_id":"x","content":"early"},
{"role":"assistant","content":"","tool_calls":[
 {"id":"a","type":"function","function":{"name":"read","arguments":"nope"}},
 {"id":"a","type":"function","function":{"name":"read","arguments":"{}"}}]},
{"role":"tool","tool_call_id":"a","content":"one"},
{"role":"tool","tool_call_id":"z","content":"two"},
{"role":"system","content":"later"},{"role":"assistant","content":null},
{"role":"user","content":"  "},{"role":"assistant","content":[{"type":"text","text":""},5]},
{"role":"assistant","content":"","tool_calls":[
 {"id":"","type":"function","function":{"name":"","arguments":"{}"}}]}]}"#;

/// Returns the first line with an English sentence: three words in a row that are neither quoted
/// nor part of a quoted file or of a command's synopsis; or, in a line without Chinese, two.
fn english_line(text: &str) -> Option<&str> {
    let quoted = Regex::new(r#"`[^`]*`|“[^”]*”|"[^"]*"|\[[^\]]*\]|<[^>]*>|--[a-z-]+"#).unwrap();
    let file = Regex::new(r"^ *[0-9]* *\||^用法：waterline ").unwrap();
    let sentence = Regex::new("[A-Za-z]{2,}(?: [a-z]{2,}){2,}").unwrap();
    let prose = Regex::new("[A-Za-z]{2,} [A-Za-z]{2,}").unwrap();
    let chinese = Regex::new(r"\p{Han}").unwrap();
    text.lines().filter(|line| !file.is_match(line)).find(|line| {
        let own = quoted.replace_all(line, "");
        sentence.is_match(&own) || prose.is_match(&own) && !chinese.is_match(line)
    })
}

/// Returns the first line with ASCII punctuation next to Chinese.
fn ascii_punctuation(text: &str) -> Option<&str> {
    let quoted = Regex::new(r#"`[^`]*`|“[^”]*”"#).unwrap();
    let ascii = Regex::new(r"\p{Han} ?[(:;,!?]( |$|\p{Han})|[(] ?\p{Han}|\p{Han} ?[)]").unwrap();
    text.lines().find(|line| ascii.is_match(&quoted.replace_all(line, "")))
}

/// Checks that a text says something, and nothing in English.
fn assert_chinese(shown: &str, what: &str) {
    assert!(!shown.is_empty(), "{what}");
    assert_eq!(english_line(shown), None, "{what}: {shown}");
    assert_eq!(ascii_punctuation(shown), None, "{what}: {shown}");
}

/// Runs a command with a model and this input, and returns everything that it prints.
fn with_model(world: &World, command: &str, more: &[&str], input: &str) -> String {
    let mut command = world.command(command, more);
    command.env("WATERLINE_LANG", "zh").stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

/// Calls of which some succeed and some fail, and what is shown of them.
fn calls_and_results() -> Vec<(Line, &'static str)> {
    let write = || calls("write_file", json!({"path": "outputs/a.txt", "content": "4.2\n"}));
    let edit = |old| calls("edit_file", json!({"path": "outputs/a.txt", "old": old, "new": "4.3"}));
    let bash = |command| calls("run_bash_command", json!({"command": command}));
    vec![
        (write(), "已创建 outputs/a.txt（4 字节）"),
        (write(), "已覆盖 outputs/a.txt（4 字节）"),
        (edit("4.2"), "已编辑 outputs/a.txt：第 1 行"),
        (edit("5.0"), "在 outputs/a.txt 中没有找到 `old`"),
        (calls("read_file", json!({"path": "none.txt"})), "none.txt 不存在"),
        (calls("find_files", json!({"pattern": "*.zzz"})), "[没有文件匹配 *.zzz]"),
        (calls("search_files", json!({"pattern": "zzz"})), "[没有行匹配 zzz]"),
        (bash("true"), "[没有输出]"),
        (bash("exit 3"), "命令以状态 3 退出"),
        (calls("fetch_url", json!({"url": "http://127.0.0.1/"})), "127.0.0.1 是私有或本机"),
        (calls("now", json!({"zone": 5})), "now 的参数无效：类型错误"),
        (calls("nothing", json!({})), "未知的工具“nothing”"),
    ]
}

/// A home directory in which the program speaks Chinese.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Runs the program and checks that it says something, and nothing in English.
    fn speaks(&self, arguments: &[&str], input: &str) -> Ended {
        let mut command = waterline();
        command.current_dir(self.path()).env("HOME", self.path()).env("WATERLINE_LANG", "zh");
        let output = command.args(arguments).write_stdin(input).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let code = output.status.code().unwrap();
        let ended = Ended { code, out: text(output.stdout), err: text(output.stderr) };
        assert_chinese(&format!("{}{}", ended.out, ended.err), &format!("{arguments:?}"));
        ended
    }

    fn all_speak(&self, lines: &[&str]) {
        for line in lines {
            self.speaks(&line.split(' ').collect::<Vec<_>>(), "");
        }
    }
}

#[test]
fn messages_and_errors_are_printed_in_chinese() {
    let checked = run(&["check", "-", "--lang", "zh"], CHAT);
    assert_eq!((checked.code, checked.out.as_str()), (0, "1 个对话，0 个无效\n"));
    let ended = run(&["plan", "/no/such/file", "--lang=zh"], "");
    assert!(ended.code == 2 && ended.err.contains("/no/such/file"), "{}", ended.err);
    let ended = run(&["policy", "show", "autox", "--lang", "zh"], "");
    assert!(ended.err.contains("没有名为“autox”的预设"), "{}", ended.err);
    let plan = run(&["plan", &example(), "--lang", "zh"], "").out;
    assert!(plan.contains("59 条消息 · 策略 auto") && plan.contains("原文"), "{plan}");
    assert!(plan.contains("个字符的结果已截断"), "the reasons too: {plan}");
}

#[test]
fn conversations_are_planned_and_checked_in_chinese() {
    let home = Home::new();
    for line in [
        "plan -",
        "plan - --window 60",
        "plan - --to anthropic --policy dual-track",
        "check -",
        "tokens -",
        "check - --wire anthropic",
        "check - --wire gemini",
    ] {
        home.speaks(&line.split(' ').collect::<Vec<_>>(), IRREGULAR);
    }
    for input in ["[1]", "{\"messages\": 3}", "{", "[{\"role\": \"owner\"}]", "{\"a\": 1}", ""] {
        let ended = home.speaks(&["plan", "-"], input);
        assert_eq!(ended.code, 2, "{input}: {}", ended.err);
    }
    home.all_speak(&[
        "plan /no/such/file",
        "convert /no/such/file -",
        "replay /no/such/file",
        "replay . --policy nothing",
        "replay . --weights /etc/hostname",
        "replay . --prices nothing",
        "bench recall /etc/hostname",
        "recall 门禁密码",
    ]);
    home.write("talk.json", CHAT);
    home.all_speak(&[
        "plan talk.json --why",
        "tokens talk.json",
        "convert talk.json out.json --to atif",
        "convert talk.json out.json --to atif",
        "replay talk.json --policy auto,tail --window 3k --lost",
        "replay usage talk.json",
    ]);
}

#[test]
fn policies_and_settings_are_explained_in_chinese() {
    let home = Home::new();
    home.all_speak(&[
        "policy list",
        "policy keys",
        "policy check dual-track",
        "policy check window --set window.messages=5",
        "policy check window --set halve.turns=5",
        "policy check window --set fold=5",
        "policy check budget --set fold.low=60000",
        "config show",
        "config set fold.high 60% --user u",
        "config set policy auto",
        "config files",
        "config set policy window --user u",
        "config show --user u",
        "config set policy nothing --user u",
        "config set window.messages 60",
        "config unset policy --user u",
        "models list",
        "models add /no/such/file",
        "models add /etc/hostname",
        "models remove nothing",
        "doctor",
    ]);
    let file = ".config/waterline/config.toml";
    for text in [
        "foo = 1",
        "a = ",
        "lang = zh",
        "models = [1",
        "tokenizer = \"nothing\"",
        "[agent]\nsteps = \"x\"",
        "[agent]\nsteps = 5000",
        "[agent]\nworkspace = \"nothing\"",
        "[agent]\nallow_dirs = [\"\"]",
        "[agent]\nmiddleware = \"nothing\"",
        "[agent]\nmiddleware = [\"nothing\"]",
        "[agent]\nnetwork = [\"**\"]",
        "[[agent.rules]]\ntool = \"x\"\npattern = \"(\"\nanswer = \"allow\"",
        "[mcp.a]\ncommand = \"/no/such/program\"\n[mcp.b]\ncommand = \"true\"\n[mcp.c]\nurl = \"http://127.0.0.1:9\"",
    ] {
        home.write(file, text);
        home.speaks(&["doctor"], "");
        home.speaks(&["run", "你好"], "");
    }
    std::fs::remove_file(home.path().join(file)).unwrap();
    std::fs::create_dir(home.path().join(file)).unwrap();
    home.speaks(&["doctor"], "");
}

#[test]
fn errors_in_arguments_are_explained_in_chinese() {
    let home = Home::new();
    home.write("schema.json", "{\"type\": 5}");
    home.write("text.json", "no json");
    home.all_speak(&[
        "nothing",
        "plan",
        "plan - --nothing",
        "plan - --at x",
        "plan - --model",
        "plan - --window x",
        "check - --wire nothing",
        "tokens - --with nothing",
        "convert a b --to nothing",
        "completions nothing",
        "man /dev/null/x",
        "sessions",
        "sessions nothing",
        "run",
        "run 你好 --lang de",
        "run 你好 --model nothing",
        "run 你好 --base-url ftp://x",
        "run 你好 --key-file /no/such/file --model claude-opus-5",
        "run 你好 --schema /no/such/file",
        "run 你好 --schema schema.json",
        "run 你好 --schema text.json",
        "run 你好 --allow-dir /no/such/directory",
        "run 你好 --allow-dir /etc/hostname",
        "run 你好 --allow-host **",
        "run 你好 --workspace /no/such/directory",
        "run 你好 --workspace /etc/hostname",
        "run 你好 --role nothing",
        "run 你好 --approval nothing",
        "run 你好 --policy /no/such/file.toml",
        "run 你好 --policy text.json",
        "run 你好 --set nothing=1",
        "run 你好 --set fold.high=x",
        "run 你好 --window 10",
        "run 你好 --log-format nothing",
        "run --resume nothing",
        "run 你好",
        "run --resume",
    ]);
}

#[test]
fn sessions_are_managed_in_chinese() {
    let home = Home::new();
    home.write("talk.json", CHAT);
    home.write("newer.jsonl", "{\"waterline\": 99}\n");
    home.write("line.jsonl", "{\"waterline\": 1}\n{\"message\": {}}\n");
    home.all_speak(&[
        "sessions list",
        "sessions import talk.json",
        "sessions import /no/such/file",
        "sessions import /etc/hostname",
        "sessions import newer.jsonl",
        "sessions import line.jsonl",
        "sessions list",
        "sessions show one",
        "sessions show nothing",
        "sessions show one --at 99",
        "sessions show one --message 99",
        "sessions fork one --at 1",
        "sessions fork one --at 99",
        "sessions rewind one --by 1",
        "sessions redo one",
        "sessions redo one",
        "sessions rewind one --to 99",
        "sessions rewind one --message 12ab",
        "sessions rewind one --turns 1 --files",
        "sessions restore one 3",
        "sessions diff one one",
        "sessions search 没有这样的词",
        "sessions export one --output one.jsonl",
        "sessions export nothing",
        "sessions verify",
        "sessions clean",
        "sessions erase one",
        "sessions erase",
        "sessions erase --user nothing --yes",
        "sessions backup copy.db",
        "sessions backup copy.db",
        "sessions backup /proc/x",
        "sessions stats",
        "sessions list --db /etc/hostname",
        "sessions list --db /no/such/log.db",
        "sessions list --db nothing://x",
        "sessions list --db postgres://127.0.0.1:9/x",
        "chat --db /proc/x.db",
    ]);
    // Every line of an export that is changed is refused for another reason.
    let export = std::fs::read_to_string(home.path().join("one.jsonl")).unwrap();
    for (from, to) in [
        ("\"role\":\"user\"", "\"role\":\"tool\""),
        ("\"parent\":\"", "\"parent\":\"ff"),
        ("\"session\":", "\"sessions\":"),
    ] {
        home.write("changed.jsonl", &export.replace(from, to));
        home.speaks(&["sessions", "import", "changed.jsonl", "--db", "new.db"], "");
    }
}

#[test]
fn the_commands_of_the_chat_answer_in_chinese() {
    let home = Home::new();
    let lines = [
        "/help",
        "/help compact",
        "/status",
        "/current",
        "/context",
        "/context summary",
        "/context why 1",
        "/context pin 1",
        "/context undo",
        "/context nothing",
        "/compact",
        "/config",
        "/config fold.high 50%",
        "/config nothing 1",
        "/config policy nothing",
        "/config fold.high x",
        "/load nothing",
        "/resume",
        "/fork 99",
        "/rewind 9",
        "/undo",
        "/redo",
        "/branches x",
        "/checkpoints",
        "/restore 9",
        "/memory",
        "/memory add 端口是 8080",
        "/memory list",
        "/memory search 端口",
        "/memory forget 9",
        "/memory edit",
        "/recall 端口",
        "/skill",
        "/skill nothing",
        "/tools",
        "/todos",
        "/unfold",
        "/unfold 9",
        "/artifact",
        "/artifact zz",
        "/clean",
        "/clear",
        "/context why 1",
        "/cancel",
        "/steer",
        "/model",
        "/model nothing",
        "/model prefer",
        "/cost",
        "/export /proc/x",
        "/export talk.md",
        "/nothing",
        "你好",
        "@nothing 看看 #nothing",
        "/undo",
        "/redo",
        "/sessions",
        "/reset",
        "/quit",
    ];
    let ended = home.speaks(&["chat"], &lines.join("\n"));
    assert_eq!(ended.code, 0, "{}", ended.err);
}

#[test]
fn a_fold_without_a_summary_is_still_a_fold() {
    let home = Home::new();
    home.speaks(&["sessions", "import", &example()], "");
    let lines = ["/context summary", "/compact", "y", "/context summary", "/quit"];
    let chat = ["chat", "--session", "long-session", "--policy", "tail"];
    let mut command = waterline();
    command.current_dir(home.path()).env("HOME", home.path()).env("WATERLINE_LANG", "zh");
    let output = command.args(chat).write_stdin(lines.join("\n")).output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<&str> = shown.lines().filter(|line| line.starts_with("没有摘要")).collect();
    assert_eq!(answers, ["没有摘要：尚未折叠过", "没有摘要"], "{shown}");
}

#[test]
fn calls_and_their_results_are_shown_in_chinese() {
    let lines = || calls_and_results().into_iter().map(|(line, _)| line);
    let flags = ["--approval", "none", "--allow-network"];
    let world = World::new(lines().chain([says("完成了")]).collect());
    let chat = with_model(&world, "chat", &flags, "@fetch_url 请检查\n/quit\n");
    assert_chinese(&chat, "chat");
    for (line, shown) in calls_and_results() {
        assert!(chat.contains(shown), "{line:?}: {shown} in {chat}");
    }
    let world = World::new(lines().chain([says("完成了")]).collect());
    let run = with_model(&world, "run", &[&["请检查"], &flags[..]].concat(), "");
    assert_chinese(&run, "run");
    assert!(run.contains("read_file 失败：none.txt 不存在"), "{run}");
}

#[test]
fn limits_that_end_a_turn_are_explained_in_chinese() {
    let list = || calls("list_files", json!({}));
    let world = World::new((0..4).map(|_| list()).collect());
    world.write(".config/waterline/config.toml", "[agent]\nsteps = 2\n");
    let shown = with_model(&world, "chat", &[], "请检查\n/quit\n");
    assert_chinese(&shown, "chat");
    let why = "未执行：本轮必须结束（已达到每轮 2 次模型调用";
    assert!(shown.contains(why), "{shown}");
}

#[test]
fn a_bad_role_is_explained_in_chinese() {
    let home = Home::new();
    for text in ["name = \"a\"\nfoo = 1", "name = ", "about = 5"] {
        home.write(".config/waterline/roles/a.toml", text);
        let ended = home.speaks(&["chat"], "");
        assert!(ended.err.contains("TOML 解析错误"), "{}", ended.err);
        home.speaks(&["run", "你好"], "");
    }
}

#[test]
fn manual_pages_are_in_chinese() {
    let home = Home::new();
    let pages = |language: &str| {
        let directory = home.path().join(language);
        let written = run(&["man", directory.to_str().unwrap(), "--lang", language], "");
        assert_eq!(written.code, 0, "{}", written.err);
        let mut pages: Vec<_> =
            std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
        pages.sort();
        pages
    };
    let [english, chinese] = ["en", "zh"].map(pages);
    let names = |pages: &[std::path::PathBuf]| -> Vec<_> {
        pages.iter().map(|page| page.file_name().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&english), names(&chinese));
    for path in chinese {
        let page = std::fs::read_to_string(&path).unwrap();
        // Requests start with a dot, and what a user types with a bold word.
        let is_prose = |line: &&str| !line.starts_with('.') && !line.starts_with("\\fB");
        let prose: Vec<&str> = page.lines().filter(is_prose).collect();
        assert_chinese(&prose.join("\n").replace("\\-", "-"), &path.display().to_string());
        let known = ["名称", "概要", "描述", "选项", "子命令", "版本"];
        let mut headings = page.lines().filter_map(|line| line.strip_prefix(".SH "));
        assert!(headings.all(|heading| known.contains(&heading)), "{page}");
    }
}

#[test]
fn json_is_the_same_in_both_languages() {
    for command in ["plan", "check", "tokens"] {
        let english = run(&[command, "-", "--json"], IRREGULAR);
        let chinese = run(&[command, "-", "--json", "--lang", "zh"], IRREGULAR);
        assert_eq!(english.out, chinese.out, "{command}");
    }
}
