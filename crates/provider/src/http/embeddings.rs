//! Asks an OpenAI-compatible server for the vectors of texts (`/v1/embeddings`).

use serde::Deserialize;
use serde_json::json;
use waterline::message::Wire;

use super::{Endpoint, body};
use crate::error::CallError;

/// The path of the call, and of the chat call, which shares its base address.
const CHAT: &str = "/chat/completions";
const EMBEDDINGS: &str = "/embeddings";

/// Maximum number of bytes of a response.
const MAX_BYTES: usize = 1 << 26;

#[derive(Deserialize)]
struct Response {
    data: Vec<Embedding>,
}

#[derive(Deserialize)]
struct Embedding {
    #[serde(default)]
    index: usize,
    embedding: Vec<f32>,
}

impl Endpoint {
    /// Returns a vector for each text, in their order.
    ///
    /// # Errors
    /// [`CallError::NoVectors`] if the response has another form, or why the call failed.
    pub async fn embeddings(
        &self,
        model: &str,
        texts: &[&str],
    ) -> Result<Vec<Vec<f32>>, CallError> {
        self.ask_embeddings(model, texts).await.map_err(|error| self.redacted(error))
    }

    async fn ask_embeddings(
        &self,
        model: &str,
        texts: &[&str],
    ) -> Result<Vec<Vec<f32>>, CallError> {
        let base = self.base.strip_suffix(EMBEDDINGS).unwrap_or(&self.base);
        let path = crate::wire::path(Wire::OPENAI_CHAT, base, model).replace(CHAT, EMBEDDINGS);
        let url = format!("{base}{path}");
        let request = json!({"model": model, "input": texts, "encoding_format": "float"});
        let response = self.post(url.clone(), request.to_string(), "application/json").await?;
        let body = body::whole(response, self.timeouts, MAX_BYTES).await?;
        vectors(&body, texts.len()).ok_or(CallError::NoVectors { url, body })
    }
}

/// Returns the vectors of a response, if there is one for each text and all have the same size.
fn vectors(body: &str, count: usize) -> Option<Vec<Vec<f32>>> {
    let mut data = serde_json::from_str::<Response>(body).ok()?.data;
    // A stable sort: some servers leave the index out.
    data.sort_by_key(|embedding| embedding.index);
    let size = data.first().map_or(0, |first| first.embedding.len());
    let is_same = |embedding: &Embedding| size > 0 && embedding.embedding.len() == size;
    (data.len() == count && data.iter().all(is_same))
        .then(|| data.into_iter().map(|embedding| embedding.embedding).collect())
}

#[cfg(test)]
mod tests {
    use super::vectors;

    #[test]
    fn vectors_come_in_the_order_of_the_texts() {
        let body = r#"{"data":[{"index":1,"embedding":[0,1]},{"index":0,"embedding":[1,0]}]}"#;
        assert_eq!(vectors(body, 2), Some(vec![vec![1.0, 0.0], vec![0.0, 1.0]]));
        let unnumbered = r#"{"data":[{"embedding":[1]},{"embedding":[2]}]}"#;
        assert_eq!(vectors(unnumbered, 2), Some(vec![vec![1.0], vec![2.0]]));
    }

    #[test]
    fn incomplete_responses_are_refused() {
        let one = r#"{"data":[{"index":0,"embedding":[1,0]}]}"#;
        assert_eq!(vectors(one, 2), None);
        let sizes = r#"{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1,0]}]}"#;
        assert_eq!(vectors(sizes, 2), None);
        assert_eq!(vectors(r#"{"data":[{"embedding":[]}]}"#, 1), None);
        assert_eq!(vectors("<html>", 1), None);
    }
}
