//! Tools of MCP (Model Context Protocol) servers, over standard input and output or HTTP. Approval
//! and results are handled as for all other tools.
//!
//! Everything a server sends is untrusted data. Its tools, results and errors reach the model, but
//! its instructions for clients are ignored, and its requests (for a model's answer, user input or
//! files) are not answered.

mod client;
mod config;
mod connect;
mod content;
mod http;
mod listing;
mod problem;
mod sanitize;
mod start;
mod tool;

pub use config::{Server, Transport};
pub use connect::{Connected, connect};
pub use content::read_result;
pub use problem::{ServerProblem, ServerProblemKind};
pub use tool::McpTool;
