//! Replays recorded conversations under policies, to measure what each policy costs and what it
//! would have forgotten. This crate calls no model; a caller that has one can score [`chatml`]
//! prompts with it, and [`surprise`] does the arithmetic.
//!
//! [`need`] finds the values that the calls of a transcript needed and the messages that showed
//! them. [`run`] goes through the transcript call by call and plans each call under every policy
//! and window. [`counters`] sums up the results, and [`price`] knows the prices of cached and
//! uncached tokens. This crate reads no files and prints nothing.

pub mod chatml;
pub mod counters;
pub mod judge;
pub mod lost;
pub mod need;
mod outcome;
pub mod page;
pub mod pool;
pub mod price;
pub mod report;
pub mod run;
pub mod sample;
mod search;
pub mod surprise;
mod track;
pub mod train;
pub mod training_fold;
pub mod usage;
pub mod value;
mod walk;
