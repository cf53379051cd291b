//! Writes transcripts: as one JSON object each, or as Markdown for people.

mod atif;
mod chat;
mod markdown;

use std::fmt;
use std::str::FromStr;

use waterline::json;
use waterline::message::{Message, Wire};
use waterline::phrase;
use waterline::phrase::Phrase;
use waterline_provider::wire;

use crate::transcript::Transcript;

pub use markdown::{Heading, Labels, markdown};

/// A format that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// OpenAI chat messages, one conversation per line.
    OpenaiChat,
    /// Anthropic messages, one conversation per line.
    Anthropic,
    /// The agent trajectory interchange format.
    Atif,
}

impl Format {
    /// All formats, in the order they are listed.
    pub const ALL: [Self; 3] = [Self::OpenaiChat, Self::Anthropic, Self::Atif];

    /// Returns the name that [`FromStr`] parses.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenaiChat => "openai-chat",
            Self::Anthropic => "anthropic",
            Self::Atif => "atif",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = Phrase;

    fn from_str(name: &str) -> Result<Self, Phrase> {
        let known = Self::ALL.into_iter().find(|format| format.name() == name);
        known.ok_or_else(|| {
            phrase!(
                "unknown-output-format",
                "unsupported output format {name:?}; expected one of {known}",
                name = name,
                known = Self::ALL.map(Self::name).join(", ")
            )
        })
    }
}

/// Writes a transcript as one line of JSON.
#[must_use]
pub fn line(transcript: &Transcript, format: Format) -> String {
    match format {
        Format::OpenaiChat => chat::write(transcript),
        Format::Anthropic => anthropic(transcript),
        Format::Atif => atif::write(transcript).to_string(),
    }
}

fn anthropic(transcript: &Transcript) -> String {
    let messages: Vec<&Message> =
        transcript.messages().filter(|message| !message.parts.is_empty()).collect();
    let rendered = wire::render(Wire::ANTHROPIC, &messages);
    json::one_line(&wire::body(Wire::ANTHROPIC, head(transcript), &transcript.tools, &rendered))
        .into_owned()
}

/// Returns the fields before the messages.
fn head(transcript: &Transcript) -> impl Iterator<Item = (&'static str, String)> {
    let id = [("id", json::quote(&transcript.id))];
    let parent = transcript.parent.as_ref().map(|parent| ("parent", json::quote(parent)));
    let model = transcript.model.as_ref().map(|model| ("model", json::quote(model)));
    id.into_iter().chain(parent).chain(model)
}
