//! Replays one conversation under every policy and window: before each model call, the context is
//! planned as it would have been.

use waterline::message::{Message, Role, Wire};
use waterline::tokens::Counter;
use waterline_transcript::{Entry, Transcript};

use crate::need::Needs;
pub use crate::outcome::{CallFigures, Outcome, ReplayConfig};
use crate::track::Track;
use crate::walk::Walk;

/// A context as it would have been sent.
#[derive(Debug)]
#[non_exhaustive]
pub struct Context<'a> {
    /// The conversation's id.
    pub id: &'a str,
    /// The message that answered it, numbered as in the file.
    pub call: usize,
    /// The policy's name.
    pub policy: &'a str,
    /// The tokens that it may have.
    pub window: usize,
    /// The wire format of the messages.
    pub wire: Wire,
    /// What the model would have read.
    pub messages: &'a [&'a Message],
    /// The message that the recorded agent wrote next.
    pub answer: &'a Message,
    /// Tokens of the whole conversation so far, without system prompt and tool definitions.
    pub whole: usize,
    /// The index of the policy and window in the outcomes.
    pub track: usize,
}

/// Replays one conversation and calls `watch` with each context.
pub fn replay(
    transcript: Transcript,
    config: &ReplayConfig,
    mut watch: impl FnMut(&Context<'_>),
) -> Vec<Outcome> {
    let name = config.model.as_deref().or(transcript.model.as_deref());
    let model = config.models.resolve(name.unwrap_or_default());
    let counter = config
        .method
        .map_or_else(|| model.counter(), |method| Counter::new(method, model.image_tokens));
    let tools = transcript.tools.iter().map(|tool| counter.tool(tool)).sum();
    // Summaries of the recording program are left out: the messages they replaced are still there.
    let entries: Vec<Entry> =
        transcript.entries.into_iter().filter(|entry| !entry.is_summary).collect();
    let needs = Needs::of(&entries.iter().map(|entry| &entry.message).collect::<Vec<_>>());
    let mut tracks: Vec<Track<'_>> = Vec::new();
    for policy in &config.policies {
        tracks.extend(
            config.windows.iter().map(|&window| Track::new(policy, window, &model, config)),
        );
    }
    let searches = config.policies.iter().any(|policy| policy.search().is_some());
    let mut walk = Walk::new(counter, tools, transcript.wire, searches);
    let prompts = entries.iter().take_while(|entry| entry.message.role == Role::System).count();
    let numbers: Vec<usize> =
        entries.iter().map(|entry| (entry.index + 1).saturating_sub(prompts)).collect();
    let last = entries.iter().rposition(|entry| entry.message.role == Role::Assistant);
    for (at, entry) in entries.into_iter().enumerate() {
        if walk.is_call(&entry.message) {
            let call = walk.call(&needs, &numbers, &entry, &config.prices, Some(at) == last);
            for (number, track) in tracks.iter_mut().enumerate() {
                track.call(&walk, &call);
                let messages: Vec<&Message> = track.context(&walk).collect();
                watch(&Context {
                    id: &transcript.id,
                    call: entry.index,
                    policy: &track.policy.name,
                    window: track.window,
                    wire: transcript.wire,
                    messages: &messages,
                    answer: &entry.message,
                    whole: walk.conversation_tokens(),
                    track: number,
                });
            }
        }
        walk.append(entry);
    }
    tracks.into_iter().map(|track| track.finish(walk.append_only)).collect()
}
