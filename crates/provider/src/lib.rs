//! What Waterline knows of model providers: their wire formats, parsed and rendered without loss;
//! their streams; the words in which they say that a prompt is too long.
//!
//! [`Model`] is the seam that sessions call through. Only this crate knows vendor JSON. Only
//! [`http`] and [`local`] open connections.

pub mod address;
pub mod answer;
mod error;
pub mod http;
pub mod local;
mod model;
pub mod overflow;
pub mod retry;
mod stream;
pub mod wire;

pub use error::{CallError, Refused};
pub use model::{Model, Report, Request, ask};
pub use stream::{Event, EventStream, RawEvent, decode};
