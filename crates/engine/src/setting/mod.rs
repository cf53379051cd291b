//! The words in which policies are written: sizes, keys with their allowed values, when to fold. It
//! knows no stage and no policy.

mod error;
mod fold;
mod key;
mod size;

pub use error::PolicyError;
pub use fold::{By, FoldRule, KEYS as FOLD_KEYS, When};
pub use key::{Allowed, Key};
pub use size::Size;

pub(crate) use key::check;
