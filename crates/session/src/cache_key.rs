//! The key under which a provider that takes such keys caches prompts. OpenAI sends calls with the
//! same key to the same machine, which has the prompts of earlier ones.

use blake3::Hasher;
use waterline::message::Role;

use crate::live::LiveSession;

/// The digits of a key: enough that keys of different prompts differ.
const DIGITS: usize = 16;

impl LiveSession {
    /// Returns the cache key of calls: a hash of the system prompt and the tools. Sessions of a
    /// project and their forks begin with the same prompt, so they have the same key. It shows
    /// neither a path nor a session.
    pub(crate) fn cache_key(&self) -> String {
        if let Some(key) = &self.config.options.cache_key {
            return key.clone();
        }
        let mut hasher = Hasher::new();
        for tool in &self.config.tools {
            add(&mut hasher, &tool.name);
            add(&mut hasher, tool.description.as_deref().unwrap_or_default());
            add(&mut hasher, tool.schema.as_deref().unwrap_or_default());
        }
        let context = self.generation.context(&self.history);
        for message in context.take_while(|message| message.role == Role::System) {
            message.texts().for_each(|text| add(&mut hasher, text));
        }
        let hash = hasher.finalize().to_hex();
        format!("waterline-{}", hash.get(..DIGITS).unwrap_or_default())
    }
}

/// Adds a text with its length, so that texts cannot run into each other.
fn add(hasher: &mut Hasher, text: &str) {
    hasher.update(&(text.len() as u64).to_le_bytes());
    hasher.update(text.as_bytes());
}
