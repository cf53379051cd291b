//! Sessions that never lose a message: an append-only, content-addressed log, and what hangs on it.
//!
//! A message's id is a hash over its parent's id and its own canonical bytes, so messages form a
//! tree in which forks share what they have in common and a client that sends its whole history
//! again adds only what is new. Nothing is edited; erasing for privacy is the only deletion. SQLite
//! and PostgreSQL are chosen by the address ([`Log::open`]).
//!
//! Only this crate knows SQL. It reads no vendor's JSON, prints nothing and reads no environment.

mod append;
mod artifact;
mod backup;
mod bulk;
mod canonical;
mod checkpoint;
mod clear;
mod compress;
mod conversation;
mod delta;
mod detail;
mod encoding;
mod entry;
mod erase;
mod error;
mod export;
mod fork;
mod format_1;
mod frozen;
mod generation;
mod handle;
mod id;
mod import;
mod incoming;
mod job;
mod json;
mod lease;
mod line;
mod log;
mod lookup;
mod meaning;
mod navigate;
mod options;
mod preference;
mod read;
mod resume;
mod search;
mod search_terms;
mod session;
mod stats;
mod step;
mod store;
mod summary;
mod toolset;
mod tree;
mod usage;
mod verify;
mod workers;

pub use append::{Appended, Offered};
pub use artifact::Artifact;
pub use backup::Backup;
pub use checkpoint::{CHECKPOINTS, Checkpoint, Stored};
pub use conversation::{End, Found};
pub use detail::{CallTotals, Detail};
pub use encoding::Encoding;
pub use entry::Entry;
pub use erase::{Erased, Whom};
pub use error::{LogError, Result};
pub use export::Exported;
pub use frozen::{Frozen, Sent};
pub use generation::{Fold, Generation};
pub use handle::AsyncLog;
pub use id::Id;
pub use import::{Imported, Parse};
pub use incoming::Incoming;
pub use job::{ATTEMPTS, Job, JobState};
pub use json::utc;
pub use lease::Lease;
pub use log::Log;
pub use lookup::is_generated_id;
pub use navigate::{Branch, To};
pub use options::Options;
pub use read::Comparison;
pub use resume::{Resumed, turns_to_restore};
pub use search::Hit;
pub use session::{Document, Filter, Relation, Session};
pub use stats::Stats;
pub use step::{Change, Step};
pub use summary::{Summary, VERSIONS};
pub use tree::Tip;
pub use usage::Usage;
pub use verify::Verified;
