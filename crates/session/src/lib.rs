//! One model call that comes through: the new messages are durable before anything else, the context is planned, summed up
//! where it must be, frozen and checked, the model is called, and what goes wrong is recovered from.
//!
//! [`Live::call`] shows the whole way. This crate stores through `waterline-log`, speaks through `waterline-provider`, prints
//! nothing and reads no environment.

mod artifacts;
mod between_calls;
mod builder;
mod cache;
mod call;
mod error;
mod event;
mod experience;
mod figures;
mod folds;
mod keep;
mod learned;
mod lease;
mod level;
mod live;
pub mod memory;
mod on_demand;
mod plan;
mod recover;
mod registry;
mod setup;
mod shape;
mod sheet;
mod staged;
mod stream;
mod submit;
mod summarise;
mod trace;

pub use builder::Builder;
pub use error::SessionError;
pub use event::Event;
pub use keep::Kept;
pub use lease::Held;
pub use level::Level;
pub use live::Live;
pub use registry::{Entered, Sessions};
pub use setup::{Candidate, Setup};
pub use staged::Note;
pub use stream::Streamed;
pub use submit::{How, Submitted};
pub use waterline_log::Log;
