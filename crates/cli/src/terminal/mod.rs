//! The interactive terminal: the screen, the line editor, the keyboard.

mod activity;
mod arguments;
pub mod asking;
mod calls;
mod command_menu;
mod complete;
mod diff;
mod editing;
mod footer;
mod front_end;
mod keyboard;
mod line;
mod markdown;
mod menu;
mod queue;
mod screen;
mod typing;

pub use arguments::{changed_files, whole};
pub use calls::FinishedCall;
pub use complete::Known;
pub use diff::{counts, rows_of};
pub use front_end::DIFF_LINES;
pub use keyboard::{Keyboard, forget_typed, has_typed};
pub use line::{Input, Line};
pub use screen::Screen;
pub use typing::Typed;
