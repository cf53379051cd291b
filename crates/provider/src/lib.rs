//! What Waterline knows of model providers: their wire formats, parsed and rendered without loss; their streams; the words in
//! which they say that a prompt is too long.
//!
//! Only this crate knows vendor JSON. Only [`http`] and [`local`] speak to anybody.

pub mod answer;
pub mod http;
pub mod local;
pub mod overflow;
pub mod wire;
