//! Notices and reasons of a call, as data. [`Display`](fmt::Display) writes English; a program in
//! another language matches on the variant.

use std::fmt;

use waterline_provider::CallError;

/// A notice for the user about a session.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Notice {
    /// The context is larger than the window, although everything that may go was dropped.
    OverWindow {
        /// The tokens of the context.
        tokens: usize,
        /// The window of the model.
        window: usize,
    },
    /// The context is full again right after each fold.
    FoldingDoesNotHelp {
        /// The window of the model.
        window: usize,
    },
    /// The model made no usable summary, so a digest replaces it.
    NoSummary {
        /// Why it was rejected, or why the call failed.
        why: String,
    },
    /// The model does not support structured output; from now on only the prompt asks for JSON.
    NoStructuredOutput {
        /// The name of the model.
        model: String,
        /// The server's error.
        error: CallError,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OverWindow { tokens, window } => {
                write!(
                    f,
                    "the context has {tokens} tokens, more than the {window} available for the \
                     prompt"
                )
            }
            Self::FoldingDoesNotHelp { window } => write!(
                f,
                "folding does not help: the context is full again right after each fold. \
                 A window of {window} tokens is too small for this work; use a model with a \
                 larger window, limit tool output, or start a new session"
            ),
            Self::NoSummary { why } => {
                write!(f, "no usable summary from the model, so a digest replaces it: {why}")
            }
            Self::NoStructuredOutput { model, error } => write!(
                f,
                "{model} does not support structured output, so only the prompt asks for JSON \
                 now: {error}"
            ),
        }
    }
}

/// Why a call is retried.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RetryReason {
    /// A transient error of the call.
    Failed(CallError),
    /// The answer filled the context window.
    WindowFull,
    /// The provider truncated the prompt.
    PromptTruncated,
}

impl fmt::Display for RetryReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => error.fmt(f),
            Self::WindowFull => f.write_str("the answer filled the context window"),
            Self::PromptTruncated => f.write_str("the provider truncated the prompt"),
        }
    }
}
