//! Vectors of messages, by the name of the encoder that computed them. Messages with the same
//! content share a vector. They are derived data: exports leave them out.

use std::collections::{BTreeMap, HashMap, HashSet};

use waterline::message::Role;

use crate::encoding::role_code;
use crate::entry::{Entry, columns};
use crate::error::Result;
use crate::id::Id;
use crate::log::Log;
use crate::store::checksum::VECTOR;
use crate::store::{Value, values};

/// Messages per query. The number is fixed, so that the database prepares one statement.
const BATCH: usize = 100;

/// The column of the content's hash among the columns of an entry.
const CONTENT_HASH: usize = 10;

/// The stored form of 1.0. The numbers of a vector of length 1 are never larger.
const ONE: f32 = 32_767.0;

/// The vectors of one encoder, by message. A message that gets no vector has an empty one.
pub type Vectors = HashMap<Id, Vec<f32>>;

/// A message without a vector.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Unencoded {
    /// The id of the message.
    pub id: Id,
    /// The message; `None` if it is damaged.
    pub entry: Option<Entry>,
}

impl Log {
    /// Returns user messages that have no vector of an encoder yet, the newest first. Messages with
    /// the same content are returned once. There may be more even if fewer than `limit` are
    /// returned; only an empty result means that none are left.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn unencoded(&self, model: &str, limit: usize) -> Result<Vec<Unencoded>> {
        self.read(|connection| {
            let sql = format!(
                "SELECT {} FROM content c JOIN message m ON m.content = c.key WHERE c.role = $1 \
                 AND NOT EXISTS (SELECT 1 FROM vector v WHERE v.model = $2 AND v.content = c.key) \
                 ORDER BY c.key DESC LIMIT $3",
                columns(connection.dialect())
            );
            let role = i64::from(role_code(Role::User));
            let rows = connection.rows(&sql, values![role, model, limit])?;
            let mut contents = HashSet::new();
            let mut found = Vec::new();
            for row in rows {
                let id = row.peek(0).and_then(Id::stored);
                let is_new = contents.insert(row.peek(CONTENT_HASH).map(<[u8]>::to_vec));
                if let Some(id) = id.filter(|_| is_new) {
                    found.push(Unencoded { id, entry: Entry::of(connection.name(), row).ok() });
                }
            }
            Ok(found)
        })
    }

    /// Stores vectors of length 1 that an encoder computed for messages. An empty one records that
    /// a message gets none. Messages that were erased in the meantime are skipped.
    ///
    /// # Errors
    /// If the log cannot be written.
    pub fn put_vectors(&self, model: &str, vectors: &[(Id, Vec<f32>)]) -> Result<()> {
        let model = model.to_owned();
        let rows: Vec<(Id, Vec<u8>)> =
            vectors.iter().map(|(id, vector)| (*id, stored(vector))).collect();
        self.write(move |connection| {
            let sql = "INSERT INTO vector (model, content, numbers) \
                       SELECT $1, content, $2 FROM message WHERE id = $3 \
                       ON CONFLICT (model, content) DO NOTHING";
            for (id, numbers) in &rows {
                connection
                    .run(sql, values![&model, numbers.as_slice(), id.as_bytes().as_slice()])?;
            }
            Ok(())
        })
    }

    /// Returns the vectors of messages, by encoder. Damaged ones are left out.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn vectors(&self, messages: &[Id]) -> Result<BTreeMap<String, Vectors>> {
        self.read(|connection| {
            let placeholders: Vec<String> = (1..=BATCH).map(|at| format!("${at}")).collect();
            let sql = format!(
                "SELECT v.model, m.id, v.numbers FROM message m \
                 JOIN vector v ON v.content = m.content WHERE m.id IN ({}) AND {}",
                placeholders.join(", "),
                VECTOR.is_intact(connection.dialect(), "v.")
            );
            let mut found: BTreeMap<String, Vectors> = BTreeMap::new();
            for batch in messages.chunks(BATCH) {
                // The last message fills the batch.
                let filled = batch.iter().chain(batch.last().into_iter().cycle()).take(BATCH);
                let ids: Vec<Value> =
                    filled.map(|id| Value::from(id.as_bytes().as_slice())).collect();
                for mut row in connection.rows(&sql, &ids)? {
                    if let Some(id) = row.peek(1).and_then(Id::stored) {
                        let numbers = row.peek(2).map(numbers).unwrap_or_default();
                        found.entry(row.text(0)).or_default().insert(id, numbers);
                    }
                }
            }
            Ok(found)
        })
    }

    /// Returns the encoders that have vectors, each with the number of contents it has encoded.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn vector_counts(&self) -> Result<BTreeMap<String, u64>> {
        self.read(|connection| {
            let sql = "SELECT model, COUNT(*) FROM vector GROUP BY model";
            let rows = connection.rows(sql, &[])?;
            Ok(rows.into_iter().map(|mut row| (row.text(0), row.count(1))).collect())
        })
    }

    /// Deletes the vectors of an encoder, and returns how many vectors of messages it deleted.
    ///
    /// # Errors
    /// If the log cannot be written.
    pub fn delete_vectors(&self, model: &str) -> Result<u64> {
        let model = model.to_owned();
        self.write(move |connection| {
            connection.run("DELETE FROM note_vector WHERE model = $1", values![&model])?;
            connection.run("DELETE FROM vector WHERE model = $1", values![&model])
        })
    }
}

/// Returns the stored form of a vector: for each number its share of 32,767, as two bytes.
pub(crate) fn stored(vector: &[f32]) -> Vec<u8> {
    #[expect(clippy::cast_possible_truncation, reason = "the value is within the range of i16")]
    let short = |number: &f32| (number.clamp(-1.0, 1.0) * ONE).round() as i16;
    vector.iter().flat_map(|number| short(number).to_le_bytes()).collect()
}

/// Returns the vector of a stored form.
pub(crate) fn numbers(stored: &[u8]) -> Vec<f32> {
    let (pairs, _) = stored.as_chunks::<2>();
    pairs.iter().map(|bytes| f32::from(i16::from_le_bytes(*bytes)) / ONE).collect()
}
