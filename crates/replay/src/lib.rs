//! Replays recorded conversations under policies, to measure what each policy costs and what it
//! would have forgotten. This crate calls no model; a caller that has one can score [`chatml`]
//! prompts with it, and [`surprise`] does the arithmetic.
//!
//! [`need`] finds the values that the calls of a transcript needed and the messages that showed
//! them. [`run`] goes through the transcript call by call and plans each call under every policy
//! and window. [`counters`] sums up the results, and [`price`] knows the prices of cached and
//! uncached tokens. This crate reads no files and prints nothing.
//!
//! Applications need what is at the root: [`replay`] for one conversation, [`replay_all`] for many
//! on several threads, and the [`Report`] of them.

#[doc(hidden)]
pub mod chatml;
#[doc(hidden)]
pub mod counters;
#[doc(hidden)]
pub mod judge;
#[doc(hidden)]
pub mod lost;
#[doc(hidden)]
pub mod need;
mod outcome;
#[doc(hidden)]
pub mod page;
#[doc(hidden)]
pub mod pool;
#[doc(hidden)]
pub mod price;
#[doc(hidden)]
pub mod report;
mod report_line;
#[doc(hidden)]
pub mod run;
#[doc(hidden)]
pub mod sample;
mod search;
#[doc(hidden)]
pub mod surprise;
mod track;
#[doc(hidden)]
pub mod train;
#[doc(hidden)]
pub mod training_fold;
#[doc(hidden)]
pub mod usage;
#[doc(hidden)]
pub mod value;
mod walk;

pub use counters::Counters;
pub use judge::{Candidates, Judge};
pub use pool::{Done, Job, Watch, replay_all};
pub use price::Prices;
pub use report::{Dataset, JudgeInfo, Report, Row, Session};
pub use report_line::{JudgedLine, LostLine, ReportLine, RowLine};
pub use run::{CallFigures, Context, Outcome, ReplayConfig, replay};
