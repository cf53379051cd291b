//! The list of wire formats: the built-in ones, and those that an application registers.

use std::sync::{PoisonError, RwLock};

use waterline::message::Wire;

use super::format::Format;
use super::{anthropic, gemini, openai_chat, openai_responses};

/// The built-in formats, in the order they are listed. A new one is a directory beside this file
/// and a line here.
const BUILT_IN: [&dyn Format; 4] = [
    &openai_chat::OpenaiChat,
    &openai_responses::OpenaiResponses,
    &anthropic::Anthropic,
    &gemini::Gemini,
];

static REGISTERED: RwLock<Vec<&'static dyn Format>> = RwLock::new(Vec::new());

/// No format has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no wire is called {name:?}; there are {}", known.join(", "))]
pub struct UnknownWire {
    /// The name.
    pub name: String,
    /// The names there are.
    pub known: Vec<&'static str>,
}

/// Adds a format to the list, for the whole program. Returns whether its name was free; if it was
/// not, nothing is changed. It is registered before conversations of that wire are read.
#[must_use]
pub fn register(format: &'static dyn Format) -> bool {
    if find(format.wire()).is_some() {
        return false;
    }
    // The name may have been read from a log before.
    let _ = format.wire().remember();
    REGISTERED.write().unwrap_or_else(PoisonError::into_inner).push(format);
    true
}

/// Every wire there is a format for.
#[must_use]
pub fn all() -> Vec<Wire> {
    formats().iter().map(|format| format.wire()).collect()
}

/// The wire of a name.
///
/// # Errors
/// When no format has that name.
pub fn named(name: &str) -> Result<Wire, UnknownWire> {
    let known = all();
    let found = known.iter().find(|wire| wire.name() == name).copied();
    found.ok_or_else(|| UnknownWire {
        name: name.to_owned(),
        known: known.iter().map(|wire| wire.name()).collect(),
    })
}

/// The wire that models of such a name are reached by. Names may carry a vendor in front.
#[must_use]
pub fn of_model(name: &str) -> Wire {
    let name = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    let fits = |format: &&&dyn Format| {
        format.model_prefixes().iter().any(|prefix| name.starts_with(prefix))
    };
    formats().iter().find(fits).map_or(Wire::OPENAI_CHAT, |format| format.wire())
}

pub(super) fn formats() -> Vec<&'static dyn Format> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    BUILT_IN.into_iter().chain(registered.iter().copied()).collect()
}

fn find(wire: Wire) -> Option<&'static dyn Format> {
    if let Some(format) = BUILT_IN.into_iter().find(|format| format.wire() == wire) {
        return Some(format);
    }
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    registered.iter().copied().find(|format| format.wire() == wire)
}

/// The format of a wire. A wire from a log that this program has no format for is written as
/// OpenAI's chat, which most servers take.
pub(super) fn format(wire: Wire) -> &'static dyn Format {
    find(wire).unwrap_or(&openai_chat::OpenaiChat)
}
