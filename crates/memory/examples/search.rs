//! Finds a message again by its words.
//!
//! `cargo run -p waterline-memory --example search`
#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use waterline_memory::{Index, Message};

fn main() {
    let mut index = Index::new();
    index.add(&Message::new("s1", "user", "The database is on port 5433."));
    let hits = index.search("Which port does the database use?", 10); // message 0

    for hit in hits {
        println!("message {}: {:?}", hit.message, hit.reasons);
    }
}
