//! An append-only, content-addressed log of agent sessions, on SQLite or PostgreSQL.
//!
//! A message's id is a hash of its parent's id and its own canonical bytes. Messages therefore form
//! a tree: forks share their common messages, and a client that resends its whole history adds only
//! the new messages. Stored messages are never edited; [`Log::erase`] is the only deletion.
//!
//! Start with [`Log::open`]: its URL selects the database. Async programs use [`AsyncLog`].
//!
//! ```no_run
//! use waterline::message::Message;
//! use waterline::tokens::{Counter, Method};
//! use waterline_log::{Incoming, Log, Session};
//!
//! # fn example() -> waterline_log::Result<()> {
//! let log = Log::open("sessions.db")?;
//! let session = log.create(Session::new("main"))?;
//! let counter = Counter::new(Method::Chars4, 1_000);
//! let message = Incoming::of(&Message::user("Why does the build fail?"), &counter);
//! log.append(&session.id, session.tip, vec![message])?;
//! # Ok(())
//! # }
//! ```
//!
//! All SQL lives in this crate. It does not parse any vendor's JSON, print, or read the
//! environment.

mod append;
mod artifact;
mod backup;
mod bounded;
mod bulk;
mod canonical;
mod checkpoint;
mod clear;
mod commit;
mod compress;
mod conversation;
mod conversation_hash;
mod delta;
mod detail;
mod difference;
mod encoding;
mod entry;
mod erase;
mod error;
mod export;
mod file_change;
mod fork;
mod format_1;
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
mod navigate;
mod note_vector;
mod numbering;
mod options;
mod passage;
mod preference;
mod read;
mod recent;
mod refusal;
mod request_context;
mod resume;
mod search;
mod search_terms;
mod session;
mod stats;
mod store;
mod summary;
mod toolset;
mod tree;
mod undo_fold;
mod usage;
mod vector;
mod verify;
mod workers;

pub use append::{Appended, Offered};
pub use artifact::{Artifact, NewArtifact};
pub use backup::Backup;
pub use bounded::{MAX_INPUT_BYTES, TooLarge, read_all, read_line};
pub use checkpoint::{CHECKPOINTS, Checkpoint, Stored};
pub use commit::{Change, Commit};
pub use conversation::{End, Found};
pub use detail::{CallTotals, Detail};
pub use difference::{Difference, Side};
pub use encoding::Encoding;
pub use entry::Entry;
pub use erase::{EraseReport, EraseTarget};
pub use error::{LogError, Result};
pub use export::Exported;
pub use file_change::{ChangesBetween, FileRecord, content_hash};
pub use generation::{Fold, Generation};
pub use handle::AsyncLog;
pub use id::Id;
pub use import::{Imported, Parse};
pub use incoming::Incoming;
pub use job::{Job, SUMMARY_JOB};
pub use json::utc;
pub use lease::Lease;
pub use log::Log;
pub use lookup::is_generated_id;
pub use navigate::{Branch, RewindTarget};
pub use note_vector::{NoteHash, NoteVectors};
pub use numbering::Numbering;
pub use options::Options;
pub use read::Comparison;
pub use refusal::Refusal;
pub use request_context::{ContextUpdate, RequestContext};
pub use resume::Resumed;
pub use search::{FoundArtifact, Hit};
pub use session::{Document, Filter, Relation, Session, new_id};
pub use stats::Stats;
pub use store::may_have_password;
pub use summary::{Summary, VERSIONS};
pub use tree::Tip;
pub use usage::Usage;
pub use vector::{Unencoded, Vectors};
pub use verify::Verified;
pub use workers::Permit;
