//! The commands as a user runs them: their output and exit status.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails loudly"
)]

mod program;

use program::{example, run, waterline};
use serde_json::Value;

fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

const CHAT: &str = concat!(
    r#"{"id":"one","model":"gpt-4o","messages":[{"role":"user","content":"hi"},"#,
    r#"{"role":"assistant","content":"hello"}]}"#
);

#[test]
fn plan_shows_people_what_was_folded_and_why() {
    let ended = run(&["plan", &example(), "--set", "window.tokens=40%"], "");
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(
        ended.out.contains("tokens are more than the 6,144 available for the prompt"),
        "{}",
        ended.out
    );
    assert!(
        ended.out.contains("the task")
            && ended.out.contains("summary")
            && ended.out.contains("digest of"),
        "{}",
        ended.out
    );
    assert!(!ended.out.contains('\u{1b}'), "no colours without a terminal");
}

#[test]
fn plan_explains_the_distance_to_the_low_mark() {
    let set = ["--set", "window.tokens=10%", "--set", "fold.low=80%"];
    let ended = run(&[["plan", &example()].as_slice(), &set].concat(), "");
    let explained = ended.out.lines().find(|line| line.contains("below the low mark: "));
    let explained = explained.unwrap_or_else(|| panic!("{}{}", ended.out, ended.err));
    assert!(explained.contains("stage window was the last to drop messages, "), "{explained}");
    assert!(ended.out.contains("\nthe summary block uses "), "{}", ended.out);
    let ended = run(&[["plan", &example(), "--json"].as_slice(), &set].concat(), "");
    let plan = &json_lines(&ended.out)[0];
    let fold_report = &plan["fold_report"];
    let last = fold_report["steps"].as_array().unwrap().last().unwrap();
    let block = fold_report["block"].as_u64().unwrap();
    assert!(block <= fold_report["block_budget"].as_u64().unwrap(), "{fold_report}");
    let after = plan["tokens"]["after"].as_u64().unwrap();
    assert_eq!(after, last["left"].as_u64().unwrap() + block, "{fold_report}");
    let fits = run(&["plan", "-", "--json"], CHAT);
    assert!(json_lines(&fits.out)[0]["fold_report"].is_null(), "{}", fits.out);
}

#[test]
fn plan_json_has_the_documented_shape() {
    let ended = run(&["plan", &example(), "--json", "--to", "anthropic"], "");
    let plan = &json_lines(&ended.out)[0];
    assert_eq!(plan["id"], "long-session");
    assert_eq!(plan["wire"], "anthropic");
    assert_eq!(plan["policy"], "auto");
    assert!(
        plan["system"].is_array() && plan["messages"].is_array() && plan["warnings"].is_array()
    );
    let tokens = &plan["tokens"];
    for key in ["before", "after", "window", "high", "low"] {
        assert!(tokens[key].as_u64().unwrap() > 0, "{key}");
    }
    assert!(tokens["after"].as_u64() <= tokens["high"].as_u64());
    let mut sources: Vec<u64> = plan["slots"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|slot| slot["sources"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()))
        .collect();
    sources.sort_unstable();
    assert_eq!(sources, (0..60).collect::<Vec<u64>>(), "every message is in exactly one slot");
}

#[test]
fn the_context_that_plan_prints_passes_check() {
    for wire in ["openai-chat", "openai-responses", "anthropic", "gemini"] {
        let planned = run(&["plan", &example(), "--json", "--to", wire, "--window", "3k"], "");
        let plan = &json_lines(&planned.out)[0];
        let checked = run(&["check", "-", "--wire", wire], &plan["messages"].to_string());
        assert_eq!(
            (checked.code, checked.out.as_str()),
            (0, "1 conversation, 0 invalid\n"),
            "{wire}"
        );
    }
}

/// One conversation per line gives one result per line; a pretty-printed document is one
/// conversation.
#[test]
fn json_lines_and_documents_are_read() {
    let ended = run(&["plan", "-", "--json"], &format!("{CHAT}\n\n{CHAT}\n"));
    assert_eq!(json_lines(&ended.out).len(), 2);
    let pretty =
        serde_json::to_string_pretty(&serde_json::from_str::<Value>(CHAT).unwrap()).unwrap();
    let ended = run(&["plan", "-", "--json"], &pretty);
    assert_eq!(json_lines(&ended.out).len(), 1, "messages over several lines are written on one");
    let ended = run(&["plan", "-"], &format!("{CHAT}\n{CHAT}\n"));
    assert_eq!(ended.out.lines().count(), 2, "for people too: {}", ended.out);
}

