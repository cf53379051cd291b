//! One model call that comes through: the new messages are durable before anything else, the
//! context is planned, summed up where it must be, frozen and checked, the model is called, and
//! what goes wrong is recovered from.
//!
//! [`LiveSession::call`] shows the whole way. This crate stores through `waterline-log`, speaks
//! through `waterline-provider`, prints nothing and reads no environment.

mod artifacts;
mod between_calls;
mod builder;
mod cache;
mod call;
mod config;
mod error;
mod event;
mod figures;
mod fold_backoff;
mod lease;
mod level;
mod live;
mod manual_fold;
pub mod memory;
mod model_stats;
mod observed;
mod pins;
mod plan;
mod recover;
mod registry;
mod render_cache;
mod shape;
mod staged;
mod stream;
mod submit;
mod summarise;
mod trace;

pub use builder::Builder;
pub use config::{ModelTarget, SessionConfig};
pub use error::SessionError;
pub use event::Event;
pub use lease::Held;
pub use level::Level;
pub use live::LiveSession;
pub use pins::Kept;
pub use registry::{Entered, Sessions};
pub use staged::AnswerNote;
pub use stream::Streamed;
pub use submit::{How, Submitted};
pub use waterline_log::Log;
