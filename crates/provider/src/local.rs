//! Model servers on this machine, at their usual ports.

use std::time::Duration;

use serde_json::Value;

/// How long a server may take to say what it has.
const PATIENCE: Duration = Duration::from_millis(400);

/// What a server takes that does not say how much it takes: what the most cautious of them begins
/// with.
const CAREFUL: usize = 4_096;

/// The servers that are looked for, with their usual addresses.
pub const USUAL: [(&str, &str); 3] = [
    ("Ollama", "http://127.0.0.1:11434"),
    ("llama.cpp", "http://127.0.0.1:8080"),
    ("LM Studio", "http://127.0.0.1:1234"),
];

/// A model on a server of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The server's kind.
    pub server: String,
    /// Its address.
    pub base: String,
    /// The first model it offers.
    pub model: String,
    /// Tokens of prompt and answer together.
    pub window: usize,
}

/// The first server that answers. They speak as OpenAI's chat does.
pub async fn find(servers: &[(&str, &str)]) -> Option<Found> {
    let client = client()?;
    for (server, base) in servers {
        // A model that only embeds answers nothing.
        if let Some(model) =
            names(&client, base).await.into_iter().find(|name| !name.contains("embed"))
        {
            let window = window(&client, base, &model).await.unwrap_or(CAREFUL);
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

/// The models that a server says it has; none where it does not say, or only to who has a key.
pub async fn models(base: &str) -> Vec<String> {
    let base = base.trim_end_matches('/').trim_end_matches("/v1");
    match client() {
        Some(client) => names(&client, base).await,
        None => Vec::new(),
    }
}

fn client() -> Option<reqwest::Client> {
    crate::address::client().connect_timeout(PATIENCE).timeout(PATIENCE).no_proxy().build().ok()
}

async fn names(client: &reqwest::Client, base: &str) -> Vec<String> {
    let listed = get(client, &format!("{base}/v1/models")).await;
    let models = listed.as_ref().and_then(|listed| listed.get("data")?.as_array());
    let names = models.into_iter().flatten().filter_map(|model| model.get("id")?.as_str());
    names.map(str::to_owned).collect()
}

/// What the server says about its window; each has its own place for it.
async fn window(client: &reqwest::Client, base: &str, model: &str) -> Option<usize> {
    if let Some(props) = get(client, &format!("{base}/props")).await {
        let context =
            props.pointer("/default_generation_settings/n_ctx").or_else(|| props.get("n_ctx"))?;
        return usize::try_from(context.as_u64()?).ok();
    }
    let listed = get(client, &format!("{base}/api/v0/models")).await?;
    let is_it = |entry: &&Value| entry.get("id").and_then(Value::as_str) == Some(model);
    let entry = listed.get("data")?.as_array()?.iter().find(is_it)?;
    usize::try_from(entry.get("loaded_context_length")?.as_u64()?).ok()
}

async fn get(client: &reqwest::Client, url: &str) -> Option<Value> {
    let response = client.get(url).send().await.ok()?;
    if !response.status().is_success() {
        return None;
    }
    serde_json::from_slice(&response.bytes().await.ok()?).ok()
}
