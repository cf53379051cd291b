//! Stores the full text of everything that a plan truncates, so that the artifacts named in the
//! context can be read. The full text is found among the messages of the slot by its hash.

use waterline::message::{Body, Message};
use waterline::plan::{Plan, Slot};
use waterline::truncate::artifact_id;
use waterline_log::Log;

use crate::error::SessionError;
use crate::live::LiveSession;

/// Characters of a text that are stored as its preview.
const PREVIEW_CHARS: usize = 200;

impl LiveSession {
    /// Stores the texts that the plan names as artifacts.
    pub(crate) async fn keep_truncated(&self, plan: &Plan) -> Result<(), SessionError> {
        let texts: Vec<String> =
            plan.slots.iter().flat_map(|slot| self.named_texts(slot)).collect();
        if texts.is_empty() {
            return Ok(());
        }
        let id = self.session.id.clone();
        let put = move |log: &Log| {
            for text in &texts {
                let preview: String = text.chars().take(PREVIEW_CHARS).collect();
                log.put_artifact(&id, "text/plain", &preview, text.clone().into_bytes())?;
            }
            Ok(())
        };
        Ok(self.write(put).await?)
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
