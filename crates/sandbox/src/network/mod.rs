//! The hosts that commands may reach, and the proxy through which they reach them.

mod address;
mod host;
#[cfg(target_os = "linux")]
mod proxy;
#[cfg(target_os = "linux")]
mod refused_hosts;

pub use address::is_public;
pub use host::{Host, InvalidHost};
#[cfg(target_os = "linux")]
pub(crate) use proxy::serve;
#[cfg(target_os = "linux")]
pub(crate) use refused_hosts::RefusedHosts;