#[test]
fn at_plans_the_call_after_the_first_messages() {
    let ended = run(&["plan", &example(), "--json", "--at", "3"], "");
    let plan = &json_lines(&ended.out)[0];
    assert_eq!(
        plan["messages"].as_array().unwrap().len(),
        5,
        "of two calls one has a result: the other gets one"
    );
    let ended = run(&["plan", &example(), "--json", "--at", "100000"], "");
    assert_eq!(ended.code, 0);
}

/// Bad input: exit status 2, nothing on the output, line and column in the message.
#[test]
fn bad_input_is_refused_with_line_and_column() {
    let cases = [
        ("{\"messages\": [}", "line 1, column 15"),
        ("\n\n  nonsense", "line 3, column 4"),
        ("", "line 1, column 1"),
        ("{\"a\":1}", "line 1, column 1: not a conversation"),
        (
            "[{\"role\":\"user\",\"content\":\"x\"},\n{\"role\":3}]",
            "line 2, column 1: not a conversation: message 2",
        ),
    ];
    for (text, position) in cases {
        let ended = run(&["plan", "-", "--json"], text);
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{text:?}");
        assert!(ended.err.contains(position), "{text:?}: {}", ended.err);
    }
    let ended = run(&["plan", "-", "--json"], &format!("{CHAT}\n{CHAT}\n{{\"messages\": 7}}\n"));
    assert_eq!(
        (ended.code, ended.out.as_str()),
        (2, ""),
        "with an invalid third line nothing is printed"
    );
    assert!(ended.err.contains("line 3, column 14"), "{}", ended.err);
}

#[test]
fn invalid_utf8_is_refused_with_line_and_column() {
    let output =
        waterline().args(["plan", "-"]).write_stdin(b"[\n \xff\xfe]".to_vec()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.contains("line 2, column 2"), "{err}");
}

#[test]
fn invalid_arguments_are_refused_with_the_allowed_values() {
    let cases: [(&[&str], &str); 6] = [
        (&["plan", "-", "--policy", "autox"], "auto, window, init"),
        (&["plan", "-", "--set", "window.tokens=200%"], "\"0%\" to \"100%\""),
        (&["plan", "-", "--set", "window"], "key=value"),
        (&["plan", "-", "--window", "lots"], "8000, 8k or 1m"),
        (&["plan", "-", "--to", "openai"], "openai-chat"),
        (&["plan", "/no/such/file"], "/no/such/file"),
    ];
    for (arguments, hint) in cases {
        let ended = run(arguments, CHAT);
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{arguments:?}");
        assert!(ended.err.contains(hint), "{arguments:?}: {}", ended.err);
    }
}

/// S0.26, S0.28, E.12: the window of AgentGraph's users, from the environment.
#[test]
fn e12_max_message_history() {
    let planned = |value: Option<&str>| {
        let mut command = waterline();
        command.args(["plan", "-", "--policy", "window", "--json"]);
        if let Some(value) = value {
            command.env("MAX_MESSAGE_HISTORY", value);
        }
        let turns: Vec<String> = (0..120)
            .map(|at| {
                format!(
                    r#"{{"role":"{}","content":"message {at}"}}"#,
                    if at % 2 == 0 { "user" } else { "assistant" }
                )
            })
            .collect();
        let output = command.write_stdin(format!("[{}]", turns.join(","))).output().unwrap();
        let kept = serde_json::from_slice::<Value>(&output.stdout)
            .map_or(0, |plan| plan["messages"].as_array().unwrap().len());
        (output.status.code().unwrap(), kept, String::from_utf8(output.stderr).unwrap())
    };
    for refused in ["9", "101", "abc", ""] {
        let (code, _, err) = planned(Some(refused));
        assert_eq!(code, 2, "{refused:?}");
        assert!(err.contains("MAX_MESSAGE_HISTORY") && err.contains("from 10 to 100"), "{err}");
    }
    assert_eq!(planned(Some("10")).1, 10);
    assert_eq!(planned(Some("100")).1, 100);
    assert_eq!(planned(None).1, 40);
}

