//! One reliable model call: the new messages are stored first, the context is planned, summarized
//! if needed, frozen and checked, the model is called, and errors are recovered from.
//!
//! [`LiveSession::call`] shows all the steps. This crate stores through `waterline-log`, calls
//! models through `waterline-provider`, prints nothing and does not read the environment.

mod artifacts;
mod between_calls;
mod builder;
mod cache;
mod cache_key;
mod call;
mod config;
mod dropped;
mod encoders;
mod endpoint_encoder;
mod error;
mod event;
mod figures;
mod fold_escalation;
mod lease;
mod level;
mod live;
mod manual_fold;
mod model_stats;
mod notice;
mod observed;
mod passage_line;
mod passages;
mod pins;
mod plan;
mod plausible;
mod prefetch;
mod price;
mod recall;
mod recover;
mod registry;
mod render_cache;
mod shape;
mod stream;
mod submit;
mod summarize;
mod sync;
mod trace;
mod unsaved;
mod vector_job;

pub use between_calls::NamedRule;
pub use builder::Builder;
pub use config::{ModelTarget, SessionConfig, WindowSource};
pub use encoders::{Encoders, LoadEncoder};
pub use endpoint_encoder::EndpointEncoder;
pub use error::SessionError;
pub use event::Event;
pub use lease::{Fence, HeldLease};
pub use level::Level;
pub use live::LiveSession;
pub use notice::{Notice, RetryReason};
pub use passage_line::PassageLine;
pub use pins::Pinned;
pub use price::{Price, Rates};
pub use recall::{Passage, Recall, RecallRequest};
pub use registry::{SessionGuard, Sessions};
pub use stream::Streamed;
pub use submit::{SubmitOutcome, Submitted};
pub use unsaved::HostUpdate;
pub use waterline::{Message, Policy, Tool};
pub use waterline_log::{AsyncLog, Log, Session};
pub use waterline_provider::{Answer, CallError, Delta, Endpoint, Model, Options, Stop};
