//! [`Notice`]: what the user should know about a turn. [`Display`](fmt::Display) writes English; a
//! program in another language matches on the variant.

use std::fmt;
use std::sync::Arc;

use waterline_memory::NoteError;

use crate::cause::Cause;
use crate::changes::{FileOutcome, MovedFile, Unrecorded};

/// A notice for the user about a turn or its settings.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Notice {
    /// Another process continued the session; the turn resumes from its last message.
    OtherProcess,
    /// The buffer settings stored in the session are ignored, because a setting overrides them.
    BufferConfigIgnored,
    /// A file was moved with the session after an interruption, or was not.
    Moved(MovedFile),
    /// Changes that cannot be undone.
    Unrecorded(Unrecorded),
    /// The memory cannot be read or written.
    Memory(Arc<NoteError>),
    /// This sentence is no longer a standing instruction: it occurs in too many sessions, so it is
    /// part of a template.
    Template(String),
    /// An instruction file cannot be read, for this reason.
    Instructions(Cause),
    /// An instruction file imports something that does not exist or is outside the project.
    Import {
        /// The file.
        file: String,
        /// The path that it names.
        name: String,
    },
    /// These instruction files changed on disk. Their text is sent with the next message.
    InstructionsChanged(Vec<String>),
    /// These instruction files are too long to be sent as a whole.
    InstructionsTruncated(Vec<String>),
    /// Some tools are described to the model only briefly, because all definitions take too much of
    /// the window.
    ToolsInShort {
        /// How many tools.
        count: usize,
        /// The definitions may take at most 1/`share` of the window.
        share: usize,
    },
    /// Of the setting `summarization`, `token_threshold` is below `max_tokens`.
    TokenThreshold {
        /// The value of `token_threshold`.
        threshold: u64,
        /// The value of `max_tokens`.
        max: u64,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherProcess => f.write_str(
                "another process continued this session; resuming from its last message",
            ),
            Self::BufferConfigIgnored => f.write_str(
                "the buffer_config of this session is ignored: the setting summarization \
                 overrides it",
            ),
            Self::Moved(MovedFile { path, outcome }) => match outcome {
                FileOutcome::Restored | FileOutcome::RestoredInPart => {
                    write!(f, "{path}: restored")
                }
                FileOutcome::Removed => write!(f, "{path}: removed"),
                FileOutcome::ChangedMeanwhile => {
                    write!(f, "{path}: not restored: it was changed outside this session")
                }
                FileOutcome::TooLarge => {
                    write!(f, "{path}: not restored: it is too large to be recorded")
                }
                FileOutcome::NotRecorded => {
                    write!(f, "{path}: not restored: ignored and generated files are not recorded")
                }
                FileOutcome::Repository => {
                    write!(f, "{path}: what commands did there, such as commits, was not undone")
                }
                FileOutcome::Link => {
                    write!(f, "{path}: not restored: symbolic links are not recorded")
                }
                FileOutcome::Failed(why) => write!(f, "{path}: not restored: {why}"),
            },
            Self::Unrecorded(found) => found.fmt(f),
            Self::Memory(error) => error.fmt(f),
            Self::Template(text) => write!(
                f,
                "no longer remembered, because you sent it in more than three sessions, as a \
                 template does: {text}"
            ),
            Self::Instructions(why) => write!(f, "instruction file ignored: {why}"),
            Self::Import { file, name } => write!(
                f,
                "{file}: @{name} is not imported: it does not exist, or is outside the project"
            ),
            Self::InstructionsChanged(files) => {
                write!(f, "instructions changed; the model is told: {}", files.join(", "))
            }
            Self::InstructionsTruncated(files) => {
                write!(f, "instructions too long, so the end is left out: {}", files.join(", "))
            }
            Self::ToolsInShort { count, share } => {
                let are = if *count == 1 { "tool is" } else { "tools are" };
                write!(
                    f,
                    "the tool definitions take more than 1/{share} of the window; {count} {are} \
                     described to the model only briefly"
                )
            }
            Self::TokenThreshold { threshold, max } => write!(
                f,
                "summarization: token_threshold {threshold} is below max_tokens {max}; between \
                 these values there is nothing to drop"
            ),
        }
    }
}
