//! Stores the full text of everything that a plan truncates, so that the artifacts named in the
//! context can be read. The full text is found among the messages of the slot by its hash.

use waterline::message::{Body, Message};
use waterline::plan::{Plan, Slot};
use waterline::truncate::artifact_id;

use crate::error::SessionError;
use crate::live::LiveSession;

/// Characters of a text that are stored as its preview.
const PREVIEW_CHARS: usize = 200;

impl LiveSession {
    /// Stores the texts that the plan names as artifacts.
    pub(crate) async fn keep_truncated(&self, plan: &Plan) -> Result<(), SessionError> {
        for slot in &plan.slots {
            for text in self.named_texts(slot) {
                let id = self.session.id.clone();
                let preview: String = text.chars().take(PREVIEW_CHARS).collect();
                self.on_log(move |log| {
                    log.put_artifact(&id, "text/plain", &preview, text.into_bytes())
                })
                .await?;
            }
        }
        Ok(())
    }

    fn named_texts(&self, slot: &Slot) -> Vec<String> {
        let named: Vec<&str> =
            slot.truncations().filter_map(|at| at.truncated.artifact.as_deref()).collect();
        if named.is_empty() {
            return Vec::new();
        }
        let sources = slot.sources.iter().filter_map(|&source| self.history.message(source));
        let texts =
            sources.flat_map(texts_of).filter(|text| named.contains(&artifact_id(text).as_str()));
        texts.map(str::to_owned).collect()
    }
}

/// Iterates over the texts of a message, one per part, including those of tool results.
fn texts_of(message: &Message) -> impl Iterator<Item = &str> {
    let results = message.results().flat_map(|result| &result.parts);
    message.parts.iter().chain(results).filter_map(|part| match &part.body {
        Body::Text(text) => Some(text.as_str()),
        _ => None,
    })
}
