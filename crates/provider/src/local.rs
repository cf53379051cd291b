//! Finds model servers that run on this machine at their default ports.

use std::time::Duration;

use serde_json::Value;

const PROBE_TIMEOUT: Duration = Duration::from_millis(400);

/// The window assumed for a server that does not report one: the smallest default among them.
const FALLBACK_WINDOW: usize = 4_096;

/// The servers to look for, each with its default address.
pub const USUAL: [(&str, &str); 3] = [
    ("Ollama", "http://127.0.0.1:11434"),
    ("llama.cpp", "http://127.0.0.1:8080"),
    ("LM Studio", "http://127.0.0.1:1234"),
];

/// A model on a local server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The name of the server program, such as Ollama.
    pub server: String,
    /// The server's base address.
    pub base: String,
    /// The first model it offers.
    pub model: String,
    /// The context window in tokens: prompt and answer together.
    pub window: usize,
}

/// Returns the first server that responds. All of them speak OpenAI's chat protocol.
pub async fn find(servers: &[(&str, &str)]) -> Option<Found> {
    let client = client()?;
    for (server, base) in servers {
        // An embedding model cannot chat.
        if let Some(model) =
            names(&client, base).await.into_iter().find(|name| !name.contains("embed"))
        {
            let window = window(&client, base, &model).await.unwrap_or(FALLBACK_WINDOW);
            return Some(Found {
                server: (*server).to_owned(),
                base: (*base).to_owned(),
                model,
                window,
            });
        }
    }
    None
}

/// Lists the models of a server. Empty if it does not list them, or only with a key.
pub async fn models(base: &str) -> Vec<String> {
    let base = base.trim_end_matches('/').trim_end_matches("/v1");
    match client() {
        Some(client) => names(&client, base).await,
        None => Vec::new(),
    }
}

fn client() -> Option<reqwest::Client> {
    crate::address::client()
        .connect_timeout(PROBE_TIMEOUT)
        .timeout(PROBE_TIMEOUT)
        .no_proxy()
        .build()
        .ok()
}

async fn names(client: &reqwest::Client, base: &str) -> Vec<String> {
    let listed = get(client, &format!("{base}/v1/models")).await;
    let models = listed.as_ref().and_then(|listed| listed.get("data")?.as_array());
    let names = models.into_iter().flatten().filter_map(|model| model.get("id")?.as_str());
    names.map(str::to_owned).collect()
}

/// Asks the server for its context window. Each server program has its own endpoint for it.
async fn window(client: &reqwest::Client, base: &str, model: &str) -> Option<usize> {
    if let Some(props) = get(client, &format!("{base}/props")).await {
        let context =
            props.pointer("/default_generation_settings/n_ctx").or_else(|| props.get("n_ctx"))?;
        return usize::try_from(context.as_u64()?).ok();
    }
    let listed = get(client, &format!("{base}/api/v0/models")).await?;
    let is_model = |entry: &&Value| entry.get("id").and_then(Value::as_str) == Some(model);
    let entry = listed.get("data")?.as_array()?.iter().find(is_model)?;
    usize::try_from(entry.get("loaded_context_length")?.as_u64()?).ok()
}

async fn get(client: &reqwest::Client, url: &str) -> Option<Value> {
    let response = client.get(url).send().await.ok()?;
    if !response.status().is_success() {
        return None;
    }
    serde_json::from_slice(&response.bytes().await.ok()?).ok()
}
