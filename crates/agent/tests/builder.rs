//! The agent builder: the session it chooses, what is stored in it, and what the session keeps.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod test_bed;

use serde_json::json;
use test_bed::{TestBed, bash, calls, model, says};
use waterline_agent::{Agent, AgentBuilder, AgentError, Start, StartNotice, UserInput};
use waterline_log::LogError;

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_created_resumed_and_forked() {
    let bed = TestBed::new();
    let server = model(vec![says("one"), says("two")]);
    let builder = || AgentBuilder::new(bed.log(), bed.config(&server));
    let missing = builder().start(Start::Resume("mill".to_owned())).prepare().await.err().unwrap();
    assert!(matches!(missing, AgentError::Log(LogError::NoSession { .. })), "{missing}");
    let none = builder().start(Start::Latest).prepare().await.err().unwrap();
    assert!(matches!(none, AgentError::NoSession), "{none}");

    let opened = builder().start(Start::Open("mill".to_owned())).prepare().await.unwrap();
    assert!(
        opened.is_new
            && opened.session.policy.as_deref() == Some("auto")
            && opened.notices.is_empty()
    );
    let mut agent = opened.runner(bed.watcher.clone()).await.unwrap().agent;
    agent.turn(UserInput::new("hello")).await.unwrap();
    drop(agent);
    let latest = builder().start(Start::Latest).prepare().await.unwrap();
    assert!(latest.session.id == "mill" && !latest.is_new);
    let fork = builder()
        .start(Start::Fork { of: "mill".to_owned(), at: Some(2) })
        .prepare()
        .await
        .unwrap();
    assert!(fork.is_new && fork.session.parent.as_deref() == Some("mill"));
    assert_eq!(fork.session.tip.position(), 2);
}

/// The caller's choices are stored; what an existing session keeps is reported.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_keeps_its_prompt_and_role_and_reports_a_model_change() {
    let bed = TestBed::new();
    let server = model(vec![says("one")]);
    let mut config = bed.config(&server);
    config.policies.caller = Some("chat".to_owned());
    let roles = waterline_agent::role::find(&[]).unwrap();
    config.roles = roles;
    let builder =
        || AgentBuilder::new(bed.log(), config.clone()).start(Start::Open("mill".to_owned()));
    let opened = builder()
        .prompt(Some("Be brief".to_owned()))
        .role(Some("init".to_owned()))
        .prepare()
        .await
        .unwrap();
    assert_eq!((opened.notices.len(), opened.session.policy.as_deref()), (0, Some("chat")));
    drop(opened.runner(bed.watcher.clone()).await.unwrap());

    config.session.model.name = "other".to_owned();
    let builder =
        || AgentBuilder::new(bed.log(), config.clone()).start(Start::Open("mill".to_owned()));
    let again = builder()
        .prompt(Some("Be long".to_owned()))
        .role(Some("execute".to_owned()))
        .prepare()
        .await
        .unwrap();
    let role = StartNotice::Role { own: "init".to_owned(), asked: "execute".to_owned() };
    let model = StartNotice::Model { before: "m".to_owned(), now: "other".to_owned() };
    assert_eq!(again.notices, [StartNotice::Prompt, role, model]);
    assert_eq!(again.session.model.as_deref(), Some("other"));
    let unknown = builder().role(Some("chef".to_owned())).prepare().await.err().unwrap();
    assert!(unknown.to_string().contains("init, execute"), "{unknown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_that_does_not_exist_creates_no_session() {
    let bed = TestBed::new();
    let server = model(vec![]);
    let mut config = bed.config(&server);
    config.policies.caller = Some("nothing".to_owned());
    let refused =
        AgentBuilder::new(bed.log(), config).start(Start::Open("mill".to_owned())).prepare().await;
    assert!(refused.err().unwrap().to_string().contains("nothing"));
    assert!(bed.log().lookup("mill").unwrap().is_none());
}

/// An agent from code alone: a log, a directory, a model and a tool.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_needs_a_log_a_directory_and_a_model() {
    let bed = TestBed::new();
    let server = model(vec![bash("true"), calls("now", json!({})), says("late")]);
    let directory = bed.directory.path().join("own");
    let builder = || Agent::builder(bed.log(), &directory, "m", server.clone()).unwrap();
    let mut agent = builder().session("mill").policy("chat").open().await.unwrap();
    assert_eq!(agent.live().policy().name, "chat");
    let outcome = agent.turn("what time is it?").await.unwrap();
    assert_eq!((outcome.text.as_str(), outcome.steps), ("late", 3));
    let story = bed.story("mill");
    assert!(story[2].contains("Unknown tool \"run_bash_command\""), "{story:?}");
    assert!(directory.join("mill").is_dir());
    drop(agent);
    let policy = waterline::policy::Policy::preset("window").unwrap();
    let shell = waterline_sandbox::Shell::unconfined();
    let own =
        builder().session("own").policy(policy).commands(shell).unwrap().open().await.unwrap();
    assert_eq!(own.live().policy().name, "window");
    assert!(own.config().toolbox.find("run_bash_command").is_some());
}
