//! Recorded conversations through policies: what each costs, and what it would have forgotten. No
//! model takes part.
//!
//! The way of a transcript: [`need`] finds the values that its calls needed and where they had been
//! seen; [`run`] walks it call by call and plans each one under every policy and window; [`tally`]
//! sums up; [`price`] knows what cached and fresh tokens cost. This crate reads no files and prints
//! nothing.

pub mod counters;
pub mod lost;
pub mod need;
mod outcome;
pub mod page;
pub mod pool;
pub mod price;
pub mod report;
pub mod run;
mod track;
pub mod train;
pub mod training_fold;
pub mod usage;
pub mod value;
mod walk;
