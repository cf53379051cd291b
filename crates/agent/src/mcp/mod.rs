//! Servers of tools that speak the Model Context Protocol, over the pipes of a program or over
//! HTTP. Their tools are like the others: whether one may be called, and what becomes of its
//! result, is decided where it is for all of them.
//!
//! What a server says is data. Its tools, their results and its errors reach the model as what they
//! are; its words for clients are not read, and nothing it asks for (a model's answer, a person's,
//! the user's files) is given to it.

mod client;
mod config;
mod content;
mod start;
mod tool;
mod words;

pub use client::{Connected, connect};
pub use config::{Server, Transport};
pub use tool::McpTool;
