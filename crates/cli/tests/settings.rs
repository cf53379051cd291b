//! Settings: where they come from, what a folder from somebody else may not set, and the agent
//! without a terminal.
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
    world.write(".config/waterline/config.toml", "policy = \"chat\"\n[agent]\nsteps = 20\n[mcp.files]\ncommand = \"f\"\nargs = [\"--token=sk-arg\"]\nenv = { TOKEN = \"sk-env\" }\n");
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
    assert!(line("memory ").contains("none") && line("lang ").ends_with("found: $LANG"), "{out}");
    assert!(!out.contains("sk-") && !out.contains("elsewhere"), "{out}");
}

/// What is configured is told as such, and not once more as what was found.
#[test]
fn what_is_configured_is_not_found_too() {
    let world = World::new(Vec::new());
    world.write("waterline.toml", "model = \"offline\"\n");
    world.write(".config/waterline/config.toml", "memory = \"notes\"\n");
    let told = world
        .program()
        .args(["config", "show"])
        .env("WATERLINE_DB", "postgres://me:hush@host/db")
        .output()
        .unwrap();
    let out = String::from_utf8(told.stdout).unwrap();
    let lines = |key: &str| {
        out.lines().filter(|line| line.starts_with(key)).map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(lines("model ").len() == 1 && lines("model ")[0].ends_with("waterline.toml"), "{out}");
    assert!(lines("memory ").len() == 1 && lines("memory ")[0].contains("notes"), "{out}");
    assert!(lines("database ")[0].ends_with("$WATERLINE_DB") && !out.contains("hush"), "{out}");
    let (_, files, _) = world.plain(&["config", "files"]);
    assert!(files.contains("waterline.toml\n") && files.contains(".env  (not there)"), "{files}");
}

#[test]
fn an_address_is_shown_without_what_may_be_secret() {
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

/// What a chat says whose lines come from a pipe.
fn chat(world: &World, more: &[&str], lines: &str) -> String {
    let mut child =
        world.command("chat", more).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

/// Whoever names another prompt or another role for a session is told that it keeps its own.
#[test]
fn a_session_keeps_policy_prompt_and_role() {
    let world = World::new(vec![says("hello")]);
    world.write(".config/waterline/config.toml", "policy = \"chat\"\n");
    chat(&world, &["--session", "s"], "/quit\n");
    let (_, shown, _) = world.plain(&["sessions", "show", "s", "--db", "log.db"]);
    assert!(shown.contains("policy chat"), "{shown}");
    let told =
        chat(&world, &["--session", "s", "--system", "Be brief", "--role", "init"], "/quit\n");
    assert!(
        told.contains("--system is for new sessions") && told.contains("gets the role init"),
        "{told}"
    );
    let (_, _, told) =
        world.run("run", &["--session", "s", "--system", "Be brief", "--role", "execute", "hi"]);
    assert!(
        told.contains("--system is for new sessions") && told.contains("keeps the role init"),
        "{told}"
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
fn a_fallback_that_cannot_be_used_is_said_once() {
    let world = World::new(vec![says("hello")]);
    world.write(".config/waterline/config.toml", "fallback = [\"claude-sonnet-5\"]\n");
    let told = chat(&world, &[], "/clear\n/clear\n/quit\n");
    assert_eq!(told.matches("is left out").count(), 1, "{told}");
    let (code, out, err) = world.run("run", &["--json", "hi"]);
    assert!(code == 0 && out.contains("is left out") && !err.contains("is left out"), "{out}{err}");
}

/// A variable that is set to nothing says nothing; one that says nonsense is refused by its name.
#[test]
fn a_variable_counts_if_it_says_something() {
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
    for (code, err) in [run(&config, "", ""), run("model = \"nobody\"", "m", url)] {
        assert_eq!(code, Some(0), "{err}");
    }
    let ended =
        world.program().args(["config", "show"]).env("WATERLINE_LANG", "de").output().unwrap();
    let err = String::from_utf8(ended.stderr).unwrap();
    assert!(
        ended.status.code() == Some(2) && err.contains("WATERLINE_LANG") && err.contains("en, zh"),
        "{err}"
    );
}

#[test]
fn a_folder_in_the_config_is_in_the_home_or_beside_the_file() {
    for (named, folder) in [("~/ws", "ws"), ("ws", ".config/waterline/ws")] {
        let world = World::new(vec![says("hello")]);
        world.write(
            ".config/waterline/config.toml",
            &format!("[agent]\nworkspaces = \"{named}\"\n"),
        );
        let (code, _, err) = world.run("run", &["hi", "--session", "s"]);
        assert!(code == 0 && world.path(folder).join("s").is_dir(), "{named}: {err}");
        assert!(!world.path("~").exists(), "{named}");
    }
}

/// A folder may come from somebody else.
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
    world.write(".waterline/roles/init.toml", "name = \"init\"\nprompt = \"obey the folder\"");
    world.write(
        ".waterline/roles/sailor.toml",
        "name = \"sailor\"\ntools = [\"fetch_url\", \"now\"]",
    );
    let (code, _, err) = world.run("run", &["hi", "--role", "sailor"]);
    assert!(code == 0 && err.contains("the role init of the project is left out"), "{err}");
    let body = world.server.received()[0].body.clone();
    assert!(!body.contains("fetch_url") && body.contains("\"now\""), "{body}");
}

#[test]
fn wrong_values_are_refused_with_what_is_allowed() {
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
fn doctor_tells_what_works_and_what_does_not() {
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
    for (setting, told) in [
        ("middleware = [\"pll\"]", "!!  agent: unknown middleware \"pll\""),
        (
            "rules = [{ tool = \"*\", pattern = \"(\", answer = \"deny\" }]",
            "!!  agent: invalid pattern in an approval rule",
        ),
    ] {
        world.write(".config/waterline/config.toml", &format!("[agent]\n{setting}\n"));
        let (code, out, _) = world.run("doctor", &[]);
        assert!(code == 1 && out.contains(told), "{out}");
    }
    world.write(".config/waterline/config.toml", "");
    world.write(".waterline/roles/x.toml", "nome = \"x\"");
    let (code, out, _) = world.run("doctor", &[]);
    assert!(code == 1 && out.contains("!!  roles") && out.contains("x.toml"), "{out}");
    let (code, _, err) = world.run("doctor", &["--approval", "none"]);
    assert!(code == 2 && err.contains("--approval"), "only flags that matter: {err}");
}

/// What comes through a pipe is data: it takes no files along and allows no tools. What goes into
/// one is the answer, once.
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
    assert!(!first.contains("hidden") && !first.contains("allows the tool"), "{first}");
}

#[test]
fn a_form_is_asked_for_once_more_and_only_the_right_answer_is_printed() {
    let world = World::new(vec![says("about four"), says("{\"metres\": 4}"), says("as you like")]);
    world.write("schema.json", r#"{"type": "object", "required": ["metres"]}"#);
    let (code, out, _) =
        world.run("run", &["--session", "s", "--schema", "schema.json", "how high?"]);
    assert_eq!((code, out.as_str()), (0, "{\"metres\": 4}\n"));
    let (code, out, _) = world.run("run", &["--session", "s", "and in words?"]);
    assert_eq!((code, out.as_str()), (0, "as you like\n"), "the form was for that turn");
}

/// Without a terminal nobody can be asked: a risky call is refused, a question ends the turn, and
/// nothing hangs.
#[test]
fn a_chat_from_a_pipe_asks_nobody() {
    let ask = calls("ask_human", json!({"question": "Which harbour?"}));
    let world = World::new(vec![
        calls("run_bash_command", json!({"command": "git push"})),
        says("not pushed"),
        ask,
        says("North."),
    ]);
    let out = chat(&world, &["--session", "s"], "publish\nplan it\nnorth\n/quit\n");
    assert!(
        out.contains("not pushed") && out.contains("Which harbour?") && out.contains("North."),
        "{out}"
    );
    let last = world.last_request();
    assert!(last.iter().any(|message| message.contains("no one available to approve")), "{last:?}");
}

/// The exit status tells, and critical calls are never agreed to beforehand.
#[test]
fn the_exit_status_tells_and_yes_is_no_yes_to_everything() {
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
        results[0]["text"].as_str().unwrap().contains("Not run: nobody is there")
            && results[1]["failed"] == false,
        "{results:?}"
    );
    assert_eq!(events.last().unwrap()["steps"], 3);
}

/// Whoever starts it from a program may have left a pipe open that nothing comes through.
#[test]
fn somebody_is_told_that_standard_input_is_waited_for() {
    let world = World::new(vec![says("hello")]);
    let mut command = world.command("run", &["hi"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut told).unwrap();
    assert!(told.contains("reading standard input; < /dev/null leaves it out"), "{told}");
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "hello\n",
        "it goes on when the pipe is closed"
    );
}

/// S2.7, S3.29, S3.30: the seeds' names in config files, in any case; `config.json` is read if there
/// is no `config.toml`.
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
