//! What Waterline's tests share: conversations in a short notation, and generators of conversations as odd as real ones.
//! A dev-dependency only.

pub mod generate;
pub mod notation;
pub mod write;

pub use generate::{Event, conversation};
pub use notation::{messages, show};
