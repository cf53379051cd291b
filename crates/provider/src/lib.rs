//! Model providers: their wire formats, parsed and rendered without loss; their streams; and the
//! errors by which they report that a prompt is too long.
//!
//! Sessions call models through the [`Model`] trait. Only this crate knows vendor JSON. Only
//! [`http`], [`local`] and `facts` open connections.

pub mod address;
pub mod answer;
mod connect;
mod error;
mod facts;
pub mod http;
pub mod local;
mod model;
pub mod overflow;
mod plan_line;
pub mod retry;
mod stream;
pub mod wire;

pub use answer::{Answer, Delta, Stop, Usage};
pub use connect::connection_cause;
pub use error::{CallError, Refused};
pub use facts::{ModelFacts, ReportedPrice};
pub use http::{Endpoint, Key, Timeouts};
pub use model::{Model, Request, ask};
pub use plan_line::{PlanLine, Planned};
pub use stream::{Event, EventStream, RawEvent, decode, decode_body};
pub use wire::{Options, Shape, Tool};
