//! Search over the messages of past conversations.
//!
//! An [`Index`] has the messages of one conversation or one user. [`Index::search`] finds messages
//! by their words, their neighbors, their session, their author, their date, and by whether they
//! have a standing instruction or a preference, which later questions rarely share a word with.
//! [`Ranking::rerank`] re-orders the best with the vectors of an [`Encoder`], if there is one.
//!
//! ```
//! use waterline_memory::{Index, Message, Reason};
//!
//! let mut index = Index::new();
//! for (speaker, text) in [
//!     ("user", "The staging database is on port 5433."),
//!     ("assistant", "Noted."),
//!     ("user", "Let us plan the trip to Lisbon."),
//! ] {
//!     index.add(&Message::new("s1", speaker, text));
//! }
//! let hits = index.search("Which port does the database use?", 1);
//! assert_eq!(hits[0].message, 0);
//! assert_eq!(hits[0].reasons[0], Reason::Words(vec!["port".to_owned(), "database".to_owned()]));
//! ```
//!
//! [`Memory`] is what a user's sessions share: lasting facts in `MEMORY.md` and a file per day.
//! Only [`Memory`] and [`encoder`] access files, and the crate does not depend on the log.
//! `docs/recall.md` explains the features and has the figures.

mod answer_kind;
mod common;
mod daily;
mod date;
mod day_journal;
pub mod encoder;
pub mod evaluate;
mod excerpt;
mod features;
mod hit;
mod index;
mod memory;
mod notes;
mod passage;
mod pattern;
mod pin;
mod pinned;
mod question;
mod rank;
mod script;
mod searchable;
mod sentence;
mod speaker;
mod stem;
mod terms;
mod vector;
mod weights;

pub use daily::{DayFiles, DayLine, Section};
pub use date::date_of;
pub use excerpt::excerpt;
pub use hit::{Hit, Reason};
pub use index::{Index, Message};
pub use memory::Memory;
pub use notes::{Added, FileError, Line, Note, NoteError, Notes, Source, Topic, has_secret};
pub use pin::{PinKind, fact_in, pins, sentence_of};
pub use rank::Ranking;
pub use script::has_cjk;
pub use searchable::Remembered;
pub use speaker::Speaker;
pub use terms::terms;
pub use vector::{EncodeError, Encoder, TextKind, cosine, text_to_encode, to_unit};
pub use weights::Weights;
