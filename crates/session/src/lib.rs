//! One model call that comes through: the new messages are durable before anything else, the context is planned, frozen and
//! checked, the model is called, and what goes wrong is recovered from.
//!
//! [`Live::call`] shows the whole way. This crate stores through `waterline-log`, speaks through `waterline-provider`, prints
//! nothing and reads no environment.

mod call;
mod error;
mod live;
mod recover;

pub use error::SessionError;
pub use live::{Live, Setup};
