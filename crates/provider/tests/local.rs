//! Discovery of local model servers and their context windows.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use waterline_provider::local::{find, models};
use waterline_testkit::server::{Received, Reply, Server};

async fn server(paths: &'static [(&'static str, &'static str)]) -> Server {
    let script =
        move |received: &Received| match paths.iter().find(|(path, _)| *path == received.path) {
            Some((_, body)) => Reply::status(200, *body),
            None => Reply::status(404, "no such page"),
        };
    Server::start(script).await.unwrap()
}

#[tokio::test]
async fn find_returns_the_first_server_with_a_model_and_its_window() {
    let page =
        server(&[("/", "<html>not a model</html>"), ("/v1/models", "<html>hello</html>")]).await;
    let empty = server(&[("/v1/models", r#"{"data":[]}"#)]).await;
    let llama = server(&[
        ("/v1/models", r#"{"data":[{"id":"nomic-embed"},{"id":"qwen"}]}"#),
        ("/props", r#"{"default_generation_settings":{"n_ctx":8192}}"#),
    ])
    .await;
    let closed = "http://127.0.0.1:9";
    let found =
        find(&[("a", closed), ("b", &page.url), ("c", &empty.url), ("llama.cpp", &llama.url)])
            .await
            .unwrap();
    assert_eq!(
        (found.server.as_str(), found.model.as_str(), found.window),
        ("llama.cpp", "qwen", 8_192)
    );
    assert_eq!(found.base, llama.url);
    assert_eq!(models(&format!("{}/v1/", llama.url)).await, ["nomic-embed", "qwen"]);
    assert!(models(&page.url).await.is_empty() && models(closed).await.is_empty());
    assert_eq!(find(&[("a", closed), ("b", &page.url)]).await, None);
}

#[tokio::test]
async fn server_without_a_reported_window_gets_the_fallback() {
    let ollama = server(&[("/v1/models", r#"{"data":[{"id":"llama3"}]}"#)]).await;
    assert_eq!(find(&[("Ollama", &ollama.url)]).await.unwrap().window, 4_096);
    let studio = server(&[
        ("/v1/models", r#"{"data":[{"id":"phi"}]}"#),
        (
            "/api/v0/models",
            r#"{"data":[{"id":"other","loaded_context_length":1},{"id":"phi","loaded_context_length":16384}]}"#,
        ),
    ])
    .await;
    assert_eq!(find(&[("LM Studio", &studio.url)]).await.unwrap().window, 16_384);
}
