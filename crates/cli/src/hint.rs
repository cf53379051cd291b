//! The former path of `error::describe`, still used by `chat`.

pub use crate::error::describe as with_hint;
