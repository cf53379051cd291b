//! Renders the context for the wire. Within a generation the rendered messages do not change, so a
//! call renders and checks only the new ones: it costs the same in a long conversation as in a
//! short one.

use waterline::message::{Message, Role, Wire};
use waterline::validity::Violation;
use waterline_provider::wire::{self, Json, Rendered};

/// The rendered messages of one generation.
#[derive(Debug, Default)]
pub(crate) struct RenderCache {
    of: Option<(u64, Wire)>,
    /// Messages before this index are final: a new turn starts here.
    settled: usize,
    head: Rendered,
}

impl RenderCache {
    /// Renders a context and returns the rules of the wire that it violates.
    pub(crate) fn render(
        &mut self,
        generation: u64,
        wire: Wire,
        context: &[&Message],
    ) -> (Rendered, Vec<Violation>) {
        if self.of != Some((generation, wire)) || self.settled > context.len() {
            *self = Self { of: Some((generation, wire)), ..Self::default() };
        }
        let from = self.settled;
        // A turn begins there, so the rules of the wire hold for what follows on its own.
        let checked = self.head.messages.len();
        let until = newest_turn(context).max(from);
        if until > from {
            let written = wire::render(wire, context.get(from..until).unwrap_or_default());
            self.head.system = self.head.system.take().or(written.system);
            self.head.messages.extend(written.messages);
            self.settled = until;
        }
        let tail = wire::render(wire, context.get(until..).unwrap_or_default());
        let mut whole = self.head.clone();
        whole.system = whole.system.or(tail.system);
        whole.messages.extend(tail.messages);
        let new: Vec<&str> = whole.messages.iter().skip(checked).map(Json::as_str).collect();
        let violations = wire::check(wire, &new);
        (whole, violations)
    }
}

/// Returns where the newest turn starts after an answer. No wire merges messages across that point.
fn newest_turn(context: &[&Message]) -> usize {
    let begins = |pair: &[&Message]| match pair {
        [before, message] => {
            let is_answer = before.role == Role::Assistant && before.calls().next().is_none();
            is_answer && message.role == Role::User
        }
        _ => false,
    };
    context.windows(2).rposition(begins).map_or(0, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use waterline::message::ToolCall;

    fn conversation() -> Vec<Message> {
        let mut messages = vec![Message::system("be brief")];
        for n in 0..4 {
            messages.push(Message::user(format!("question {n}")));
            if n % 2 == 1 {
                messages.push(Message::user("and one more thing"));
                messages.push(Message::assistant_with_calls(
                    "",
                    [ToolCall::new(format!("call_{n}"), "look", "{}")],
                ));
                messages.push(Message::tool_result(format!("call_{n}"), "found"));
            }
            messages.push(Message::assistant(format!("answer {n}")));
        }
        messages
    }

    /// Incremental and full rendering give the same bytes, on every wire.
    #[test]
    fn incremental_rendering_equals_full_rendering() {
        let messages = conversation();
        let all: Vec<&Message> = messages.iter().collect();
        for wire in [Wire::OPENAI_CHAT, Wire::OPENAI_RESPONSES, Wire::ANTHROPIC, Wire::GEMINI] {
            let mut render_cache = RenderCache::default();
            for length in 2..=all.len() {
                let context = &all[..length];
                let (written, _) = render_cache.render(0, wire, context);
                let whole = wire::render(wire, context);
                assert_eq!(written.texts(), whole.texts(), "{wire:?} {length}");
                let system = |rendered: &Rendered| {
                    rendered.system.as_ref().map(|json| json.as_str().to_owned())
                };
                assert_eq!(system(&written), system(&whole), "{wire:?} {length}");
            }
            assert!(render_cache.settled > 0);
            assert_eq!(
                render_cache.render(1, wire, &all[..2]).0.texts().len(),
                wire::render(wire, &all[..2]).texts().len()
            );
        }
    }
}
