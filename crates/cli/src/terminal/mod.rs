//! A terminal with somebody before it.

mod complete;
mod keyboard;
mod line;
mod markdown;
mod screen;

pub use complete::Known;
pub use keyboard::Keyboard;
pub use line::{Input, Line};
pub use screen::Screen;
