//! The list of wire formats: the built-in ones and those that an application registers.

use std::sync::{PoisonError, RwLock};

use waterline::message::Wire;

use super::format::{Format, Vendor};
use super::{anthropic, gemini, openai_chat, openai_responses};

/// The built-in formats, in the order they are listed. A new one is a directory next to this file
/// and a line here.
const BUILT_IN: &[&dyn Format] = &[
    &openai_chat::OpenaiChat,
    &openai_responses::OpenaiResponses,
    &anthropic::Anthropic,
    &gemini::Gemini,
];

static REGISTERED: RwLock<Vec<&'static dyn Format>> = RwLock::new(Vec::new());

/// The error for an unknown wire name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown wire {name:?}; expected one of {}", known.join(", "))]
#[non_exhaustive]
pub struct UnknownWire {
    /// The name that was given.
    pub name: String,
    /// The names of all registered wires.
    pub known: Vec<&'static str>,
}

/// Adds a format for the whole program. Returns false, without a change, if its name is taken.
/// Register a format before you read conversations of its wire.
#[must_use]
pub fn register(format: &'static dyn Format) -> bool {
    if find(format.wire()).is_some() {
        return false;
    }
    // The name may already be known from a log.
    let _ = format.wire().remember();
    REGISTERED.write().unwrap_or_else(PoisonError::into_inner).push(format);
    true
}

/// Returns every wire that has a format.
#[must_use]
pub fn all() -> Vec<Wire> {
    formats().iter().map(|format| format.wire()).collect()
}

/// Returns the wire with a name.
///
/// # Errors
/// If no format has that name.
pub fn named(name: &str) -> Result<Wire, UnknownWire> {
    let known = all();
    let found = known.iter().find(|wire| wire.name() == name).copied();
    found.ok_or_else(|| UnknownWire {
        name: name.to_owned(),
        known: known.iter().map(|wire| wire.name()).collect(),
    })
}

/// Returns the wire for a model's name. The name may have a vendor prefix.
#[must_use]
pub fn of_model(name: &str) -> Wire {
    let name = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    let fits = |format: &&&dyn Format| {
        format.model_prefixes().iter().any(|prefix| name.starts_with(prefix))
    };
    formats().iter().find(fits).map_or(Wire::OPENAI_CHAT, |format| format.wire())
}

/// Returns the providers that have an API of their own, each once, in the order in which one is
/// chosen if several keys are set.
#[must_use]
pub fn vendors() -> Vec<Vendor> {
    let mut vendors: Vec<Vendor> = formats().iter().filter_map(|format| format.vendor()).collect();
    vendors
        .sort_by_key(|vendor| (vendor.rank, vendor.key_variable, vendor.default_model.is_none()));
    vendors.dedup_by_key(|vendor| vendor.key_variable);
    vendors
}

pub(super) fn formats() -> Vec<&'static dyn Format> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    BUILT_IN.iter().copied().chain(registered.iter().copied()).collect()
}

fn find(wire: Wire) -> Option<&'static dyn Format> {
    if let Some(format) = BUILT_IN.iter().copied().find(|format| format.wire() == wire) {
        return Some(format);
    }
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    registered.iter().copied().find(|format| format.wire() == wire)
}

/// Returns the format of a wire. A wire from a log without a format in this program is rendered as
/// OpenAI's chat, which most servers accept.
pub(super) fn format(wire: Wire) -> &'static dyn Format {
    find(wire).unwrap_or(&openai_chat::OpenaiChat)
}
