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
        ended.out.contains("tokens, more than the 6,144 available for the prompt"),
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
    assert!(!ended.out.contains('\u{1b}'), "no colors without a terminal");
}

#[test]
fn plan_explains_the_distance_to_the_low_mark() {
    let set = ["--set", "window.tokens=10%", "--set", "fold.low=80%"];
    let ended = run(&[["plan", &example()].as_slice(), &set].concat(), "");
    let explained = ended.out.lines().find(|line| line.contains("below the low mark: "));
    let explained = explained.unwrap_or_else(|| panic!("{}{}", ended.out, ended.err));
    assert!(
        explained.contains("stage window (window.tokens = 10%) was the last to drop messages, "),
        "{explained}"
    );
    assert!(ended.out.contains("\nthe summary block uses "), "{}", ended.out);
    let ended = run(&[["plan", &example(), "--json"].as_slice(), &set].concat(), "");
    let plan = &json_lines(&ended.out)[0];
    let fold_report = &plan["fold_report"];
    let last = fold_report["effects"].as_array().unwrap().last().unwrap();
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

/// A context over the high mark that a fold would hardly shrink is not said to fit.
#[test]
fn plan_says_that_a_fold_would_free_too_little() {
    let long = "word ".repeat(800);
    let talk = format!(
        r#"{{"messages":[{},{{"role":"user","content":"{long}"}}]}}"#,
        [r#"{"role":"user","content":"hi"},{"role":"assistant","content":"hello"}"#; 4].join(",")
    );
    let set = ["fold.free=10%", "fold.high=100", "window.tokens=100"];
    let planned = |more: &[&str], input: &str| {
        let sets = set.iter().flat_map(|set| ["--set", set]);
        let arguments: Vec<&str> = ["plan", "-", "--policy", "tail"]
            .into_iter()
            .chain(sets)
            .chain(more.to_vec())
            .collect();
        run(&arguments, input).out
    };
    let over = planned(&[], &talk);
    let line = over.lines().find(|line| line.contains("over the high mark")).unwrap();
    let freed: usize = line.split(' ').rev().nth(1).unwrap().parse().unwrap();
    assert!(line.contains("a fold would free only ") && (8..80).contains(&freed), "{over}");
    assert!(!over.contains("everything fits"), "{over}");
    assert!(planned(&["--lang", "zh"], &talk).contains("超过高水位，但未折叠：折叠只能释放"));
    let two = planned(&[], &format!("{talk}\n{talk}\n"));
    assert!(two.lines().all(|line| line.contains("  over ")), "{two}");
    let later = planned(&["--set", "fold.when=window"], &talk);
    assert!(later.contains("everything fits"), "no fold is due: {later}");
    assert!(planned(&["--set", "fold.free=0%"], &talk).contains("folded: "));
    let alone = format!(r#"{{"messages":[{{"role":"user","content":"{long}"}}]}}"#);
    assert!(planned(&[], &alone).contains("a fold would free nothing"));
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

/// S3.30: how tokens are counted can be set for all models, under the names of the seed.
#[test]
fn s3_30_the_counting_method_of_the_settings_is_used_by_plan_and_tokens() {
    let counted = |arguments: &[&str], method: Option<&str>| {
        let mut command = waterline();
        command.args(arguments).write_stdin(CHAT);
        if let Some(method) = method {
            command.env("TOKEN_CALCULATION_METHOD", method);
        }
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    for (model, usual) in [("claude-sonnet-5", "(estimate, "), ("gpt-4", "(cl100k)")] {
        let plan = ["plan", "-", "--model", model];
        assert!(counted(&plan, None).contains(usual), "{}", counted(&plan, None));
        assert!(counted(&plan, Some("estimate")).contains("(estimate, "), "{model}");
        let tokens = counted(&["tokens", "-", "--model", model], Some("estimate"));
        assert!(tokens.contains("(estimate, "), "{tokens}");
    }
    let claude = ["plan", "-", "--model", "claude-sonnet-5"];
    assert!(counted(&claude, Some("tiktoken")).contains("(o200k)"));
    let unknown = ["plan", "-", "--model", "no-such-model"];
    assert!(counted(&unknown, Some("tiktoken")).contains("(o200k)"));
    let with = ["tokens", "-", "--with", "tiktoken", "--model"];
    assert!(counted(&[&with[..], &["gpt-4"]].concat(), None).contains("(cl100k)"));
    assert!(counted(&[&with[..], &["claude-sonnet-5"]].concat(), None).contains("(o200k)"));
    let refused = run(&["tokens", "-", "--with", "words"], CHAT);
    assert!(refused.code == 2 && refused.err.contains("tiktoken"), "{}", refused.err);
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
    let foreign = serde_json::json!({
        "uuid": "u1", "parentUuid": null, "sessionId": "s", "isSidechain": false,
        "type": "user", "message": {"role": "user", "content": "hi"},
    });
    let ended = run(&["check", "-"], &foreign.to_string());
    assert!(ended.code == 2 && ended.err.contains("waterline convert"), "{}", ended.err);
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
        assert!(chinese.code == 0 && chinese.out.contains("用法：waterline"), "{command}");
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

/// Every command says the same of a file that is not JSON.
#[test]
fn a_file_that_is_not_json_is_reported_in_one_wording() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("x.json"), "{\"a\": ").unwrap();
    for line in [
        "plan x.json",
        "check x.json",
        "tokens x.json",
        "convert x.json out.json",
        "replay x.json",
        "run hi --schema x.json",
        "sessions import x.json --db log.db",
    ] {
        let mut program = waterline();
        program.current_dir(directory.path()).env("HOME", directory.path());
        let output = program.args(line.split(' ')).output().unwrap();
        let shown = String::from_utf8(output.stderr).unwrap();
        let expected = "waterline: x.json: line 1, column 6: not JSON: unexpected end of input\n";
        assert_eq!(shown, expected, "{line}");
    }
}

#[test]
fn conversations_without_an_id_are_counted_from_one() {
    let orphan =
        r#"[{"role":"user","content":"x"},{"role":"tool","tool_call_id":"a","content":"y"}]"#;
    let one = run(&["check", "-"], orphan).out;
    assert!(one.starts_with("message 2: "), "{one}");
    let two = run(&["check", "-"], &format!("{orphan}\n{orphan}\n")).out;
    let starts: Vec<&str> =
        two.lines().filter_map(|line| line.split_once(": message")).map(|(id, _)| id).collect();
    assert_eq!(starts, ["1", "2"], "{two}");
    let planned = json_lines(&run(&["plan", "-", "--json"], &format!("{orphan}\n{orphan}\n")).out);
    let ids: Vec<&str> = planned.iter().map(|plan| plan["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["1", "2"]);
}

#[test]
fn values_that_would_do_nothing_are_refused() {
    for (line, expected) in [
        ("run hi --max-tokens 0", "invalid number of tokens"),
        ("run hi --max-tokens x", "invalid number of tokens"),
        ("run hi --log nope=", "is not a filter"),
        ("plan - --at x", "not a number"),
    ] {
        let ended = run(&line.split(' ').collect::<Vec<_>>(), "");
        assert_eq!(ended.code, 2, "{line}");
        assert!(ended.err.contains(expected), "{line}: {}", ended.err);
    }
}

#[test]
fn a_plan_counts_the_tool_definitions_once() {
    let input = r#"{"messages":[{"role":"user","content":"hello"}],"tools":[{"type":"function",
        "function":{"name":"ls","description":"lists files","parameters":{"type":"object"}}}]}"#;
    let out = run(&["plan", "-"], input).out;
    let line = out.lines().find(|line| line.contains(" → ")).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[0], words[2], "{out}");
}
