//! What Waterline knows of model providers. So far: their wire formats, parsed and rendered without loss.
//!
//! Only this crate knows vendor JSON. It does no input or output yet.

pub mod overflow;
pub mod wire;
