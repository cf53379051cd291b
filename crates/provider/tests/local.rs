//! Discovery of local model servers and their context windows.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use waterline::message::Wire;
use waterline_provider::Model as _;
use waterline_provider::http::{Endpoint, Key, Timeouts};
use waterline_provider::local::{find, models};
use waterline_testkit::server::{Received, Reply, Server};

async fn server(paths: &[(&'static str, &'static str)]) -> Server {
    let paths = paths.to_vec();
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
        ("llama.cpp", "qwen", Some(8_192))
    );
    assert_eq!(found.base, llama.url);
    assert_eq!(models(&format!("{}/v1/", llama.url)).await, ["nomic-embed", "qwen"]);
    assert!(models(&page.url).await.is_empty() && models(closed).await.is_empty());
    assert_eq!(find(&[("a", closed), ("b", &page.url)]).await, None);
}

/// Asks a server that has these pages for the window of `phi`.
async fn window(paths: &[(&'static str, &'static str)]) -> Option<usize> {
    let server = server(paths).await;
    let endpoint =
        Endpoint::new(Wire::OPENAI_CHAT, Some(&server.url), None, Timeouts::default()).unwrap();
    endpoint.facts("phi").await.window
}

#[tokio::test]
async fn every_server_program_reports_its_window() {
    let plain = ("/v1/models", r#"{"data":[{"id":"phi"}]}"#);
    assert_eq!(window(&[plain]).await, None, "it reports none");
    let vllm = r#"{"data":[{"id":"other","max_model_len":1},{"id":"phi","max_model_len":32768}]}"#;
    assert_eq!(window(&[("/v1/models", vllm)]).await, Some(32_768), "vLLM");
    assert_eq!(
        window(&[plain, ("/props", r#"{"default_generation_settings":{"n_ctx":8192}}"#)]).await,
        Some(8_192),
        "llama.cpp"
    );
    let studio = r#"{"data":[{"id":"phi","max_context_length":131072}]}"#;
    assert_eq!(window(&[plain, ("/api/v0/models", studio)]).await, Some(131_072));
    let loaded =
        r#"{"data":[{"id":"phi","loaded_context_length":16384,"max_context_length":131072}]}"#;
    assert_eq!(window(&[plain, ("/api/v0/models", loaded)]).await, Some(16_384));
    let running = r#"{"models":[{"name":"phi:latest","context_length":8192}]}"#;
    assert_eq!(window(&[plain, ("/api/ps", running)]).await, Some(8_192), "Ollama");
    let shown = concat!(
        r#"{"parameters":"stop \"x\"\nnum_ctx    6144","#,
        r#""model_info":{"phi.context_length":131072}}"#
    );
    assert_eq!(window(&[plain, ("/api/show", shown)]).await, Some(6_144), "Ollama");
}

#[tokio::test]
async fn prices_and_windows_of_a_router_are_read_with_the_key() {
    let list = r#"{"data":[{"id":"x/y","context_length":131072,
        "pricing":{"prompt":"0.0000003","completion":"0.0000012","input_cache_read":"0.00000003"}}]}"#;
    let script = move |received: &Received| match received.header("authorization") {
        Some("Bearer secret") if received.path == "/api/v1/models" => Reply::status(200, list),
        _ => Reply::status(401, "no"),
    };
    let server = Server::start(script).await.unwrap();
    let base = format!("{}/api/v1", server.url);
    let key = Some(Key::new("secret"));
    let endpoint = Endpoint::new(Wire::OPENAI_CHAT, Some(&base), key, Timeouts::default()).unwrap();
    let facts = endpoint.facts("x/y").await;
    assert_eq!(facts.window, Some(131_072));
    let price = facts.price.unwrap();
    assert!((price.input - 0.3).abs() < 1e-9 && (price.output - 1.2).abs() < 1e-9, "{price:?}");
    assert!((price.cached.unwrap() - 0.03).abs() < 1e-9 && price.written.is_none());
    assert_eq!(endpoint.facts("z").await.window, None);
}
