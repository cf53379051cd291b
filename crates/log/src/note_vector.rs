//! Vectors of the lines of memory files, by the name of the encoder that computed them, the
//! directory of the files and the hash of the line. The files are not part of the log; their
//! vectors are here because they are made and compared like those of messages.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::error::Result;
use crate::log::Log;
use crate::store::checksum::NOTE_VECTOR;
use crate::store::{Value, values};
use crate::vector::{numbers, stored};

/// Lines per query. The number is fixed, so that the database prepares one statement.
const BATCH: usize = 100;

/// The hash of a line.
pub type NoteHash = [u8; 32];

/// The vectors of one encoder, by line. A line that gets no vector has an empty one.
pub type NoteVectors = HashMap<NoteHash, Vec<f32>>;

impl Log {
    /// Returns those of the lines that have no vector of an encoder yet.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn unencoded_notes(
        &self,
        model: &str,
        memory: &str,
        lines: &[NoteHash],
    ) -> Result<Vec<NoteHash>> {
        self.read(|connection| {
            let sql = "SELECT hash FROM note_vector WHERE model = $1 AND memory = $2";
            let rows = connection.rows(sql, values![model, memory])?;
            let known: HashSet<NoteHash> =
                rows.iter().filter_map(|row| hash(row.peek(0)?)).collect();
            Ok(lines.iter().filter(|line| !known.contains(*line)).copied().collect())
        })
    }

    /// Stores vectors of length 1 that an encoder computed for lines. An empty one records that a
    /// line gets none.
    ///
    /// # Errors
    /// If the log cannot be written.
    pub fn put_note_vectors(
        &self,
        model: &str,
        memory: &str,
        vectors: &[(NoteHash, Vec<f32>)],
    ) -> Result<()> {
        let model = model.to_owned();
        let memory = memory.to_owned();
        let rows: Vec<(NoteHash, Vec<u8>)> =
            vectors.iter().map(|(hash, vector)| (*hash, stored(vector))).collect();
        self.write(move |connection| {
            let sql = "INSERT INTO note_vector (model, memory, hash, numbers) \
                       VALUES ($1, $2, $3, $4) ON CONFLICT (model, memory, hash) DO NOTHING";
            for (hash, numbers) in &rows {
                connection
                    .run(sql, values![&model, &memory, hash.as_slice(), numbers.as_slice()])?;
            }
            Ok(())
        })
    }

    /// Returns the vectors of lines, by encoder. Damaged ones are left out.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn note_vectors(
        &self,
        memory: &str,
        lines: &[NoteHash],
    ) -> Result<BTreeMap<String, NoteVectors>> {
        self.read(|connection| {
            let placeholders: Vec<String> = (2..BATCH + 2).map(|at| format!("${at}")).collect();
            let sql = format!(
                "SELECT model, hash, numbers FROM note_vector \
                 WHERE memory = $1 AND hash IN ({}) AND {}",
                placeholders.join(", "),
                NOTE_VECTOR.is_intact(connection.dialect(), "")
            );
            let mut found: BTreeMap<String, NoteVectors> = BTreeMap::new();
            for batch in lines.chunks(BATCH) {
                // The last line fills the batch.
                let filled = batch.iter().chain(batch.last().into_iter().cycle()).take(BATCH);
                let hashes = filled.map(|hash| Value::from(hash.as_slice()));
                let values: Vec<Value> =
                    std::iter::once(Value::from(memory)).chain(hashes).collect();
                for mut row in connection.rows(&sql, &values)? {
                    if let Some(hash) = row.peek(1).and_then(hash) {
                        let numbers = row.peek(2).map(numbers).unwrap_or_default();
                        found.entry(row.text(0)).or_default().insert(hash, numbers);
                    }
                }
            }
            Ok(found)
        })
    }

    /// Deletes the vectors of all other lines of a memory, which are no longer in its files.
    ///
    /// # Errors
    /// If the log cannot be written.
    pub fn delete_other_note_vectors(&self, memory: &str, lines: &[NoteHash]) -> Result<u64> {
        let memory = memory.to_owned();
        let kept: HashSet<NoteHash> = lines.iter().copied().collect();
        self.write(move |connection| {
            let sql = "SELECT DISTINCT hash FROM note_vector WHERE memory = $1";
            let rows = connection.rows(sql, values![&memory])?;
            let known = rows.iter().filter_map(|row| hash(row.peek(0)?));
            let mut deleted = 0;
            for hash in known.filter(|hash| !kept.contains(hash)) {
                let sql = "DELETE FROM note_vector WHERE memory = $1 AND hash = $2";
                deleted += connection.run(sql, values![&memory, hash.as_slice()])?;
            }
            Ok(deleted)
        })
    }
}

fn hash(bytes: &[u8]) -> Option<NoteHash> {
    bytes.try_into().ok()
}
