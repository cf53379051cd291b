//! One file a command.

pub mod check;
pub mod convert;
pub mod plan;
pub mod policy;
pub mod replay;
pub mod run;
pub mod sessions;
pub mod tokens;
