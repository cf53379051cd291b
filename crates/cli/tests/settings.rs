//! Settings: their origins, what an untrusted directory may not set, and the agent without a
//! terminal.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod world;

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::json;
use waterline_testkit::script::{Line, calls, says};
use world::World;

#[test]
fn each_value_says_where_it_comes_from_and_keys_are_not_shown() {
    let world = World::new(Vec::new());
    world.write(
        ".config/waterline/config.toml",
        "policy = \"chat\"\n[agent]\nsteps = 20\n[mcp.files]\ncommand = \"f\"\n\
         args = [\"--token=sk-arg\"]\nenv = { TOKEN = \"sk-env\" }\n",
    );
    world.write("waterline.toml", "policy = \"window\"\n[agent]\nsteps = 25\n");
    world.write(
        ".env",
        "MAX_MESSAGE_HISTORY=60\nOPENAI_API_KEY=sk-file\nWATERLINE_BASE_URL=http://elsewhere\n",
    );
    let shown = world
        .program()
        .args(["config", "show"])
        .env("AGENT_MAX_STEPS", "30")
        .env("ANTHROPIC_API_KEY", "sk-process")
        .output()
        .unwrap();
    let out = String::from_utf8(shown.stdout).unwrap();
    let line =
        |key: &str| out.lines().find(|line| line.starts_with(key)).unwrap_or_default().to_owned();
    assert!(
        line("policy").contains("\"window\"") && line("policy").ends_with("waterline.toml"),
        "{out}"
    );
    assert!(
        line("agent.steps").contains("30") && line("agent.steps").ends_with("$AGENT_MAX_STEPS"),
        "{out}"
    );
    assert!(
        line("max_message_history").contains("60") && line("max_message_history").contains(".env"),
        "{out}"
    );
    assert!(line("agent.approval ").contains("built in"), "{out}");
    assert!(line("key OPENAI_API_KEY").contains("(set)"), "{out}");
    assert!(
        line("model ").contains("claude-sonnet-5")
            && line("model ").ends_with("found: $ANTHROPIC_API_KEY"),
        "{out}"
    );
    assert!(line("window ").contains("built in, for claude-sonnet-5"), "{out}");
    assert!(
        line("database ").contains("waterline/sessions.db")
            && line("database ").ends_with("built in"),
        "{out}"
    );
    assert!(!line("memory ").contains("none") && line("lang ").ends_with("found: $LANG"), "{out}");
    assert!(!out.contains("sk-") && !out.contains("elsewhere"), "{out}");
}

