//! The building blocks of policy files: sizes, keys with their allowed values, and the rule when to
//! fold. Nothing here depends on stages or policies.

mod error;
mod fold;
mod key;
mod size;
mod threshold;

pub use error::PolicyError;
pub use fold::{By, FoldRule, KEYS as FOLD_KEYS, Resume, When};
pub use key::{Allowed, Key};
pub use size::Size;
pub(crate) use size::WHOLE;
pub use threshold::Threshold;

pub(crate) use key::check;
