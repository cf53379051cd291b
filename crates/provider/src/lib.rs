//! What Waterline knows of model providers: their wire formats, parsed and rendered without loss; their streams; the words in
//! which they say that a prompt is too long.
//!
//! Only this crate knows vendor JSON. It does no input or output yet.

pub mod answer;
pub mod overflow;
pub mod wire;
