//! Which calls somebody is asked about.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod place;

use place::{Place, calls, model, says};
use serde_json::{Value, json};
use waterline_agent::Said;
use waterline_agent::approval::{Approval, Asked, Decision, Mode, Ruling, rule};
use waterline_agent::tool::Nature;
use waterline_log::State;

fn confined() -> Approval {
    Approval { confined: true, ..Approval::default() }
}

fn decide(approval: &Approval, tool: &str, nature: Nature, arguments: &Value) -> Decision {
    let arguments = arguments.to_string();
    approval.decide(Asked { tool, nature, arguments: &arguments }, &State::default())
}

fn bash(approval: &Approval, command: &str) -> Decision {
    decide(approval, "run_bash_command", Nature::Runs, &json!({"command": command}))
}

fn write(approval: &Approval, path: &str) -> Decision {
    decide(approval, "write_file", Nature::Writes, &json!({"path": path, "content": "x"}))
}

fn is_asked(decision: &Decision) -> bool {
    matches!(decision, Decision::Ask { .. })
}

/// A rule that lets calls run is held against what a call does, and not against words beside it.
#[test]
fn a_rule_allows_what_it_was_written_for() {
    let allows = |tool: &str, pattern: &str| {
        let rules = vec![rule(tool, pattern, Ruling::Allow).unwrap()];
        Approval { mode: Mode::All, rules, ..confined() }
    };
    let approval = allows("run_bash_command", "^cargo (test|build)$");
    assert_eq!(bash(&approval, "cargo test"), Decision::Run);
    assert!(is_asked(&bash(&approval, "cargo test\nrm -rf /")));
    let beside = json!({"command": "sudo -n true; rm -rf /", "why": "cargo test"});
    assert!(is_asked(&decide(&approval, "run_bash_command", Nature::Runs, &beside)));

    let approval = allows("write_file", "^outputs/");
    assert_eq!(write(&approval, "./outputs/a.txt"), Decision::Run);
    assert!(is_asked(&write(&approval, "outputs/../.bashrc")));
    let beside = json!({"path": ".bashrc", "content": "outputs/ evil"});
    assert!(is_asked(&decide(&approval, "write_file", Nature::Writes, &beside)));

    let approval = allows("*", "^safe");
    let tool = |arguments: &Value| decide(&approval, "t__x", Nature::Reaches, arguments);
    assert_eq!(tool(&json!({"a": "safe 1", "b": ["safe 2"], "c": 3})), Decision::Run);
    assert!(is_asked(&tool(&json!({"a": "safe 1", "b": ["evil"]}))));
    assert!(is_asked(&tool(&json!({}))));
    assert_eq!(decide(&allows("now", ""), "now", Nature::Reads, &json!({})), Decision::Run);
}

/// A rule that keeps calls back needs any text.
#[test]
fn a_rule_forbids_wherever_it_fits() {
    let rules = vec![rule("*", "secret", Ruling::Deny).unwrap(), rule("write_file", r"^\.git/", Ruling::Deny).unwrap()];
    let approval = Approval { mode: Mode::None, rules, ..confined() };
    for arguments in [json!({"command": "cat secret"}), json!({"command": "ls", "why": ["the secret"]})] {
        let decision = decide(&approval, "run_bash_command", Nature::Runs, &arguments);
        assert!(matches!(decision, Decision::Refuse(_)), "{arguments}");
    }
    assert!(matches!(write(&approval, "x/..//.git/HEAD"), Decision::Refuse(_)));
}

/// Where the kernel does not confine commands, nothing but a person stands before them.
#[test]
fn commands_that_are_not_confined_are_asked_about_in_every_mode() {
    for mode in [Mode::All, Mode::Selective, Mode::Custom, Mode::None] {
        let mut approval = Approval { mode, confined: false, ..Approval::default() };
        let Decision::Ask { reason, may_always: true } = bash(&approval, "ls") else { panic!("{mode:?}") };
        assert!(mode == Mode::All || reason.contains("does not confine"), "{mode:?}: {reason}");

        let (mut state, arguments) = (State::default(), json!({"command": "ls"}).to_string());
        let asked = Asked { tool: "run_bash_command", nature: Nature::Runs, arguments: &arguments };
        Approval::note_always(asked, &mut state);
        assert_eq!(approval.decide(asked, &state), Decision::Run, "{mode:?}: always");
        approval.rules = vec![rule("run_bash_command", "^ls$", Ruling::Allow).unwrap()];
        assert_eq!(bash(&approval, "ls"), Decision::Run, "{mode:?}: a rule");
        assert!(is_asked(&bash(&approval, "ls -a")), "{mode:?}");
    }
    let approval = Approval { mode: Mode::None, ..confined() };
    assert_eq!(bash(&approval, "git push"), Decision::Run);
}

/// Nobody is asked about a call that cannot be made.
#[tokio::test]
async fn a_call_of_no_tool_fails_before_anybody_is_asked() {
    let place = Place::new();
    let server = model(vec![
        calls("call_tool", json!({})),
        calls("call_tool", json!({"name": "call_tool", "arguments": {"name": "now"}})),
        calls("call_tool", json!({"name": "nothing"})),
        says("then not"),
    ])
    .await;
    place.agent(&server).await.turn(Said::new("go")).await.unwrap();
    assert!(place.watcher.requests.lock().unwrap().is_empty());
    let story = place.story("s");
    assert!(
        story[2].contains("the name of another tool") && story[4].contains("the name of another tool"),
        "{story:?}"
    );
    assert!(story[6].contains("failed: ") && story[6].contains("nothing"), "{story:?}");
}
