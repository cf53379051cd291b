//! The offline model: it quotes, carries out simple requests, and says what it is.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

use std::path::Path;
use std::sync::Arc;

use waterline::message::Message;
use waterline::policy::Policy;
use waterline_agent::{Hints, OFFLINE, Offline};
use waterline_log::{Log, Session};
use waterline_memory::Memory;
use waterline_provider::answer::Stop;
use waterline_provider::wire::Tool;
use waterline_session::{LiveSession, SessionConfig};

fn tool(name: &str) -> Tool {
    Tool { name: name.to_owned(), description: None, schema: Some("{}".to_owned()) }
}

fn user(text: &str) -> Vec<Message> {
    vec![Message::user(text)]
}

/// Opens a session with the offline model and a memory next to the log.
async fn live(directory: &Path, session: &str) -> LiveSession {
    let log = Log::open(&directory.join("log.db").display().to_string()).unwrap();
    log.create(Session::new(session)).unwrap();
    let memory = Some(Arc::new(Memory::new(directory.join("memory"))));
    let hints = Hints {
        english: "Set ANTHROPIC_API_KEY.".to_owned(),
        chinese: "请设置 ANTHROPIC_API_KEY。".to_owned(),
    };
    let offline = Offline::new(hints).of_log(log.clone(), memory.clone());
    let config = SessionConfig {
        tools: vec![tool("list_files"), tool("read_file")],
        memory,
        ..SessionConfig::new(offline.target(), Policy::preset("auto").unwrap())
    };
    LiveSession::open(log, session, config).await.unwrap()
}

async fn say(live: &mut LiveSession, text: &str) -> String {
    live.call(user(text), |_| ()).await.unwrap().messages[0].text()
}

#[tokio::test]
async fn it_quotes_earlier_messages_and_says_what_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let mut live = live(directory.path(), "s").await;
    assert_eq!(live.model().name, OFFLINE);
    let first = say(&mut live, "The door code of the mill is 4711.").await;
    assert!(
        first.contains("no language model is connected") && first.contains("ANTHROPIC_API_KEY"),
        "{first}"
    );
    let answer = say(&mut live, "what is the door code?").await;
    assert!(answer.contains("message 1, user: The door code of the mill is 4711."), "{answer}");
    assert!(answer.contains("I can only quote"), "{answer}");
    let nothing = say(&mut live, "zebra?").await;
    assert!(nothing.starts_with("Nothing in this session"), "{nothing}");
}

#[tokio::test]
async fn a_chinese_question_finds_the_answer() {
    let directory = tempfile::tempdir().unwrap();
    let mut live = live(directory.path(), "s").await;
    let first = say(&mut live, "大门密码是4711").await;
    assert!(first.ends_with("请设置 ANTHROPIC_API_KEY。") && !first.contains("Set "), "{first}");
    say(&mut live, "今天天气不错").await;
    let answer = say(&mut live, "大门密码是多少？").await;
    assert!(answer.contains("消息 1，用户：大门密码是4711"), "{answer}");
    let short = say(&mut live, "4711").await;
    assert!(short.contains("消息 1，用户：大门密码是4711"), "{short}");
    assert!(answer.contains("我是离线模型") && !answer.contains("offline model"), "{answer}");
    let remembered = say(&mut live, "记住：周五交货").await;
    assert_eq!(remembered, "已存入记忆：周五交货");
    let found = say(&mut live, "周五有什么事？").await;
    assert!(found.contains("\n- 记忆，") && found.contains("：周五交货"), "{found}");
}

#[tokio::test]
async fn it_remembers_across_sessions() {
    let directory = tempfile::tempdir().unwrap();
    let answer =
        say(&mut live(directory.path(), "s").await, "Remember that the anniversary is in October")
            .await;
    assert_eq!(answer, "Saved to memory: the anniversary is in October");
    let mut other = live(directory.path(), "t").await;
    let answer = say(&mut other, "when is the anniversary?").await;
    assert!(
        answer.contains("memory, ") && answer.contains("the anniversary is in October"),
        "{answer}"
    );
}

#[tokio::test]
async fn it_calls_tools_for_simple_requests_and_reports() {
    let directory = tempfile::tempdir().unwrap();
    let mut live = live(directory.path(), "s").await;
    let answer = live.call(user("read notes.txt"), |_| ()).await.unwrap();
    assert_eq!(answer.stop, Stop::Calls);
    let call = answer.messages[0].calls().next().unwrap().clone();
    assert_eq!(
        (call.name.as_str(), call.arguments.as_str()),
        ("read_file", r#"{"path":"notes.txt"}"#)
    );
    let result = vec![Message::tool_result(call.id, "milk, bread")];
    let answer = live.call(result, |_| ()).await.unwrap();
    assert!(
        answer.messages[0].text().contains("returned:\n```\nmilk, bread\n```"),
        "{}",
        answer.messages[0].text()
    );
    let answer = live.call(user("list files in src"), |_| ()).await.unwrap();
    assert_eq!(answer.messages[0].calls().next().unwrap().arguments, r#"{"path":"src"}"#);
}

/// One model serves many sessions of a log, each with the memory of its owner.
#[tokio::test]
async fn it_quotes_the_memory_of_the_sessions_owner() {
    let directory = tempfile::tempdir().unwrap();
    let log = Log::open(&directory.path().join("log.db").display().to_string()).unwrap();
    let memory = Some(Arc::new(Memory::of_user(directory.path(), None)));
    let offline = Offline::default().of_log(log.clone(), memory.clone());
    let mut answers = Vec::new();
    for user in ["ann", "bob"] {
        let session = Session { user: Some(user.to_owned()), ..Session::new(user) };
        log.create(session).unwrap();
        let policy = Policy::preset("auto").unwrap();
        let config = SessionConfig {
            memory: memory.clone(),
            ..SessionConfig::new(offline.target(), policy)
        };
        let mut live = LiveSession::open(log.clone(), user, config).await.unwrap();
        if user == "ann" {
            say(&mut live, "Remember that the anniversary is in October").await;
        }
        answers.push(say(&mut live, "when is the anniversary?").await);
    }
    assert!(answers[0].contains("memory, "), "{answers:?}");
    assert!(!answers[1].contains("October"), "{answers:?}");
}
