//! Checksums of the search index. For each content and each artifact the log stores the sum of the
//! hashes of its terms; `verify` computes the same sums from the terms that the index has. SQLite
//! stores the index by term, so the terms of one text cannot be read alone.

use std::collections::{BTreeSet, HashMap};

use super::{Connection, values};
use crate::error::Result;

/// What an entry of the index belongs to. The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The content of a message.
    Content = 0,
    /// The text of an artifact.
    Artifact = 1,
}

impl Source {
    pub(crate) const ALL: [Self; 2] = [Self::Content, Self::Artifact];

    const fn code(self) -> i64 {
        self as i64
    }
}

/// Returns the checksum of distinct terms that are separated by spaces. Their order does not
/// matter.
pub(crate) fn of_terms(terms: &str) -> i64 {
    terms.split_ascii_whitespace().fold(0, |sum, term| sum.wrapping_add(hash(term)))
}

/// Returns the hash of a term. Files contain sums of it, so it never changes.
fn hash(term: &str) -> i64 {
    let mut first = [0; 8];
    blake3::Hasher::new().update(term.as_bytes()).finalize_xof().fill(&mut first);
    i64::from_le_bytes(first)
}

/// The head and the row template of the statement that stores the checksums of contents.
pub(crate) const INSERT_CONTENTS: (&str, &str) =
    ("INSERT INTO index_checksum (source, key, terms)", "(0, @, @)");

/// Stores the checksum of a text that was indexed.
pub(crate) fn insert(
    connection: &mut dyn Connection,
    source: Source,
    key: i64,
    terms: i64,
) -> Result<()> {
    let sql = "INSERT INTO index_checksum (source, key, terms) VALUES ($1, $2, $3) \
               ON CONFLICT (source, key) DO NOTHING";
    connection.run(sql, values![source.code(), key, terms]).map(drop)
}

/// Deletes the checksum of a text that was removed from the index.
pub(crate) fn delete(connection: &mut dyn Connection, source: Source, key: i64) -> Result<()> {
    let sql = "DELETE FROM index_checksum WHERE source = $1 AND key = $2";
    connection.run(sql, values![source.code(), key]).map(drop)
}

/// Stores the checksums of everything that is indexed, for a database of an older format.
pub(super) fn insert_all(connection: &mut dyn Connection) -> Result<()> {
    for source in Source::ALL {
        for (key, terms) in computed(connection, source)? {
            insert(connection, source, key, terms)?;
        }
    }
    Ok(())
}

/// Returns the keys whose terms in the index do not match their checksum, in order.
pub(crate) fn damaged(connection: &mut dyn Connection, source: Source) -> Result<BTreeSet<i64>> {
    let mut computed = computed(connection, source)?;
    let mut damaged = BTreeSet::new();
    let sql = "SELECT key, terms FROM index_checksum WHERE source = $1";
    connection.each(sql, values![source.code()], &mut |row| {
        if computed.remove(&row.int(0)) != Some(row.int(1)) {
            damaged.insert(row.int(0));
        }
        Ok(())
    })?;
    damaged.extend(computed.into_keys());
    Ok(damaged)
}

/// Computes the checksum of each key from the terms in the index.
fn computed(connection: &mut dyn Connection, source: Source) -> Result<HashMap<i64, i64>> {
    let dialect = connection.dialect();
    if let Some(statement) = dialect.open_terms(source) {
        connection.batch(statement)?;
    }
    let mut sums: HashMap<i64, i64> = HashMap::new();
    // SQLite returns the entries of a term together.
    let mut last = (String::new(), hash(""));
    connection.each(dialect.all_terms(source), &[], &mut |mut row| {
        let term = row.text(1);
        if term != last.0 {
            last = (term.clone(), hash(&term));
        }
        let sum = sums.entry(row.int(0)).or_default();
        *sum = sum.wrapping_add(last.1);
        Ok(())
    })?;
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_depends_on_every_term_and_not_on_their_order() {
        assert_eq!(of_terms("read file"), of_terms("file read"));
        assert_ne!(of_terms("read file"), of_terms("read files"));
        assert_ne!(of_terms("read file"), of_terms("read"));
        // Stored in files.
        assert_eq!(of_terms("read file 数据"), -7_901_519_391_393_069_415);
    }
}
