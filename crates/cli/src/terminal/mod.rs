//! A terminal with somebody before it.

mod complete;
mod footer;
mod keyboard;
mod line;
mod markdown;
mod person;
mod screen;
mod typing;

pub use complete::Known;
pub use keyboard::{Keyboard, forget_typed};
pub use line::{Input, Line};
pub use screen::Screen;
pub use typing::Typed;
