//! Content that every fold keeps: lines that every summary block repeats, and pinned messages. The
//! host sets it; this crate does not interpret it.

/// Content that no fold may drop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pinned {
    /// Lines that every summary block repeats verbatim: open todos, pending approvals.
    pub lines: Vec<String>,
    /// Messages that are sent verbatim, by their position in the session, from 1.
    pub pins: Vec<u64>,
}
