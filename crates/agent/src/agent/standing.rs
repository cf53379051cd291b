//! Standing instructions and preferences of the user: recognized in what the user writes or named
//! by a model in a summary of it, kept in the memory, and given to the model in every session.
//!
//! They are part of a user message, so that the system prompt stays in the provider's cache, and
//! every fold keeps them. Only text that the user typed can become one: not files, tool results,
//! messages of other agents, or sentences of a template.

use std::sync::Arc;

use waterline::message::{Body, Role};
use waterline_log::{Entry, Log};
use waterline_memory::{Added, Note, NoteError, PinKind, Source, Topic, fact_in, pins};
use waterline_session::NamedRule;

use super::Agent;
use super::submit::UserInput;
use crate::environment::{STANDING_INSTRUCTIONS as START, without_notes};
use crate::error::AgentError;
use crate::event::Event;
use crate::notice::Notice;

/// Maximum number of characters of standing instructions that the model is given, about 400 tokens.
const BUDGET: usize = 1_600;

/// A sentence that occurs in more sessions than this is part of a template.
const TEMPLATE: usize = 3;

/// How many messages with the words of a sentence are looked at. Those with our notes are among
/// them.
const CANDIDATES: usize = 400;

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
        let named = self.remember_named().await?;
        let found = self.recognize(&input.text).await?;
        let known = self.state()?.standing;
        // Without a memory the rules of a session apply until it ends.
        let mut current = self.remembered().await.unwrap_or_else(|| known.clone());
        for text in named.iter().chain(&found) {
            if !current.contains(text) {
                current.push(text.clone());
            }
        }
        let is_new = |text: &&String| named.contains(text) || found.contains(text);
        self.report_left_out(&current, is_new);
        let (current, _) = within_budget(&current);
        if current == known {
            return Ok(None);
        }
        // An instruction in the message itself needs no note.
        let new: Vec<&String> =
            current.iter().filter(|text| !known.contains(text) && !found.contains(text)).collect();
        let gone: Vec<&String> = known.iter().filter(|text| !current.contains(text)).collect();
        let note = note(&new, &gone);
        let stored = current.clone();
        self.change_state(move |state, _| state.standing.clone_from(&stored)).await?;
        Ok(note)
    }

    /// Shows which rules are no longer given to the model because of new ones.
    fn report_left_out(&self, current: &[String], is_new: impl Fn(&&String) -> bool) {
        let earlier: Vec<String> = current.iter().filter(|text| !is_new(text)).cloned().collect();
        if earlier.len() == current.len() {
            return;
        }
        let (given_before, _) = within_budget(&earlier);
        let (_, left_out) = within_budget(current);
        for text in left_out.into_iter().filter(|it| is_new(&it) || given_before.contains(it)) {
            self.observers.emit(&Event::RuleLeftOut { text });
        }
    }

    /// Waits for a summary that is made in the background, before a program exits. Standing
    /// instructions that the model names in it are remembered.
    ///
    /// # Errors
    /// If the state of the session cannot be read.
    pub async fn finish(&mut self) -> Result<(), AgentError> {
        self.live.finish().await;
        self.remember_named().await.map(drop)
    }

    /// Remembers the standing instructions that models named in summaries, and returns them.
    async fn remember_named(&mut self) -> Result<Vec<String>, AgentError> {
        let named = self.live.take_rules();
        // The user messages of a sub-agent and of a role may be from a model.
        if self.depth > 0 || self.state()?.role.is_some() {
            return Ok(Vec::new());
        }
        let mut remembered = Vec::new();
        for NamedRule { text, position, .. } in named {
            // The patterns recognized it when it was written, and the user may have removed it
            // since.
            let is_recognized = pins(&text).iter().any(|(kind, _)| *kind == PinKind::Instruction);
            if !is_recognized && self.remember(&text, position, true).await {
                remembered.push(text);
            }
        }
        Ok(remembered)
    }

    /// Returns the standing instructions in a text, after writing them to the memory.
    async fn recognize(&mut self, text: &str) -> Result<Vec<String>, AgentError> {
        let found = pins(text).into_iter().filter(|(kind, _)| *kind == PinKind::Instruction);
        let history = self.live.history();
        let next = history.number(history.len()).unwrap_or(1) as u64;
        let mut recognized = Vec::new();
        for (_, sentence) in found {
            if let Some(fact) = fact_in(&sentence)
                && self.live.config().memory.is_some()
            {
                self.remember(fact, next, false).await;
            } else if self.remember(&sentence, next, true).await {
                recognized.push(sentence);
            }
        }
        Ok(recognized)
    }

    /// Remembers a sentence of the message at a position, as a rule or as a fact, and shows it.
    /// Returns whether it is kept: a part of a template is not.
    async fn remember(&mut self, sentence: &str, position: u64, is_rule: bool) -> bool {
        let copy = sentence.to_owned();
        let user = self.live.session().user.clone();
        let check = move |log: &Log| is_template(log, user.as_deref(), &copy);
        if self.live.on_log(check).await.unwrap_or(false) {
            self.withdraw(sentence).await;
            return false;
        }
        let replaced = match self.write_to_memory(sentence, position, is_rule).await {
            // A secret stays in the conversation only.
            Err(NoteError::Secret) => return false,
            Err(error) => {
                self.observers.emit(&Event::Notice(Notice::Memory(Arc::new(error))));
                None
            }
            Ok(Some(Added::Known)) => return true,
            Ok(Some(Added::Replaced(earlier))) => Some(earlier),
            Ok(Some(Added::New) | None) => None,
        };
        let is_lasting = self.live.config().memory.is_some();
        let text = sentence.to_owned();
        self.observers.emit(&Event::Remembered { text, replaced, is_lasting });
        true
    }

    /// Removes a sentence from the memory that was taken for a rule before it turned out to be part
    /// of a template, and notifies the user.
    async fn withdraw(&self, sentence: &str) {
        let Some(memory) = self.live.config().memory.clone() else { return };
        let text = sentence.to_owned();
        let removed = tokio::task::spawn_blocking(move || memory.notes().withdraw(&text)).await;
        let notice = match removed {
            Ok(Ok(true)) => Notice::Template(sentence.to_owned()),
            Ok(Err(error)) => Notice::Memory(Arc::new(error)),
            Ok(Ok(false)) | Err(_) => return,
        };
        self.observers.emit(&Event::Notice(notice));
    }

    /// Writes a sentence to the memory, if there is one.
    async fn write_to_memory(
        &self,
        sentence: &str,
        message: u64,
        is_rule: bool,
    ) -> Result<Option<Added>, NoteError> {
        let Some(memory) = self.live.config().memory.clone() else { return Ok(None) };
        let source = Source::new(&self.live.session().id, message);
        let text = sentence.to_owned();
        let written = tokio::task::spawn_blocking(move || match is_rule {
            true => memory.remember_rule(&text, Some(source)),
            false => memory.remember(&text, Some(source)),
        });
        written.await.unwrap_or(Err(NoteError::Empty)).map(Some)
    }

    /// Returns the preferences and instructions of the memory, the most important ones last: those
    /// that were added last, and instructions after preferences. `None` without a memory.
    async fn remembered(&self) -> Option<Vec<String>> {
        let memory = self.live.config().memory.clone()?;
        let read = tokio::task::spawn_blocking(move || memory.notes().list()).await;
        let notes = match read {
            Ok(Ok(notes)) => notes,
            Ok(Err(error)) => {
                self.observers.emit(&Event::Notice(Notice::Memory(Arc::new(error.into()))));
                return Some(Vec::new());
            }
            Err(_) => return Some(Vec::new()),
        };
        let of = |topic: Topic| {
            let matches = move |note: &&Note| note.topic == topic;
            notes.iter().filter(matches).map(|note| note.line.text.clone()).collect::<Vec<_>>()
        };
        Some([of(Topic::Preference), of(Topic::Instruction)].concat())
    }
}

