//! One file per command.

pub mod bench;
pub mod chat;
pub mod check;
pub mod completions;
pub mod config;
pub mod convert;
pub mod doctor;
pub mod man;
pub mod models;
pub mod plan;
pub mod policy;
pub mod recall;
pub mod replay;
pub mod run;
pub mod sessions;
pub mod tokens;
