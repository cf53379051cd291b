//! Asks a model server what it knows about a model: the context window and the price. Each server
//! program has its own field or endpoint for them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join5;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use crate::address::{client, is_local};
use crate::connect::connect_error;
use crate::error::CallError;

/// The timeout for a server on this machine.
const LOCAL_TIMEOUT: Duration = Duration::from_millis(400);

/// The timeout for any other server.
const REMOTE_TIMEOUT: Duration = Duration::from_secs(4);

/// Maximum length of a response. The list of a provider with hundreds of models has about 1 MB.
const MAX_BYTES: usize = 1 << 24;

/// The fields of an entry in `/v1/models` that hold the window: vLLM and SGLang, OpenRouter and
/// Together, Groq, Mistral.
const WINDOW_FIELDS: [&str; 4] =
    ["max_model_len", "context_length", "context_window", "max_context_length"];

/// What a server reports about a model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ModelFacts {
    /// The context window in tokens: prompt and answer together.
    pub window: Option<usize>,
    /// The price, if the server lists prices.
    pub price: Option<ReportedPrice>,
    /// Whether the server lists other models, and not this one.
    pub is_missing: bool,
    /// Whether no connection to the server could be made.
    pub is_unreachable: bool,
    /// Whether its list of models has the form of OpenAI's, and not of another provider's.
    pub lists_like_openai: bool,
}

/// The price of a million tokens, in dollars.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReportedPrice {
    /// Of prompt tokens.
    pub input: f64,
    /// Of prompt tokens read from the cache, if it is listed.
    pub cached: Option<f64>,
    /// Of prompt tokens written to the cache, if it is listed.
    pub written: Option<f64>,
    /// Of answer tokens.
    pub output: f64,
}

/// Sends small requests to one server.
pub(crate) struct Asker {
    client: reqwest::Client,
    /// The address without the version.
    base: String,
    headers: HeaderMap,
    /// A connection could not be made.
    is_unreachable: AtomicBool,
}

impl Asker {
    /// Creates an asker for a base address. `headers` carry the key, if there is one.
    pub(crate) fn new(base: &str, headers: Option<HeaderMap>) -> Option<Self> {
        let timeout = if is_local(base) { LOCAL_TIMEOUT } else { REMOTE_TIMEOUT };
        let mut builder = client()
            .connect_timeout(timeout)
            .timeout(timeout)
            // A redirect would send the key to another address.
            .redirect(reqwest::redirect::Policy::none());
        if is_local(base) {
            builder = builder.no_proxy();
        }
        let base = base.trim_end_matches('/').trim_end_matches("/v1").to_owned();
        Some(Self {
            client: builder.build().ok()?,
            base,
            headers: headers.unwrap_or_default(),
            is_unreachable: AtomicBool::new(false),
        })
    }

    /// Requests a path. Returns the JSON of a successful response.
    pub(crate) async fn get(&self, path: &str) -> Option<Value> {
        self.read(self.client.get(format!("{}{path}", self.base)).headers(self.headers.clone()))
            .await
    }

    /// Checks that a server can be reached at the base address, which errors show as `shown`. A
    /// server that is slow to respond passes.
    pub(crate) async fn reach(&self, shown: &str) -> Result<(), CallError> {
        let Err(error) = self.client.get(&self.base).send().await else { return Ok(()) };
        match connect_error(&self.client, shown.to_owned(), &error).await {
            CallError::Connect { .. } if !error.is_connect() => Ok(()),
            error => Err(error),
        }
    }

    async fn post(&self, path: &str, body: &Value) -> Option<Value> {
        let url = format!("{}{path}", self.base);
        self.read(self.client.post(url).headers(self.headers.clone()).body(body.to_string())).await
    }

    /// Sends a request. Returns the JSON of a successful response.
    async fn read(&self, request: reqwest::RequestBuilder) -> Option<Value> {
        let is_refused = |error: &reqwest::Error| error.is_connect();
        let sent = request.send().await.inspect_err(|error| {
            self.is_unreachable.fetch_or(is_refused(error), Ordering::Relaxed);
        });
        let mut response = sent.ok().filter(|response| response.status().is_success())?;
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.ok()? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MAX_BYTES {
                return None;
            }
        }
        serde_json::from_slice(&bytes).ok()
    }

    /// Whether the server may be one that people run themselves: those are used over plain HTTP.
    fn is_own_server(&self) -> bool {
        self.base.starts_with("http://")
    }
}