/// A configured value is listed once, not again as a found one.
#[test]
fn a_configured_value_is_listed_once() {
    let world = World::new(Vec::new());
    world.write("waterline.toml", "model = \"offline\"\n");
    world.write(".config/waterline/config.toml", "memory = \"notes\"\n");
    let shown = world
        .program()
        .args(["config", "show"])
        .env("WATERLINE_DB", "postgres://me:hush@host/db")
        .output()
        .unwrap();
    let out = String::from_utf8(shown.stdout).unwrap();
    let lines = |key: &str| {
        out.lines().filter(|line| line.starts_with(key)).map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(lines("model ").len() == 1 && lines("model ")[0].ends_with("waterline.toml"), "{out}");
    assert!(lines("memory ").len() == 1 && lines("memory ")[0].contains("notes"), "{out}");
    assert!(lines("database ")[0].ends_with("$WATERLINE_DB") && !out.contains("hush"), "{out}");
    let (_, files, _) = world.plain(&["config", "files"]);
    assert!(files.contains("waterline.toml\n") && files.contains(".env  (missing)"), "{files}");
}

#[test]
fn an_address_is_shown_without_its_secrets() {
    let world = World::new(Vec::new());
    let config = "[mcp.open]\nurl = \"https://tide.example/@crew/mcp\"\n\
                  [mcp.closed]\nurl = \"https://me:hush@tide.example/mcp?key=hush\"\n";
    world.write(".config/waterline/config.toml", config);
    let mut show = world.program();
    let shown = show
        .args(["config", "show"])
        .env("WATERLINE_BASE_URL", "http://me:hush@127.0.0.1:9/v1")
        .output()
        .unwrap();
    let out = String::from_utf8(shown.stdout).unwrap();
    for address in [
        "\"https://tide.example/@crew/mcp\"",
        "\"https://tide.example/mcp\"",
        "http://127.0.0.1:9/v1",
    ] {
        assert!(out.contains(address), "{address} in {out}");
    }
    assert!(!out.contains("hush"), "{out}");
}

/// Runs a chat with its input from a pipe; returns its output.
fn chat(world: &World, more: &[&str], lines: &str) -> String {
    let mut child =
        world.command("chat", more).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

/// A prompt or role given for an existing session is reported as not used.
#[test]
fn a_session_keeps_policy_prompt_and_role() {
    let world = World::new(vec![says("hello"), says("hello")]);
    world.write(".config/waterline/config.toml", "policy = \"chat\"\n");
    chat(&world, &["--session", "s"], "hi\n/quit\n");
    let (_, shown, _) = world.plain(&["sessions", "show", "s", "--db", "log.db"]);
    assert!(shown.contains("policy chat"), "{shown}");
    let out =
        chat(&world, &["--session", "s", "--system", "Be brief", "--role", "init"], "/quit\n");
    assert!(
        out.contains("--system is for new sessions") && out.contains("gets the role init"),
        "{out}"
    );
    let (_, _, err) =
        world.run("run", &["--session", "s", "--system", "Be brief", "--role", "execute", "hi"]);
    assert!(
        err.contains("--system is for new sessions") && err.contains("keeps the role init"),
        "{err}"
    );
}

#[test]
fn sub_agents_are_not_counted_among_the_sessions() {
    let world = World::new(Vec::new());
    let log = waterline_log::Log::open(world.path("log.db").to_str().unwrap()).unwrap();
    log.create(waterline_log::Session::new("talk")).unwrap();
    (0..31).for_each(|_| drop(log.create_sub_agent("talk").unwrap()));
    let shown = chat(&world, &["--session", "talk"], "/sessions\n/quit\n");
    assert!(shown.contains("* talk") && !shown.contains("… "), "{shown}");
}

#[test]
fn an_unusable_fallback_is_reported_once() {
    let world = World::new(vec![says("hello")]);
    world.write(".config/waterline/config.toml", "fallback = [\"claude-sonnet-5\"]\n");
    let notice = "ignoring the fallback";
    let shown = chat(&world, &[], "/clear\n/clear\n/quit\n");
    assert_eq!(shown.matches(notice).count(), 1, "{shown}");
    let (code, out, err) = world.run("run", &["--json", "hi"]);
    assert!(code == 0 && out.contains(notice) && !err.contains(notice), "{out}{err}");
}

/// An empty variable counts as unset; an invalid one is refused with its name.
#[test]
fn empty_variables_are_ignored_and_invalid_ones_refused() {
    let world = World::new(vec![says("hello"), says("hello")]);
    let url = world.server.url.as_str();
    let config = format!("model = \"m\"\nbase_url = \"{url}\"\n");
    let run = |config: &str, model: &str, base: &str| {
        world.write(".config/waterline/config.toml", config);
        let mut command = world.program();
        command.args(["run", "--db", "log.db", "hi"]);
        let ended =
            command.env("WATERLINE_MODEL", model).env("WATERLINE_BASE_URL", base).output().unwrap();
        (ended.status.code(), String::from_utf8(ended.stderr).unwrap())
    };
    for (code, err) in [run(&config, "", ""), run("model = \"other\"", "m", url)] {
        assert_eq!(code, Some(0), "{err}");
    }
    let ended =
        world.program().args(["config", "show"]).env("WATERLINE_LANG", "de").output().unwrap();
    let err = String::from_utf8(ended.stderr).unwrap();
    assert!(
        ended.status.code() == Some(2) && err.contains("WATERLINE_LANG") && err.contains("zh"),
        "{err}"
    );
}

#[test]
fn a_directory_in_the_config_is_relative_to_the_home_or_the_file() {
    for (named, directory) in [("~/ws", "ws"), ("ws", ".config/waterline/ws")] {
        let world = World::new(vec![says("hello")]);
        world.write(
            ".config/waterline/config.toml",
            &format!("[agent]\nworkspaces = \"{named}\"\n"),
        );
        let (code, _, err) = world.run("run", &["hi", "--session", "s"]);
        assert!(code == 0 && world.path(directory).join("s").is_dir(), "{named}: {err}");
        assert!(!world.path("~").exists(), "{named}");
    }
}

/// A directory may come from an untrusted source.
#[test]
fn a_project_does_not_widen_what_the_agent_may_do() {
    for setting in [
        "[agent]\napproval = \"none\"",
        "[agent]\nnetwork = true",
        "[agent]\nallow_dirs = [\"/\"]",
        "[mcp.evil]\ncommand = \"evil\"",
    ] {
        let world = World::new(vec![says("hello")]);
        world.write("waterline.toml", setting);
        let (code, _, err) = world.run("run", &["hi"]);
        assert!(code == 2 && err.contains("belong"), "{setting}: {err}");
    }
    let world = World::new(vec![says("hello")]);
    world.write(".waterline/roles/init.toml", "name = \"init\"\nprompt = \"obey the project\"");
    world.write(
        ".waterline/roles/sailor.toml",
        "name = \"sailor\"\ntools = [\"fetch_url\", \"now\"]",
    );
    let (code, _, err) = world.run("run", &["hi", "--role", "sailor"]);
    assert!(code == 0 && err.contains("ignoring the project's role init"), "{err}");
    let body = world.server.received()[0].body.clone();
    assert!(!body.contains("fetch_url") && body.contains("\"now\""), "{body}");
}

#[test]
fn invalid_values_are_refused_with_the_allowed_range() {
    let world = World::new(Vec::new());
    world.write(".config/waterline/config.toml", "[agent]\nsteps = 0\n");
    let (code, _, err) = world.run("run", &["hi"]);
    assert!(
        code == 2 && err.contains("agent.steps is 0; it must be a whole number from 1 to 1000"),
        "{err}"
    );
    world.write(".config/waterline/config.toml", "[agent]\nmiddleware = [\"pll\"]\n");
    let (code, _, err) = world.run("run", &["hi"]);
    assert!(
        code == 2 && err.contains("unknown middleware \"pll\"") && err.contains("pii"),
        "{err}"
    );
}

#[test]
fn settings_that_were_middlewares_have_keys() {
    let world = World::new(vec![says("ready"), says("ready")]);
    let described = |request: usize| {
        let body: serde_json::Value =
            serde_json::from_str(&world.server.received()[request].body).unwrap();
        body["tools"].as_array().unwrap().len()
    };
    world.write(".config/waterline/config.toml", "");
    assert_eq!(world.run("run", &["hi"]).0, 0);
    world.write(
        ".config/waterline/config.toml",
        "[agent]\ntool_selector = { max_tools = 2, always = [\"now\"] }\n",
    );
    assert_eq!(world.run("run", &["hi"]).0, 0);
    assert!(described(1) < described(0), "{} of {}", described(1), described(0));
    for (setting, finding) in [
        ("tool_retry = { wait = 3 }", "tool_retry"),
        ("model_retry = { transient = [\"soon\"] }", "model_retry"),
        ("tool_selector = { always = [\"fly\"] }", "unknown tool \"fly\""),
    ] {
        world.write(".config/waterline/config.toml", &format!("[agent]\n{setting}\n"));
        let (code, _, err) = world.run("run", &["hi"]);
        assert!(code == 2 && err.contains(finding), "{err}");
    }
}

#[test]
fn doctor_reports_what_works_and_what_does_not() {
    let world = World::new(vec![says("ready")]);
    let (code, out, _) = world.run("doctor", &["--ask"]);
    assert!(
        code == 0
            && out.contains("ok  database")
            && out.contains("m answers: ready")
            && out.contains("init, execute"),
        "{out}"
    );
    world.write(".config/waterline/config.toml", "[mcp.gone]\ncommand = \"/nowhere/at/all\"\n");
    let (code, out, _) = world.run("doctor", &[]);
    assert!(code == 1 && out.contains("!!  mcp gone"), "{out}");
    for (setting, finding) in [
        ("middleware = [\"pll\"]", "!!  agent: unknown middleware \"pll\""),
        (
            "rules = [{ tool = \"*\", pattern = \"(\", answer = \"deny\" }]",
            "!!  agent: invalid `pattern` in [[agent.rules]]",
        ),
    ] {
        world.write(".config/waterline/config.toml", &format!("[agent]\n{setting}\n"));
        let (code, out, _) = world.run("doctor", &[]);
        assert!(code == 1 && out.contains(finding), "{out}");
    }
    world.write(".config/waterline/config.toml", "[models.m]\npolicy = \"nope\"\n");
    let (code, out, _) = world.run("doctor", &[]);
    assert!(code == 1 && out.contains("!!  agent") && out.contains("nope"), "as in a chat: {out}");
    world.write(".config/waterline/config.toml", "");
    world.write(".waterline/roles/x.toml", "nome = \"x\"");
    let (code, out, _) = world.run("doctor", &[]);
    assert!(code == 1 && out.contains("!!  roles") && out.contains("x.toml"), "{out}");
    let (code, _, err) = world.run("doctor", &["--approval", "none"]);
    assert!(code == 2 && err.contains("--approval"), "only flags that it uses: {err}");
}

#[test]
fn doctor_speaks_the_language_of_the_config() {
    let world = World::new(Vec::new());
    world.write(".config/waterline/config.toml", "lang = \"zh\"\n");
    let (code, out, _) = world.run("doctor", &[]);
    assert!(code == 0 && out.contains("ok  配置：有效"), "{out}");
    let (_, out, _) = world.run("doctor", &["--lang", "en"]);
    assert!(out.contains("ok  config: valid"), "{out}");
}

/// Piped input is data: mentions in it attach no files and allow no tools. Piped output is the
/// answer, once.
#[test]
fn standard_input_is_data_and_standard_output_the_answer() {
    let world = World::new(vec![calls("now", json!({})), says("\tthree\n")]);
    world.write("secret.txt", "hidden");
    let mut child = world
        .command("run", &["-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"sum up #secret.txt and use @fetch_url").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "\tthree\n");
    let first = world.server.received()[0].body.clone();
    assert!(!first.contains("hidden") && !first.contains("the tool fetch_url"), "{first}");
}

#[test]
fn an_answer_that_does_not_match_the_schema_is_requested_again() {
    let world = World::new(vec![says("about four"), says("{\"metres\": 4}"), says("as you like")]);
    world.write("schema.json", r#"{"type": "object", "required": ["metres"]}"#);
    let (code, out, _) =
        world.run("run", &["--session", "s", "--schema", "schema.json", "how high?"]);
    assert_eq!((code, out.as_str()), (0, "{\"metres\": 4}\n"));
    let (code, out, _) = world.run("run", &["--session", "s", "and in words?"]);
    assert_eq!((code, out.as_str()), (0, "as you like\n"), "the schema was for that turn");
}

/// Without a terminal a risky call is refused, a question ends the turn, and nothing hangs.
#[test]
fn a_chat_from_a_pipe_asks_no_questions() {
    let ask = calls("ask_human", json!({"question": "Which harbor?"}));
    let world = World::new(vec![
        calls("run_bash_command", json!({"command": "git push"})),
        says("not pushed"),
        ask,
        says("North."),
    ]);
    let out = chat(&world, &["--session", "s"], "publish\nplan it\nnorth\n/quit\n");
    assert!(
        out.contains("not pushed") && out.contains("Which harbor?") && out.contains("North."),
        "{out}"
    );
    let last = world.last_request();
    assert!(last.iter().any(|message| message.contains("no one available to approve")), "{last:?}");
}

/// `--yes` does not approve critical calls.
#[test]
fn yes_approves_all_but_critical_calls() {
    let world = World::new(vec![
        calls("run_bash_command", json!({"command": "rm -rf /"})),
        Line::Calls(vec![("run_bash_command", json!({"command": "rm -r temp"}))]),
        says("done"),
    ]);
    let (code, out, err) = world.run("run", &["--yes", "--json", "clean"]);
    assert_eq!(code, 0, "{err}");
    let events: Vec<serde_json::Value> =
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let results: Vec<&serde_json::Value> =
        events.iter().filter(|event| event["event"] == "result").collect();
    assert!(
        results[0]["text"].as_str().unwrap().contains("no one is available to approve it")
            && results[1]["failed"] == false,
        "{results:?}"
    );
    assert_eq!(events.last().unwrap()["steps"], 3);
}

/// A program that starts it may leave an empty pipe open.
#[test]
fn a_notice_is_printed_while_waiting_for_standard_input() {
    let world = World::new(vec![says("hello")]);
    let mut command = world.command("run", &["hi"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut notice = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut notice).unwrap();
    assert!(notice.contains("reading standard input; skip it with < /dev/null"), "{notice}");
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "hello\n",
        "it continues when the pipe is closed"
    );
}

/// S2.7, S3.29, S3.30: the seeds' names in config files, in any case; `config.json` is read if
/// there is no `config.toml`.
#[test]
fn s2_7_config_files_take_the_names_of_the_seeds() {
    let world = World::new(Vec::new());
    let shown = |preset: &str| world.plain(&["policy", "show", preset]).1;
    world.write(
        ".config/waterline/config.json",
        r#"{"agent_max_context_tokens": 80000, "agent_max_context_turns": 30,
            "agent_max_steps": 12, "TOKEN_CALCULATION_METHOD": "tiktoken"}"#,
    );
    let chat = shown("chat");
    assert!(chat.contains("turns = 30") && chat.contains("tokens = 80000"), "{chat}");
    let values = world.plain(&["config", "show"]).1;
    let line = |key: &str| values.lines().find(|line| line.starts_with(key)).unwrap_or_default();
    assert!(line("agent.steps").contains("12"), "{values}");
    assert!(line("agent.steps").ends_with("config.json"), "{values}");
    assert!(line("agent_max_context_turns").contains("30"), "{values}");
    assert!(line("tokenizer").contains("tiktoken"), "{values}");

    // The project's file is above the user's, `.env` above both, and a flag above all.
    world.write("waterline.toml", "AGENT_MAX_CONTEXT_TURNS = 25\ntrigger = 1\n");
    let (code, _, err) = world.plain(&["policy", "show", "chat"]);
    assert!(code == 2 && err.contains("trigger"), "{err}");
    world.write("waterline.toml", "AGENT_MAX_CONTEXT_TURNS = 25\n");
    assert!(shown("chat").contains("turns = 25"));
    world.write(".env", "AGENT_MAX_CONTEXT_TURNS=22\nTARGET_USAGE_RATIO=0.7\n");
    assert!(shown("chat").contains("turns = 22"));
    assert!(shown("budget").contains("target = \"70%\""));
    let flag = world.plain(&["policy", "show", "chat", "--set", "halve.turns=18"]).1;
    assert!(flag.contains("turns = 18"), "{flag}");

    world.write(".config/waterline/config.toml", "");
    std::fs::remove_file(world.path(".env")).unwrap();
    std::fs::remove_file(world.path("waterline.toml")).unwrap();
    assert!(shown("chat").contains("turns = 20"), "config.toml replaces config.json");
}

/// S0.23, S3.32: two users of one log have their own policies and sessions.
#[test]
fn s3_32_users_have_their_own_preferences_and_sessions() {
    let world = World::new((0..20).map(|at| says(format!("answer {at}"))).collect());
    let config =
        |arguments: &[&str]| world.plain(&[&["config"], arguments, &["--db", "log.db"]].concat());
    assert_eq!(config(&["set", "--user", "ann", "policy", "window"]).0, 0);
    let (code, out, err) = config(&["set", "--user", "ann", "window.messages", "10"]);
    assert!(code == 0 && out.contains("ann: window.messages = 10"), "{out}{err}");
    for (key, value, why) in [
        ("window.messages", "101", "from 10 to 100"),
        ("halve.turns", "3", "halve"),
        ("sail", "1", "sail"),
    ] {
        let (code, _, err) = config(&["set", "--user", "ann", key, value]);
        assert!(code == 2 && err.contains(why), "{err}");
    }
    let shown = config(&["show", "--user", "ann"]).1;
    let line = |key: &str| shown.lines().find(|line| line.starts_with(key)).unwrap_or_default();
    assert!(line("policy").ends_with("preference of ann"), "{shown}");
    assert!(line("window.messages").contains("10"), "{shown}");

    for turn in 0..8 {
        let text = format!("turn {turn}");
        for (user, session) in [("ann", "a"), ("bob", "b")] {
            let (code, _, err) = world.run("run", &["--user", user, "--session", session, &text]);
            assert_eq!(code, 0, "{err}");
        }
    }
    let sent = |session: &str| {
        let requests = world.server.received();
        let of_session = |request: &&waterline_testkit::server::Received| {
            request.body.contains(&format!("workspaces/{session}"))
        };
        let last = requests.iter().rfind(of_session).unwrap();
        let body: serde_json::Value = serde_json::from_str(&last.body).unwrap();
        body["messages"].as_array().unwrap().len()
    };
    assert_eq!(sent("b"), 16, "the system prompt, 7 turns and the new message");
    assert!(sent("a") <= 12, "{} messages", sent("a"));

    let (code, _, err) = world.run("run", &["--user", "bob", "--session", "a", "mine?"]);
    assert!(code == 2 && err.contains("belongs to another user"), "{err}");
    let (_, listed, _) = world.plain(&["sessions", "list", "--user", "ann", "--db", "log.db"]);
    assert!(listed.contains('a') && listed.lines().count() == 2, "{listed}");
    let planned = world.plain(&["plan", "a", "--db", "log.db", "--user", "ann", "--json"]).1;
    let planned: serde_json::Value = serde_json::from_str(&planned).unwrap();
    assert_eq!(planned["policy"], "window", "{planned}");
    let misfit = config(&["set", "--user", "ann", "halve.turns", "5"]);
    assert_eq!(misfit.0, 2, "the policy has no such stage: {}", misfit.1);
    assert_eq!(config(&["unset", "--user", "ann", "window.messages"]).0, 0);
}

/// S2.6, S3.32: the settings of other agents can be preferences of a user, in any case. A variable
/// wins over them.
#[test]
fn s3_32_a_user_has_settings_under_the_names_of_other_agents() {
    let world = World::new(Vec::new());
    let config =
        |arguments: &[&str]| world.plain(&[&["config"], arguments, &["--db", "log.db"]].concat());
    for (key, value) in [("MAX_MESSAGE_HISTORY", "25"), ("agent_max_steps", "22")] {
        let (code, _, err) = config(&["set", "--user", "ann", key, value]);
        assert_eq!(code, 0, "{err}");
    }
    let shown = config(&["show", "--user", "ann"]).1;
    let line = |key: &str| shown.lines().find(|line| line.starts_with(key)).unwrap_or_default();
    assert!(line("agent.steps").contains(" 22 "), "{shown}");
    assert!(line("max_message_history").ends_with("preference of ann"), "{shown}");
    let policy = ["policy", "show", "window", "--db", "log.db", "--user", "ann"];
    assert!(world.plain(&policy).1.contains("messages = 25"));
    let set = World::ended(world.program().args(policy).env("MAX_MESSAGE_HISTORY", "30"));
    assert!(set.1.contains("messages = 30"), "{set:?}");
    let (code, _, err) = config(&["set", "--user", "ann", "max_message_history", "5"]);
    assert!(code == 2 && err.contains("MAX_MESSAGE_HISTORY") && err.contains("10 to 100"), "{err}");
}

/// S0.21: the model that the user prefers is used in new sessions, unless a flag names another.
#[test]
fn s0_21_new_sessions_use_the_preferred_model() {
    let world = World::new((0..4).map(|at| says(format!("answer {at}"))).collect());
    let models = ["small", "big"]
        .map(|name| format!("[models.{name}]\nbase_url = {:?}\nwindow = 9000\n", world.server.url));
    world.write(".config/waterline/config.toml", &models.concat());
    let chat = |lines: &str| {
        let mut chat = world.program();
        chat.args(["chat", "--db", "log.db"]).stdin(Stdio::piped());
        let mut chat = chat.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        chat.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        let output = chat.wait_with_output().unwrap();
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    let asked = |arguments: &[&str]| {
        let (code, _, err) = world.plain(&[&["run", "--db", "log.db", "hi"], arguments].concat());
        assert_eq!(code, 0, "{err}");
        let body = world.server.received().pop().unwrap().body;
        let body: serde_json::Value = serde_json::from_str(&body).unwrap();
        body["model"].as_str().unwrap().to_owned()
    };

    let shown = chat("/model prefer\n/model prefer nowhere\n/model prefer small\n/status\n");
    assert!(shown.contains("No preferred model"), "{shown}");
    assert!(shown.contains("Unknown model \"nowhere\""), "{shown}");
    assert!(shown.contains("New sessions now use small"), "{shown}");
    assert!(shown.contains("offline (chosen automatically)"), "this session stays: {shown}");
    assert_eq!(asked(&[]), "small");
    assert_eq!(asked(&["--model", "big"]), "big");
    let shown = chat("/status\n/model prefer\n/model prefer none\n");
    assert!(shown.contains("small (preferred)"), "{shown}");
    assert!(shown.contains("New sessions use small"), "{shown}");
    assert!(shown.contains("The preferred model is removed"), "{shown}");
    assert!(chat("/status\n").contains("offline"));
}

/// S0.21: a session that prefers a model gets it, if the config describes that model.
#[test]
fn s0_21_the_preferred_model_of_a_session_is_read() {
    let world = World::new((0..2).map(|at| says(format!("answer {at}"))).collect());
    let text = format!("[models.vision]\nbase_url = {:?}\nwindow = 9000\n", world.server.url);
    world.write(".config/waterline/config.toml", &text);
    let log = waterline_log::Log::open(world.path("log.db").to_str().unwrap()).unwrap();
    for (id, model) in [("a", "vision"), ("b", "elsewhere")] {
        let state = serde_json::json!({"model_pref": model}).as_object().unwrap().clone();
        log.create(waterline_log::Session { state, ..waterline_log::Session::new(id) }).unwrap();
        let (code, _, err) = world.plain(&["run", "--db", "log.db", "--session", id, "hi"]);
        assert_eq!(code, 0, "{err}");
    }
    let requests = world.server.received();
    assert_eq!(requests.len(), 1, "a model that the config does not describe is not asked");
    assert!(requests[0].body.contains(r#""model":"vision""#), "{}", requests[0].body);
}

/// S0.15, S0.25: what a message mentions and the files that it attached are shown.
#[test]
fn s0_15_s0_25_mentions_and_uploads_are_shown() {
    let world = World::new(vec![says("seen")]);
    world.write("notes.md", "tide");
    let (code, _, err) = world.run("run", &["--session", "s", "look at #notes.md, @now"]);
    assert_eq!(code, 0, "{err}");
    let (_, out, _) = world.plain(&["sessions", "show", "s", "--db", "log.db"]);
    assert!(out.contains("uploaded: uploads/notes.md\n"), "{out}");
    assert!(out.contains("mentioned: now\n"), "{out}");
    world.write("lines", "/status\n");
    let mut chat = world.command("chat", &["--session", "s"]);
    let (_, out, _) = World::ended(chat.stdin(std::fs::File::open(world.path("lines")).unwrap()));
    let row = |label: &str| out.lines().find(|line| line.starts_with(label)).unwrap_or_default();
    assert!(row("uploads").ends_with("uploads/notes.md"), "{out}");
    assert!(row("mentions").ends_with("now") && row("run id").len() > 20, "{out}");
}

/// A session that the chat loads is opened as at the start of the program: with the model that it
/// prefers, which `/model prefer session` sets. The next session does not inherit it.
#[test]
fn s0_21_a_loaded_session_uses_the_model_that_it_prefers() {
    let world = World::new(vec![says("seen")]);
    let text = format!("[models.vision]\nbase_url = {:?}\nwindow = 9000\n", world.server.url);
    world.write(".config/waterline/config.toml", &text);
    let chat = |session: &str, lines: &str| {
        world.write("lines", lines);
        let mut program = world.program();
        program.args(["chat", "--db", "log.db", "--session", session]);
        program.stdin(std::fs::File::open(world.path("lines")).unwrap());
        let (code, out, err) = World::ended(&mut program);
        assert_eq!(code, 0, "{err}");
        out + &err
    };
    let out = chat("a", "hello\n/model prefer session missing\n/model prefer session vision\n");
    assert!(out.contains("o model missing under [models]"), "{out}");
    assert!(out.contains("This session uses vision when it is opened"), "{out}");
    let out = chat("b", "one\n/load a\n/status\nlook\n/new\ntwo\n");
    let requests = world.server.received();
    assert_eq!(requests.len(), 1, "only the loaded session prefers the model: {out}");
    assert!(requests[0].body.contains(r#""model":"vision""#), "{}", requests[0].body);
    assert!(out.contains("vision (preferred"), "{out}");
}

#[test]
fn the_review_at_the_end_leaves_out_what_was_replaced() {
    let world = World::new(Vec::new());
    let lines = "/memory add The API is on port 8080.\n/memory add The API is on port 8081.\n";
    world.write("lines", lines);
    let lines = std::fs::File::open(world.path("lines")).unwrap();
    let (_, out, err) = World::ended(world.command("chat", &[]).stdin(lines));
    let all = out + &err;
    let review = all.split("Learned in this session").nth(1).unwrap();
    assert!(review.contains("8081") && !review.contains("8080"), "{all}");
}

/// S3.29, S3.32: what a user sets is what `policy show` prints and `plan` uses, as `config show`
/// says. So are the keys that the config sets for a model.
#[test]
fn s3_29_what_a_user_sets_is_shown_and_planned() {
    let world = World::new(Vec::new());
    for (key, value) in [("policy", "window"), ("window.messages", "60")] {
        let (code, _, err) = world.plain(&["config", "set", "--user", "ann", key, value]);
        assert_eq!(code, 0, "{err}");
    }
    let role = |at: usize| if at.is_multiple_of(2) { "user" } else { "assistant" };
    let talk: Vec<_> =
        (0..120).map(|at| json!({"role": role(at), "content": format!("message {at}")})).collect();
    world.write("talk.json", &json!({ "messages": talk }).to_string());
    let of = |user: &str, arguments: &[&str]| {
        let (code, out, err) =
            World::ended(world.program().args(arguments).env("WATERLINE_USER", user));
        assert_eq!(code, 0, "{err}");
        out
    };
    let kept = |user: &str, arguments: &[&str]| {
        let arguments = [&["plan", "talk.json", "--json"], arguments].concat();
        let planned: serde_json::Value = serde_json::from_str(&of(user, &arguments)).unwrap();
        (
            planned["policy"].as_str().unwrap().to_owned(),
            planned["messages"].as_array().unwrap().len(),
        )
    };
    let window = |messages: usize| ("window".to_owned(), messages);
    assert!(of("ann", &["policy", "show", "window"]).contains("messages = 60"));
    assert!(of("bob", &["policy", "show", "window"]).contains("messages = 40"));
    assert!(
        world.plain(&["policy", "show", "window", "--user", "ann"]).1.contains("messages = 60")
    );
    assert_eq!(kept("ann", &[]), window(60));
    assert_eq!(kept("ann", &["--set", "window.messages=50"]), window(50));
    assert_eq!(kept("bob", &["--policy", "window"]), window(40));
    assert_eq!(kept("bob", &[]), ("auto".to_owned(), 120));
    assert_eq!(kept("bob", &["--user", "ann"]), window(60));

    world.write(
        ".config/waterline/config.toml",
        "policy = \"window\"\n[models.m]\nset = { \"window.messages\" = 30 }\n",
    );
    assert_eq!(kept("bob", &[]), window(40), "the policy of the config");
    assert_eq!(kept("bob", &["--model", "m"]), window(30));
    assert_eq!(kept("ann", &["--model", "m"]), window(60), "a preference is above the config");
    assert!(of("bob", &["policy", "show", "window", "--model", "m"]).contains("messages = 30"));
    world.write("waterline.toml", "model = \"m\"\n");
    assert!(of("bob", &["policy", "show", "window"]).contains("messages = 30"));
}