/// S0.30: the four recommended numbers. S3.29: what a user sets is what `policy show` prints.
#[test]
fn s0_30_policy_show_prints_the_recommended_numbers_and_what_is_set() {
    let bare = run(&["policy", "show", "window"], "").out;
    for number in ["20 simple", "40 general", "60 complex", "100 research"] {
        assert!(bare.contains(number), "{bare}");
    }
    let with = |preset: &str, variables: &[(&str, &str)]| {
        let mut command = waterline();
        command.args(["policy", "show", preset]).envs(variables.iter().copied());
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let window = with("window", &[("MAX_MESSAGE_HISTORY", "60")]);
    assert!(window.contains("messages = 60") && !window.contains("messages = 40"), "{window}");
    let budget = with(
        "budget",
        &[
            ("TARGET_USAGE_RATIO", "0.5"),
            ("COMPRESS_TOOL_OUTPUT", "False"),
            ("ENABLE_CONTEXT_OPTIMIZATION", "false"),
        ],
    );
    for line in ["target = \"50%\"", "on = false", "when = \"window\""] {
        assert!(budget.contains(line), "{budget}");
    }
}

#[test]
fn policies_are_listed_printed_and_checked() {
    let listed = run(&["policy", "list"], "").out;
    for name in ["auto", "window", "init", "execute", "chat", "budget", "dual-track"] {
        assert!(listed.lines().any(|line| line.starts_with(name)), "{name}");
        let shown = run(&["policy", "show", name], "").out;
        let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
        std::fs::write(file.path(), &shown).unwrap();
        let checked = run(&["policy", "check", file.path().to_str().unwrap()], "");
        assert_eq!(checked.code, 0, "{}", checked.err);
        let planned =
            run(&["plan", "-", "--json", "--policy", file.path().to_str().unwrap()], CHAT);
        assert_eq!(planned.code, 0, "{}", planned.err);
    }
    let shown = run(&["policy", "show", "window", "--set", "window.messages=60"], "").out;
    assert!(shown.contains("messages = 60"), "{shown}");
    let refused = run(&["policy", "show", "window", "--set", "window.messages=101"], "");
    assert!(
        refused.code == 2
            && refused.err.contains("window.messages = 101")
            && refused.err.contains("from 10 to 100"),
        "{}",
        refused.err
    );
}

#[test]
fn tokens_are_counted_by_part_and_method() {
    let ended = run(&["tokens", "-", "--json"], CHAT);
    let counted = &json_lines(&ended.out)[0];
    assert_eq!(
        (counted["tokens"].as_u64(), counted["exact"].as_bool()),
        (Some(10), Some(true)),
        "{counted}"
    );
    let ended = run(&["tokens", "-", "--with", "init-execute"], CHAT);
    assert!(ended.out.starts_with("3 tokens (init-execute)"), "{}", ended.out);
    let ended = run(&["tokens", "-", "--model", "no-such-model"], CHAT);
    assert!(ended.out.contains("unknown model \"no-such-model\""), "{}", ended.out);
}

/// A model that the config describes is as good as one of the built-in table.
#[test]
fn models_of_the_config_are_known_to_plan_and_tokens() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("waterline");
    std::fs::create_dir(&directory).unwrap();
    let text = "[models.mine]\ntokenizer = \"o200k\"\noutput = 1000\n";
    std::fs::write(directory.join("config.toml"), text).unwrap();
    let ended = |arguments: &[&str]| {
        let mut command = waterline();
        command.env("XDG_CONFIG_HOME", home.path()).args(arguments).write_stdin(CHAT);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let counted = &json_lines(&ended(&["tokens", "-", "--model", "mine", "--json"]))[0];
    assert_eq!(
        (counted["tokens"].as_u64(), counted["exact"].as_bool()),
        (Some(10), Some(true)),
        "{counted}"
    );
    let planned = &json_lines(&ended(&["plan", "-", "--model", "mine", "--json"]))[0];
    assert_eq!(planned["warnings"], serde_json::json!([]), "{planned}");
    let planned = &json_lines(&ended(&["plan", "-", "--model", "other", "--json"]))[0];
    assert!(planned["warnings"][0].as_str().unwrap().contains("unknown model"), "{planned}");
}

#[test]
fn check_reports_what_a_provider_would_refuse() {
    let orphan =
        r#"[{"role":"user","content":"x"},{"role":"tool","tool_call_id":"a","content":"y"}]"#;
    let ended = run(&["check", "-", "--wire", "openai-chat"], orphan);
    assert_eq!(ended.code, 1);
    assert!(
        ended.out.contains("message 2: a result for \"a\" without a call right before it (V1)"),
        "{}",
        ended.out
    );
    let ended = run(&["check", "-", "--json"], orphan);
    let violation = &json_lines(&ended.out)[0]["violations"][0];
    assert_eq!((&violation["rule"], &violation["message"]), (&"V1".into(), &2.into()));
    // The system prompt has no number.
    let prompted = orphan.replacen('[', r#"[{"role":"system","content":"s"},"#, 1);
    let checked = &json_lines(&run(&["check", "-", "--json"], &prompted).out)[0];
    let found = (&checked["messages"], &checked["violations"][0]["message"]);
    assert_eq!(found, (&2.into(), &2.into()));
    assert_eq!(run(&["check", "-"], "not json").code, 2);
}

/// Content must not control the terminal.
#[test]
fn control_characters_do_not_reach_the_terminal() {
    let ended =
        run(&["plan", "-"], r#"[{"role":"user","content":"\u001b[2J\u001b]0;owned\u0007 hi"}]"#);
    assert!(
        ended.out.contains("owned")
            && !ended.out.contains('\u{1b}')
            && !ended.out.contains('\u{7}'),
        "{:?}",
        ended.out
    );
}

#[test]
fn every_command_has_help_in_both_languages() {
    for command in listed_commands().iter().filter(|name| *name != "help") {
        let english = run(&[command, "--help"], "");
        assert!(english.code == 0 && english.out.contains("Usage: waterline"), "{command}");
        let chinese = run(&[command, "--help", "--lang", "zh"], "");
        assert!(chinese.code == 0 && chinese.out.contains("用法: waterline"), "{command}");
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

/// Returns the first line that is prose without a Chinese character.
fn english_line(text: &str) -> Option<&str> {
    let prose = regex::Regex::new("[A-Za-z]{2,} [A-Za-z]{2,}").unwrap();
    let chinese = regex::Regex::new(r"\p{Han}").unwrap();
    text.lines().find(|line| prose.is_match(line) && !chinese.is_match(line))
}

#[test]
fn chinese_output_has_no_english_lines() {
    let irregular = [
        vec!["plan", "-"],
        vec!["plan", "-", "--window", "60"],
        vec!["plan", "-", "--to", "anthropic", "--policy", "dual-track"],
        vec!["check", "-"],
        vec!["tokens", "-"],
        vec!["check", "-", "--wire", "anthropic"],
        vec!["check", "-", "--wire", "gemini"],
    ];
    let example = example();
    let others = [
        vec!["plan", &example, "--why"],
        vec!["policy", "list"],
        vec!["policy", "keys"],
        vec!["policy", "check", "dual-track"],
        vec!["policy", "check", "window", "--set", "window.messages=5"],
        vec!["policy", "check", "window", "--set", "halve.turns=5"],
        vec!["policy", "check", "window", "--set", "fold=5"],
        vec!["policy", "check", "budget", "--set", "fold.low=60000"],
        vec!["plan", "/no/such/file"],
        vec!["plan"],
        vec!["plan", "-", "--nothing"],
        vec!["plan", "-", "--json", "--why"],
        vec!["nothing"],
        vec!["doctor"],
    ];
    let inputs = irregular.iter().map(|line| (line, IRREGULAR));
    for (line, input) in inputs.chain(others.iter().map(|line| (line, ""))) {
        let ended = run(&[line.as_slice(), &["--lang", "zh"]].concat(), input);
        let shown = ended.out + &ended.err;
        assert!(!shown.is_empty(), "{line:?}");
        assert_eq!(english_line(&shown), None, "{line:?}: {shown}");
    }
    for input in ["[1]", "{\"messages\": 3}", "{", "[{\"role\": \"owner\"}]", "{\"a\": 1}"] {
        let ended = run(&["plan", "-", "--lang", "zh"], input);
        assert_eq!((ended.code, english_line(&ended.err)), (2, None), "{input}: {}", ended.err);
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

/// Returns the commands that `--help` lists.
fn listed_commands() -> Vec<String> {
    let help = run(&["--help"], "").out;
    let lines = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| {
        line.strip_prefix("  ")?.split(' ').next().filter(|name| !name.is_empty())
    });
    names.map(str::to_owned).collect()
}

#[test]
fn completions_include_every_command_in_every_shell() {
    let commands = listed_commands();
    assert!(commands.iter().any(|name| name == "chat") && commands.len() > 10, "{commands:?}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(&["completions", shell], "");
        assert_eq!(script.code, 0, "{}", script.err);
        for command in &commands {
            assert!(script.out.contains(command.as_str()), "{shell}: {command}");
        }
        assert!(script.out.contains("resume"), "{shell}: the flags of a command");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let commands = listed_commands();
    let page = run(&["man"], "").out;
    assert!(page.contains(".TH") && page.contains("waterline"), "{page}");
    let directory = tempfile::tempdir().unwrap();
    let pages = directory.path().join("man1");
    let written = run(&["man", pages.to_str().unwrap()], "");
    assert_eq!(written.code, 0, "{}", written.err);
    for command in commands.iter().filter(|name| *name != "help") {
        assert!(
            page.contains(&format!("waterline\\-{command}")),
            "{command} in the page of the program"
        );
        let page = std::fs::read_to_string(pages.join(format!("waterline-{command}.1"))).unwrap();
        assert!(page.contains("SYNOPSIS"), "{command}");
    }
}

/// A question set with two users, whose notes are the sessions.
const QUESTIONS: &str = concat!(
    r#"{"turns":[{"id":"a","session":1,"time":"2024-03-05","speaker":"user1","text":"Anna "#,
    r#"moved to Lisbon with her cat."},{"id":"b","session":2,"time":"2024-03-06","#,
    r#""speaker":"user2","text":"Ben bought a telescope."},{"id":"c","session":1,"#,
    r#""time":"2024-04-01","speaker":"user1","text":"The garden needs water."}],"#,
    r#""queries":[{"question":"Where does the cat live?","category":"place","evidence":["a"],"#,
    r#""user":1},{"question":"Which instrument did he buy? A telescope?","evidence":["b"],"#,
    r#""user":2},{"question":"Who has no answer?","evidence":[],"user":1}]}"#
);

#[test]
fn bench_recall_measures_a_question_set() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("notes.jsonl");
    std::fs::write(&file, format!("{QUESTIONS}\n\n")).unwrap();
    let file = file.to_str().unwrap();
    let ended = run(&["bench", "recall", file, "--json"], "");
    assert_eq!(ended.code, 0, "{}", ended.err);
    let sets = &json_lines(&ended.out)[0]["sets"];
    let names: Vec<&str> =
        sets.as_array().unwrap().iter().map(|set| set["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["notes", "notes, asker's", "notes, index per user"]);
    assert_eq!(sets[0]["queries"], 2);
    for figure in ["recall@5", "recall@10", "recall@20", "hit@10", "mrr", "recall_2k_tokens"] {
        assert_eq!(sets[0]["keyword"][figure], 100.0, "{figure}");
    }
    assert!(sets[0]["vector"].is_null() && sets[0]["hybrid"].is_null());
    let table = run(&["bench", "recall", file], "").out;
    assert!(table.contains("notes, asker's") && table.contains("100.0"), "{table}");
}

#[test]
fn bench_recall_names_the_line_that_is_not_a_conversation() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("notes.jsonl");
    std::fs::write(&file, format!("{QUESTIONS}\n{{\"turns\":[]}}\n")).unwrap();
    let ended = run(&["bench", "recall", file.to_str().unwrap()], "");
    assert_eq!(ended.code, 2, "{}", ended.out);
    assert!(ended.err.contains("line 2") && ended.err.contains("queries"), "{}", ended.err);
}
