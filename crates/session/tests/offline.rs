//! The built-in model: it quotes, carries out plain requests, and says what it is.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod place;

use std::sync::Arc;

use place::{Place, policy, silent, user};
use waterline::message::Message;
use waterline_provider::answer::Stop;
use waterline_provider::wire::Tool;
use waterline_session::memory::DayFiles;
use waterline_session::{Candidate, Live, OFFLINE, Setup};

fn tool(name: &str) -> Tool {
    let json = format!(r#"{{"type":"function","function":{{"name":"{name}","parameters":{{}}}}}}"#);
    Tool { name: name.to_owned(), description: None, schema: Some("{}".to_owned()), json }
}

async fn live(place: &Place) -> Live {
    let memory = DayFiles::new(place.0.path().join("memory"));
    let setup = Setup {
        tools: vec![tool("list_files"), tool("read_file")],
        memory: Some(Arc::new(memory)),
        ..Setup::new(Candidate::offline(), policy("auto", &[]))
    };
    place.open(setup).await
}

async fn say(live: &mut Live, text: &str) -> String {
    live.call(user(text), silent).await.unwrap().messages[0].text()
}

#[tokio::test]
async fn it_quotes_what_was_said_and_says_what_it_is() {
    let place = Place::new();
    let mut live = live(&place).await;
    assert_eq!(live.model().name, OFFLINE);
    let first = say(&mut live, "The door code of the mill is 4711.").await;
    assert!(first.contains("no language model is connected") && first.contains("ANTHROPIC_API_KEY"), "{first}");
    let answer = say(&mut live, "what is the door code?").await;
    assert!(answer.contains("message 1, user: The door code of the mill is 4711."), "{answer}");
    assert!(answer.contains("I can only quote"), "{answer}");
    let nothing = say(&mut live, "zebra?").await;
    assert!(nothing.starts_with("Nothing in this session"), "{nothing}");
}

#[tokio::test]
async fn it_remembers_across_sessions() {
    let place = Place::new();
    let answer = say(&mut live(&place).await, "Remember that the anniversary is in October").await;
    assert_eq!(answer, "I wrote it down: the anniversary is in October");
    place.log().create(waterline_log::Session::new("t")).unwrap();
    let memory = DayFiles::new(place.0.path().join("memory"));
    let setup = Setup { memory: Some(Arc::new(memory)), ..Setup::new(Candidate::offline(), policy("auto", &[])) };
    let mut other = Live::open(place.log(), "t", setup).await.unwrap();
    let answer = say(&mut other, "when is the anniversary?").await;
    assert!(answer.contains("memory, ") && answer.contains("the anniversary is in October"), "{answer}");
}

#[tokio::test]
async fn it_calls_the_tools_for_plain_requests_and_reports() {
    let place = Place::new();
    let mut live = live(&place).await;
    let answer = live.call(user("read notes.txt"), silent).await.unwrap();
    assert_eq!(answer.stop, Stop::Calls);
    let call = answer.messages[0].calls().next().unwrap().clone();
    assert_eq!((call.name.as_str(), call.arguments.as_str()), ("read_file", r#"{"path":"notes.txt"}"#));
    let result = vec![Message::result_of(call.id, "milk, bread", false)];
    let answer = live.call(result, silent).await.unwrap();
    assert!(answer.messages[0].text().contains("says:\nmilk, bread"), "{}", answer.messages[0].text());
    let answer = live.call(user("list files in src"), silent).await.unwrap();
    assert_eq!(answer.messages[0].calls().next().unwrap().arguments, r#"{"path":"src"}"#);
}
