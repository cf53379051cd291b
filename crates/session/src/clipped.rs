//! A newest message that is larger than the window loses its middle. The whole of it becomes an artifact, and what is sent
//! says under which handle it can be read.

use waterline::history::View;
use waterline::message::{Body, Message};
use waterline::plan::{Plan, Slot, Treatment};

use crate::error::SessionError;
use crate::live::Live;

/// What stands where a text lost its middle.
const MARK: &str = " chars omitted ...]";

/// What stands where `cap` took the middle of an output: it names the artifact itself.
const CAPPED: &str = " chars omitted; the whole output is artifact ";

impl Live {
    /// Stores the outputs that `cap` cut when they came, so that the handles in their place lead somewhere.
    pub(crate) async fn keep_capped(&self, plan: &Plan) -> Result<(), SessionError> {
        for slot in plan.slots.iter().filter(|slot| slot.treatment == Treatment::Trimmed) {
            let cut = slot.views.iter().filter_map(|view| match view {
                View::Made(message) => Some(text_of(message)),
                _ => None,
            });
            let cut: String = cut.filter(|text| text.contains(CAPPED)).collect();
            let sources = slot.sources.iter().filter_map(|&source| self.history.message(source));
            let outputs = sources.flat_map(Message::results).map(waterline::message::ToolResult::text);
            for text in outputs.filter(|text| !cut.is_empty() && !cut.contains(text.as_str())) {
                let (id, preview) = (self.session.id.clone(), text.chars().take(200).collect::<String>());
                self.on_log(move |log| log.put_artifact(&id, "text/plain", &preview, text.into_bytes())).await?;
            }
        }
        Ok(())
    }

    /// Stores what the plan clips of the newest messages, and names it in what is sent.
    pub(crate) async fn keep_clipped(&self, plan: &mut Plan) -> Result<(), SessionError> {
        let newest = [self.history.latest_user(), self.history.len().checked_sub(1)];
        let is_newest = |slot: &Slot| slot.sources.iter().any(|source| newest.contains(&Some(*source)));
        for slot in plan.slots.iter_mut().filter(|slot| slot.treatment == Treatment::Trimmed && is_newest(slot)) {
            for view in &mut slot.views {
                let View::Made(clipped) = view else { continue };
                let whole = slot.sources.iter().filter_map(|&source| self.history.message(source));
                let Some(whole) = whole.clone().find(|whole| is_of(clipped, whole) && loses(whole, clipped)) else {
                    continue;
                };
                let text = text_of(whole);
                let preview: String = text.chars().take(200).collect();
                let id = self.session.id.clone();
                let bytes = text.into_bytes();
                let artifact = self.on_log(move |log| log.put_artifact(&id, "text/plain", &preview, bytes)).await?;
                let mut named = (**clipped).clone();
                name(&mut named, &artifact.hash);
                let counter = self.history.counter();
                slot.tokens += counter.message(&named).saturating_sub(counter.message(clipped));
                *view = View::made(named);
            }
        }
        Ok(())
    }
}

/// Whether a message is what another was clipped from: parallel results differ in what they answer.
fn is_of(clipped: &Message, whole: &Message) -> bool {
    let answers = |message: &Message| message.results().map(|result| result.call_id.clone()).collect::<Vec<_>>();
    clipped.role == whole.role && answers(clipped) == answers(whole)
}

/// Whether a text of a message lost its middle.
fn loses(whole: &Message, clipped: &Message) -> bool {
    text_of(clipped).contains(MARK) && !text_of(whole).contains(MARK)
}

/// All texts of a message, those of results too.
fn text_of(message: &Message) -> String {
    let results = message.results().map(waterline::message::ToolResult::text);
    message.texts().map(str::to_owned).chain(results).collect::<Vec<_>>().join("\n")
}

/// Says at each cut where the whole can be read.
fn name(message: &mut Message, hash: &str) {
    let handle = format!(" chars omitted; the whole is artifact {hash} ...]");
    for part in &mut message.parts {
        match &mut part.body {
            Body::Text(text) => *text = text.replace(MARK, &handle),
            Body::Result(result) => {
                for inner in &mut result.parts {
                    if let Body::Text(text) = &mut inner.body {
                        *text = text.replace(MARK, &handle);
                    }
                }
            }
            _ => {}
        }
    }
}
