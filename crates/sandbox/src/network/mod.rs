//! The hosts that commands may reach, and the proxy through which they reach them.

mod address;
mod host;
#[cfg(target_os = "linux")]
mod proxy;

pub use address::is_public;
pub use host::Host;
#[cfg(target_os = "linux")]
pub(crate) use proxy::serve;
