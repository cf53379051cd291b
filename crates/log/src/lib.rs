//! Sessions that never lose a message: an append-only, content-addressed log, and what hangs on it.
//!
//! A message's id is a hash over its parent's id and its own canonical bytes, so messages form a tree in which forks share
//! what they have in common and a client that sends its whole history again adds only what is new. Nothing is edited;
//! erasing for privacy is the only deletion. SQLite and PostgreSQL are chosen by the address ([`Log::open`]).
//!
//! Only this crate knows SQL. It reads no vendor's JSON, prints nothing and reads no environment.

mod append;
mod artifact;
mod backup;
mod call;
mod canonical;
mod checkpoint;
mod draft;
mod entry;
mod erase;
mod error;
mod export;
mod fork;
mod form;
mod frozen;
mod id;
mod import;
mod job;
mod line;
mod log;
mod packed;
mod preference;
mod read;
mod resume;
mod search;
mod session;
mod state;
mod stats;
mod store;
mod summary;
mod travel;
mod tree;
mod verify;
mod words;

pub use append::{Appended, Offered};
pub use artifact::Artifact;
pub use backup::Backup;
pub use call::Call;
pub use checkpoint::{CHECKPOINTS, Checkpoint, Stored};
pub use draft::Draft;
pub use entry::Entry;
pub use erase::{Erased, Whom};
pub use error::{LogError, Result};
pub use form::Form;
pub use frozen::{Fold, Frozen, Generation, Step};
pub use id::Id;
pub use import::{Imported, Parse};
pub use job::{ATTEMPTS, Job, Stage};
pub use log::{Log, Options};
pub use read::Comparison;
pub use resume::{Resumed, turns_to_restore};
pub use search::Hit;
pub use session::{Filter, Relation, Session};
pub use state::State;
pub use stats::Stats;
pub use summary::{Summary, VERSIONS};
pub use travel::{Branch, To};
pub use tree::Tip;
pub use verify::Verified;