/// Whether a sentence occurs in too many sessions of a user to have been typed each time. Only what
/// the user typed counts: our own notes quote each rule in every session.
fn is_template(log: &Log, user: Option<&str>, sentence: &str) -> waterline_log::Result<bool> {
    let mut sessions: Vec<String> = log
        .search_of_user(sentence, user, CANDIDATES)?
        .into_iter()
        .filter(|hit| hit.artifact.is_none() && typed(&hit.entry).contains(sentence))
        .filter_map(|hit| hit.session)
        .collect();
    sessions.sort_unstable();
    sessions.dedup();
    Ok(sessions.len() > TEMPLATE)
}

/// Returns what the user typed in a message. Attachments are parts after it.
fn typed(entry: &Entry) -> String {
    let message = entry.message(waterline_provider::wire::parse_stored);
    match message.parts.first().map(|part| &part.body) {
        Some(Body::Text(text)) if message.role == Role::User => without_notes(text).to_owned(),
        _ => String::new(),
    }
}

/// Returns the texts that fit into the budget, of which the last ones take precedence, and those
/// that do not. Both lists keep the order.
fn within_budget(texts: &[String]) -> (Vec<String>, Vec<String>) {
    let mut left = BUDGET;
    let mut given = Vec::new();
    let mut others = Vec::new();
    for text in texts.iter().rev() {
        let rest = left.checked_sub(text.chars().count());
        left = rest.unwrap_or(left);
        if rest.is_some() { &mut given } else { &mut others }.push(text.clone());
    }
    given.reverse();
    others.reverse();
    (given, others)
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
    fn the_budget_keeps_the_last_texts() {
        let texts: Vec<String> = (0..100).map(|n| format!("{n:050}")).collect();
        let (given, others) = within_budget(&texts);
        assert_eq!(given.len(), BUDGET / 50);
        assert_eq!([others, given].concat(), texts);
        let long = ["short".to_owned(), "x".repeat(BUDGET)];
        assert_eq!(within_budget(&long), (vec![long[1].clone()], vec![long[0].clone()]));
    }
}
