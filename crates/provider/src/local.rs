//! Finds model servers that run on this machine at their default ports.

use reqwest::header::HeaderMap;

use crate::error::CallError;
use crate::facts::{self, Asker};

/// The window assumed for a server that does not report one. A smaller one would not hold the tool
/// definitions of an agent; a server with a smaller one refuses a long prompt or truncates it,
/// which is noticed.
pub const ASSUMED_WINDOW: usize = 8_192;

/// The servers to look for, each with its default address.
pub const USUAL: [(&str, &str); 3] = [
    ("Ollama", "http://127.0.0.1:11434"),
    ("llama.cpp", "http://127.0.0.1:8080"),
    ("LM Studio", "http://127.0.0.1:1234"),
];

/// A model on a local server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// The name of the server program, such as Ollama.
    pub server: String,
    /// The server's base address.
    pub base: String,
    /// The first model it offers.
    pub model: String,
    /// The context window in tokens, prompt and answer together, if the server reports it.
    pub window: Option<usize>,
}

/// Returns the first server that responds. All of them speak OpenAI's chat protocol.
pub async fn find(servers: &[(&str, &str)]) -> Option<Found> {
    for (server, base) in servers {
        let Some(asker) = Asker::new(base, None) else { continue };
        // An embedding model cannot chat.
        if let Some(model) = names(&asker).await.into_iter().find(|name| !name.contains("embed")) {
            let window = facts::ask(&asker, &model).await.window;
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

/// Checks that an address is valid and that a server listens there.
///
/// # Errors
/// When it is not an address, or no connection can be made.
pub async fn reach(base: &str) -> Result<(), CallError> {
    crate::address::check(base)?;
    let Some(asker) = Asker::new(base, None) else { return Ok(()) };
    asker.reach(base).await
}

/// Lists the models of a server. Empty if it does not list them, or only with a key.
pub async fn models(base: &str) -> Vec<String> {
    match Asker::new(base, None) {
        Some(asker) => names(&asker).await,
        None => Vec::new(),
    }
}

/// As [`models`], for a server that asks for a key.
pub(crate) async fn models_with(base: &str, headers: HeaderMap) -> Vec<String> {
    match Asker::new(base, Some(headers)) {
        Some(asker) => names(&asker).await,
        None => Vec::new(),
    }
}

/// Returns whether a server may have a model: it lists the name, perhaps with a version after it,
/// or it lists nothing.
pub async fn may_have(base: &str, name: &str) -> bool {
    let names = models(base).await;
    names.is_empty()
        || names.iter().any(|known| known == name || known.split(':').next() == Some(name))
}

async fn names(asker: &Asker) -> Vec<String> {
    let listed = asker.get("/v1/models").await;
    let models = listed.as_ref().and_then(|listed| listed.get("data")?.as_array());
    let names = models.into_iter().flatten().filter_map(|model| model.get("id")?.as_str());
    names.map(str::to_owned).collect()
}
