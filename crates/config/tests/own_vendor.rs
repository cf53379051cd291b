//! A provider with a wire of its own is used as the built-in ones are: nothing but its format names
//! it.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

#[path = "../../provider/tests/telegraph/mod.rs"]
mod telegraph;

use std::sync::Arc;

use waterline_config::{Config, Environment, ModelOverrides, Models, key_variables};
use waterline_log::Log;
use waterline_session::{LiveSession, SessionConfig};
use waterline_testkit::server::{Reply, Server};

use telegraph::telegraph;

/// Loads the config of a user with these variables and this file.
fn config(home: &tempfile::TempDir, variables: &[(&str, &str)], file: &str) -> Config {
    let directory = home.path().join(".config/waterline");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("config.toml"), file).unwrap();
    let home = ("HOME", home.path().to_str().unwrap());
    let variables = variables.iter().copied().chain([home]);
    Config::load(Arc::new(Environment::new(directory, variables))).unwrap()
}

#[tokio::test]
async fn the_key_of_a_provider_chooses_its_model() {
    let wire = telegraph();
    let home = tempfile::tempdir().unwrap();
    assert!(key_variables().contains(&"TELEGRAPH_API_KEY"));
    let with_key = config(&home, &[("TELEGRAPH_API_KEY", "stamp")], "");
    assert!(with_key.values().iter().any(|value| value.key == "key TELEGRAPH_API_KEY"));
    let target = Models::new(&with_key).primary(&ModelOverrides::default()).await.unwrap();
    assert_eq!((target.name.as_str(), target.model.wire()), ("morse-1", wire));
    let error = Models::new(&config(&home, &[], "")).find("morse-1").unwrap_err().to_string();
    assert!(error.contains("TELEGRAPH_API_KEY"), "{error}");
}

#[tokio::test]
async fn a_session_calls_a_model_of_the_providers_wire() {
    telegraph();
    let server =
        Server::start(|_| Reply::stream(&[r#""all""#, r#""well""#, r#""STOP""#])).await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let file = format!("model = \"morse-1\"\n[models.morse-1]\nbase_url = {:?}\n", server.url);
    let config = config(&home, &[("WATERLINE_API_KEY", "stamp")], &file);
    let target = Models::new(&config).primary(&ModelOverrides::default()).await.unwrap();
    let log = Log::open(home.path().join("log.db").to_str().unwrap()).unwrap();
    log.create(waterline_log::Session::new("s")).unwrap();
    let policy = waterline::policy::Policy::preset("auto").unwrap();
    let mut live = LiveSession::open(log, "s", SessionConfig::new(target, policy)).await.unwrap();
    assert_eq!(live.ask("how are you?").await.unwrap().text(), "all well");
    let calls: Vec<_> =
        server.received().into_iter().filter(|call| call.path == "/send/morse-1").collect();
    assert_eq!(calls.len(), 1);
    assert!(calls[0].body.contains(r#"{"from":"us","say":"how are you?"}"#), "{}", calls[0].body);
    assert_eq!(calls[0].header("x-stamp"), Some("stamp"));
}
