//! Shared by Waterline's tests: conversations in a short notation, generators of irregular
//! conversations, and scripted models with faults. A dev-dependency only.

pub mod dice;
mod effort;
pub mod generate;
pub mod model;
pub mod notation;
pub mod script;
pub mod scripted;
pub mod server;
pub mod spoken;
pub mod write;

use waterline::message::Wire;

pub use effort::effort;
pub use generate::{Event, conversation};
pub use notation::{messages, show};

/// The wires that the testkit supports. The shared test suites run over all of them.
pub const WIRES: [Wire; 4] =
    [Wire::OPENAI_CHAT, Wire::OPENAI_RESPONSES, Wire::ANTHROPIC, Wire::GEMINI];
