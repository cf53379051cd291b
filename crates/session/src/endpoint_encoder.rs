//! An encoder behind an OpenAI-compatible `/v1/embeddings` endpoint.

use std::fmt;

use tokio::runtime::Runtime;
use waterline_memory::{EncodeError, Encoder, TextKind, Weights, to_unit};
use waterline_provider::Model as _;
use waterline_provider::http::Endpoint;

/// An encoder that a server runs. It blocks, so it must not be used on a thread that runs async
/// tasks.
pub struct EndpointEncoder {
    name: String,
    model: String,
    endpoint: Endpoint,
    /// Its connections stay open between requests, so it has a runtime of its own.
    runtime: Option<Runtime>,
}

impl EndpointEncoder {
    /// Creates an encoder for a model of a server.
    ///
    /// # Errors
    /// If the system refuses the resources of a runtime.
    pub fn new(endpoint: Endpoint, model: &str) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let name = format!("{model} at {}", endpoint.address());
        Ok(Self { name, model: model.to_owned(), endpoint, runtime: Some(runtime) })
    }

    fn failed(&self, cause: impl ToString) -> EncodeError {
        EncodeError::new(&self.name, cause.to_string())
    }
}

impl Encoder for EndpointEncoder {
    fn name(&self) -> &str {
        &self.name
    }

    fn weights(&self) -> Weights {
        Weights::SENTENCE_VECTORS
    }

    fn understands(&self, _: &str) -> bool {
        true
    }

    fn encode(&self, texts: &[&str], _: TextKind) -> Result<Vec<Vec<f32>>, EncodeError> {
        let Some(runtime) = &self.runtime else { return Err(self.failed("it is being closed")) };
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let mut vectors = runtime
            .block_on(self.endpoint.embeddings(&self.model, texts))
            .map_err(|error| self.failed(error))?;
        vectors.iter_mut().for_each(|vector| to_unit(vector));
        Ok(vectors)
    }
}

impl Drop for EndpointEncoder {
    fn drop(&mut self) {
        // A runtime must not be dropped on a thread that runs async tasks, unless in this way.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for EndpointEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EndpointEncoder").field("name", &self.name).finish_non_exhaustive()
    }
}
