//! Standing instructions and preferences of the user: recognised in what the user writes, kept in
//! the memory, and given to the model in every session.
//!
//! They are part of a user message, so that the system prompt stays in the provider's cache, and
//! every fold keeps them. Only text that the user typed can become one: not files, tool results,
//! messages of other agents, or sentences of a template.

use waterline_log::Log;
use waterline_memory::{Added, Note, NoteError, PinKind, Source, Topic, pins};

use super::Agent;
use super::submit::UserInput;
use crate::environment::STANDING_INSTRUCTIONS as START;
use crate::error::AgentError;
use crate::event::Event;

/// The most characters of standing instructions that the model is given, about 400 tokens.
const BUDGET: usize = 1_600;

/// A sentence that occurs in more sessions than this is part of a template.
const TEMPLATE: usize = 3;

/// The last line of the note.
const END: &str = "</standing-instructions>";

impl Agent {
    /// Remembers the standing instructions in an input, and returns a note on those of the memory
    /// that the conversation does not have yet.
    pub(super) async fn standing_note(
        &mut self,
        input: &UserInput,
    ) -> Result<Option<String>, AgentError> {
        // Only text of the user counts; the input of a sub-agent or a role was written by a model.
        if self.depth > 0 || input.handed {
            return Ok(None);
        }
        let found = self.recognise(&input.text).await?;
        let remembered = self.remembered().await;
        let known = self.state()?.standing;
        let mut current: Vec<String> = remembered;
        current.extend(
            found.iter().filter(|text| !current.contains(text)).cloned().collect::<Vec<_>>(),
        );
        let current = within_budget(current);
        if current == known {
            return Ok(None);
        }
        // An instruction in the message itself needs no note.
        let new: Vec<&String> =
            current.iter().filter(|text| !known.contains(text) && !found.contains(text)).collect();
        let gone: Vec<&String> = known.iter().filter(|text| !current.contains(text)).collect();
        let note = note(&new, &gone);
        let stored = current.clone();
        self.stage(move |state, _| state.standing.clone_from(&stored)).await?;
        Ok(note)
    }

    /// Returns the standing instructions in a text, after writing them to the memory.
    async fn recognise(&mut self, text: &str) -> Result<Vec<String>, AgentError> {
        let found = pins(text).into_iter().filter(|(kind, _)| *kind == PinKind::Instruction);
        let mut recognised = Vec::new();
        for (_, sentence) in found {
            let copy = sentence.clone();
            let is_template =
                self.live.on_log(move |log| is_template(log, &copy)).await.unwrap_or(false);
            if is_template {
                continue;
            }
            let replaced = match self.write_to_memory(&sentence).await {
                // A secret stays in the conversation only.
                Err(NoteError::Secret) => continue,
                Err(error) => {
                    self.observers.emit(&Event::Notice(error.to_string()));
                    None
                }
                Ok(Some(Added::Known)) => {
                    recognised.push(sentence);
                    continue;
                }
                Ok(Some(Added::Replaced(earlier))) => Some(earlier),
                Ok(Some(Added::New) | None) => None,
            };
            let is_lasting = self.live.config().memory.is_some();
            self.observers.emit(&Event::Remembered {
                text: sentence.clone(),
                replaced,
                is_lasting,
            });
            recognised.push(sentence);
        }
        Ok(recognised)
    }

    /// Writes a sentence of the next message to the memory, if there is one.
    async fn write_to_memory(&self, sentence: &str) -> Result<Option<Added>, NoteError> {
        let Some(memory) = self.live.config().memory.clone() else { return Ok(None) };
        let history = self.live.history();
        let message = history.number(history.len()).unwrap_or(1) as u64;
        let source = Source { session: self.live.session().id.clone(), message };
        let text = sentence.to_owned();
        let written = tokio::task::spawn_blocking(move || memory.remember(&text, Some(source)));
        written.await.unwrap_or(Err(NoteError::Empty)).map(Some)
    }

    /// Returns the instructions and preferences of the memory, instructions first.
    async fn remembered(&self) -> Vec<String> {
        let Some(memory) = self.live.config().memory.clone() else { return Vec::new() };
        let read = tokio::task::spawn_blocking(move || memory.notes().list()).await;
        let notes = match read {
            Ok(Ok(notes)) => notes,
            Ok(Err(error)) => {
                self.observers.emit(&Event::Notice(error.to_string()));
                return Vec::new();
            }
            Err(_) => return Vec::new(),
        };
        let of = |topic: Topic| {
            let matches = move |note: &&Note| note.topic == topic;
            notes.iter().filter(matches).map(|note| note.line.text.clone()).collect::<Vec<_>>()
        };
        [of(Topic::Instruction), of(Topic::Preference)].concat()
    }
}

/// Whether a sentence occurs in more sessions than one that the user types again would.
fn is_template(log: &Log, sentence: &str) -> waterline_log::Result<bool> {
    let hits = log.search(sentence, None, 50)?;
    let mut sessions: Vec<String> = hits
        .into_iter()
        .filter(|hit| {
            let message = hit.entry.message(waterline_provider::wire::parse_stored);
            message.text().contains(sentence)
        })
        .filter_map(|hit| hit.session)
        .collect();
    sessions.sort_unstable();
    sessions.dedup();
    Ok(sessions.len() > TEMPLATE)
}

/// Returns as many texts as the budget allows, oldest first.
fn within_budget(texts: Vec<String>) -> Vec<String> {
    let mut left = BUDGET;
    let fits = |text: &String| {
        let length = text.chars().count();
        left = left.saturating_sub(length);
        left > 0
    };
    texts.into_iter().take_while(fits).collect()
}

fn note(new: &[&String], gone: &[&String]) -> Option<String> {
    if new.is_empty() && gone.is_empty() {
        return None;
    }
    let list = |heading: &str, texts: &[&String]| match texts {
        [] => String::new(),
        texts => {
            let lines: Vec<String> = texts.iter().map(|text| format!("- {text}")).collect();
            format!("\n{heading}\n{}", lines.join("\n"))
        }
    };
    let new = list("The user asked for this in earlier messages, and it still applies:", new);
    let gone = list("This no longer applies:", gone);
    Some(format!("{START}{new}{gone}\n{END}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_names_new_and_withdrawn_instructions() {
        let [new, gone] = ["Always answer in French.", "Use tabs."].map(str::to_owned);
        assert_eq!(note(&[], &[]), None);
        assert_eq!(
            note(&[&new], &[&gone]).unwrap(),
            "<standing-instructions>\n\
             The user asked for this in earlier messages, and it still applies:\n\
             - Always answer in French.\n\
             This no longer applies:\n\
             - Use tabs.\n\
             </standing-instructions>"
        );
    }

    #[test]
    fn the_budget_keeps_the_first_texts() {
        let texts: Vec<String> = (0..100).map(|n| format!("{n:050}")).collect();
        let kept = within_budget(texts.clone());
        assert!(kept.len() > 20 && kept.len() < 40, "{}", kept.len());
        assert_eq!(texts[..kept.len()], kept);
    }
}
