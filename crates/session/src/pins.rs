//! What stays whatever is folded: lines that every note repeats, and pinned messages. The host says
//! which; this crate does not know what they are about.

/// What no fold may lose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Lines that stand word for word in every note: open todos, what waits for a person.
    pub lines: Vec<String>,
    /// Messages that are sent as they came, by their place in the session, from 1.
    pub pins: Vec<u64>,
}