/// Asks for the facts about a model.
pub(crate) async fn ask(asker: &Asker, model: &str) -> ModelFacts {
    let facts = ask_server(asker, model).await;
    ModelFacts { is_unreachable: asker.is_unreachable.load(Ordering::Relaxed), ..facts }
}

/// Asks all endpoints at the same time.
async fn ask_server(asker: &Asker, model: &str) -> ModelFacts {
    if !asker.is_own_server() {
        return of_list(asker.get("/v1/models").await.as_ref(), model);
    }
    let show = json!({"model": model});
    let (props, list, studio, running, shown) = join5(
        asker.get("/props"),
        asker.get("/v1/models"),
        asker.get("/api/v0/models"),
        asker.get("/api/ps"),
        asker.post("/api/show", &show),
    )
    .await;
    let mut facts = of_list(list.as_ref(), model);
    facts.window = props
        .as_ref()
        .and_then(of_llama)
        .or(facts.window)
        .or_else(|| of_lm_studio(studio.as_ref()?, model))
        .or_else(|| of_running_ollama(running.as_ref()?, model))
        .or_else(|| of_ollama(shown.as_ref()?));
    facts
}

/// Reads the entry of a model in `/v1/models`.
fn of_list(list: Option<&Value>, model: &str) -> ModelFacts {
    let listed = list.and_then(|list| list.get("data"));
    let lists_like_openai = list.is_some_and(is_of_openai);
    let Some(entry) = listed.and_then(|listed| entry(listed, "id", model)) else {
        let is_missing = listed.and_then(Value::as_array).is_some_and(|listed| !listed.is_empty());
        return ModelFacts { is_missing, lists_like_openai, ..ModelFacts::default() };
    };
    let window = WINDOW_FIELDS.iter().find_map(|field| tokens(entry.get(field)?));
    let price = entry.get("pricing").and_then(of_pricing);
    ModelFacts { window, price, lists_like_openai, ..ModelFacts::default() }
}

/// Whether a list of models has the form of OpenAI's. Anthropic's has pages, and Gemini's another
/// name.
fn is_of_openai(list: &Value) -> bool {
    let is_list = list.get("object").and_then(Value::as_str) == Some("list");
    is_list && list.get("has_more").is_none() && list.get("first_id").is_none()
}

/// Reads OpenRouter's prices: dollars per token, as texts.
fn of_pricing(pricing: &Value) -> Option<ReportedPrice> {
    let per_million = |field: &str| {
        let price: f64 = pricing.get(field)?.as_str()?.parse().ok()?;
        (price.is_finite() && price >= 0.0).then_some(price * 1e6)
    };
    Some(ReportedPrice {
        input: per_million("prompt")?,
        cached: per_million("input_cache_read"),
        written: per_million("input_cache_write"),
        output: per_million("completion")?,
    })
}

/// Reads `/props` of llama.cpp.
fn of_llama(props: &Value) -> Option<usize> {
    tokens(props.pointer("/default_generation_settings/n_ctx").or_else(|| props.get("n_ctx"))?)
}

/// Reads `/api/v0/models` of LM Studio: the window the model is loaded with, else its largest one.
fn of_lm_studio(list: &Value, model: &str) -> Option<usize> {
    let entry = entry(list.get("data")?, "id", model)?;
    let field = |name: &str| tokens(entry.get(name)?);
    field("loaded_context_length").or_else(|| field("max_context_length"))
}

/// Reads `/api/ps` of Ollama: the models that are loaded, with their windows.
fn of_running_ollama(running: &Value, model: &str) -> Option<usize> {
    tokens(entry(running.get("models")?, "name", model)?.get("context_length")?)
}

/// Reads `/api/show` of Ollama: the window that the model's own file sets. The largest window of
/// the model is not what Ollama uses.
fn of_ollama(shown: &Value) -> Option<usize> {
    let parameters = shown.get("parameters")?.as_str()?;
    parameters.lines().find_map(|line| {
        let (name, number) = line.trim().split_once(char::is_whitespace)?;
        let tokens = number.trim().parse::<usize>().ok()?;
        (name == "num_ctx" && tokens > 0).then_some(tokens)
    })
}

/// Finds the entry of a model in a list. Ollama adds `:latest` to a name without a version.
fn entry<'a>(list: &'a Value, field: &str, model: &str) -> Option<&'a Value> {
    let is_model = |entry: &&Value| {
        let name = entry.get(field).and_then(Value::as_str).unwrap_or_default();
        name == model || name.strip_suffix(":latest") == Some(model)
    };
    list.as_array()?.iter().find(is_model)
}

/// Reads a number of tokens above zero.
fn tokens(value: &Value) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok().filter(|tokens| *tokens > 0)
}
