//! A pointer to a model is a model: it forwards every method.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use std::sync::Arc;

use futures_util::future::BoxFuture;
use waterline::{Message, Wire};
use waterline_provider::{
    Answer, Endpoint, Event, EventStream, Model, ModelFacts, Request, Stop, ask, wire,
};

/// A model that differs from the defaults of the trait in every method.
struct Odd;

impl Model for Odd {
    fn call(&self, _: Request<'_>) -> EventStream {
        let messages = vec![Message::assistant("odd")];
        let answer = Answer { messages, stop: Stop::End, ..Answer::default() };
        Box::pin(futures_util::stream::iter([Ok(Event::Answer(answer))]))
    }

    fn wire(&self) -> Wire {
        Wire::ANTHROPIC
    }

    fn address(&self) -> &str {
        "odd.example"
    }

    fn provider(&self) -> &str {
        "odd"
    }

    fn takes_shape(&self, with_tools: bool) -> bool {
        with_tools
    }

    fn can_summarize(&self) -> bool {
        false
    }

    fn facts<'a>(&'a self, _: &'a str) -> BoxFuture<'a, ModelFacts> {
        let mut facts = ModelFacts::default();
        facts.window = Some(7);
        Box::pin(std::future::ready(facts))
    }
}

async fn check(model: impl Model) {
    assert_eq!((model.wire(), model.address()), (Wire::ANTHROPIC, "odd.example"));
    assert_eq!((model.provider(), model.can_summarize()), ("odd", false));
    assert!(model.takes_shape(true) && !model.takes_shape(false));
    assert_eq!(model.facts("m").await.window, Some(7));
    let messages = [Message::user("hello")];
    let messages: Vec<&Message> = messages.iter().collect();
    let context = wire::render(Wire::ANTHROPIC, &messages);
    let answer = ask(&model, Request::new("m", &messages, &context), |_| ()).await.unwrap();
    assert_eq!(answer.text(), "odd");
}

#[tokio::test]
async fn pointers_forward_every_method() {
    let shared: Arc<dyn Model> = Arc::new(Odd);
    check(shared).await;
    let owned: Box<dyn Model> = Box::new(Odd);
    check(owned).await;
}

#[test]
fn providers_have_constructors() {
    let wires = [Endpoint::openai("k"), Endpoint::anthropic("k"), Endpoint::gemini("k")]
        .map(|endpoint| endpoint.unwrap().wire());
    assert_eq!(wires, [Wire::OPENAI_CHAT, Wire::ANTHROPIC, Wire::GEMINI]);
    assert!(Endpoint::openai("line\nbreak").is_err());
}
