//! Artifacts: large outputs, stored in full and only once. In the context, a preview replaces them.

use crate::compress::{compress, decompress};
use crate::error::{LogError, Result};
use crate::log::Log;
use crate::search_terms::artifact_terms;
use crate::store::index_checksum::{self, Source};
use crate::store::{Connection, Row, values};
use waterline::phrase;

/// The media types of files that a session changed; see `file_change.rs`.
pub(crate) const FILE_CONTENT: &str = "application/x-waterline-file";
pub(crate) const FILE_CHANGES: &str = "application/x-waterline-file-changes";

/// Returns whether a media type belongs to records of changed files, which are neither listed nor
/// exported.
pub(crate) fn is_file_record(media: &str) -> bool {
    media == FILE_CONTENT || media == FILE_CHANGES
}

/// An artifact, without its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Artifact {
    /// The hash of its bytes, as 64 hexadecimal digits. [`Log::artifact`] takes it.
    pub hash: String,
    /// The media type, such as `text/plain`.
    pub media: String,
    /// The text that replaces it in the context.
    pub preview: String,
    /// The size in bytes.
    pub size: u64,
    /// When it was stored, in milliseconds since 1970.
    pub time: i64,
}

/// An artifact that is not stored yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewArtifact {
    /// The media type, such as `text/plain`.
    pub media: String,
    /// The text that replaces it in the context.
    pub preview: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl NewArtifact {
    /// Returns the hash under which [`Log::artifact`] finds the bytes once they are stored.
    #[must_use]
    pub fn hash(&self) -> String {
        blake3::hash(&self.bytes).to_hex().to_string()
    }

    fn described(&self, time: i64) -> Artifact {
        Artifact {
            hash: self.hash(),
            media: self.media.clone(),
            preview: self.preview.clone(),
            size: self.bytes.len() as u64,
            time,
        }
    }

    pub(crate) fn put(
        &self,
        connection: &mut dyn Connection,
        session: &str,
        time: i64,
    ) -> Result<()> {
        put(connection, session, &self.described(time), &self.bytes)
    }
}

impl Log {
    /// Stores an artifact for a session and returns its description. Bytes that the log already has
    /// are not stored again.
    ///
    /// # Errors
    /// If the session does not exist.
    pub fn put_artifact(
        &self,
        session: &str,
        media: &str,
        preview: &str,
        bytes: Vec<u8>,
    ) -> Result<Artifact> {
        let new = NewArtifact { media: media.to_owned(), preview: preview.to_owned(), bytes };
        let artifact = new.described(self.now());
        let session = session.to_owned();
        self.write(move |connection| {
            crate::session::load(connection, &session)?;
            put(connection, &session, &artifact, &new.bytes)?;
            Ok(artifact.clone())
        })
    }

    /// Returns the bytes of an artifact.
    ///
    /// # Errors
    /// If the artifact does not exist or is damaged.
    pub fn artifact(&self, hash: &str) -> Result<Vec<u8>> {
        let missing =
            || LogError::Missing { what: "artifact", id: hash.chars().take(80).collect() };
        let known = blake3::Hash::from_hex(hash).map_err(|_| missing())?;
        self.read(|connection| {
            let bytes = read(connection, known.as_bytes())?.ok_or_else(missing)?;
            bytes.ok_or_else(|| {
                connection.damaged(phrase!("damage-artifact", "artifact {hash}", hash = hash))
            })
        })
    }

    /// Returns the artifacts of a session, oldest first.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn artifacts(&self, session: &str) -> Result<Vec<Artifact>> {
        self.read(|connection| {
            let sql = "SELECT a.hash, a.media, a.preview, a.size, a.created FROM artifact_use u \
                       JOIN artifact a ON a.hash = u.hash WHERE u.session = $1 \
                       ORDER BY a.created, a.hash";
            let rows = connection.rows(sql, values![session])?;
            let of = |mut row: Row| Artifact {
                hash: row.bytes(0).iter().map(|byte| format!("{byte:02x}")).collect(),
                media: row.text(1),
                preview: row.text(2),
                size: row.count(3),
                time: row.int(4),
            };
            let listed = rows.into_iter().map(of);
            Ok(listed.filter(|artifact| !is_file_record(&artifact.media)).collect())
        })
    }
}

/// Reads the bytes of an artifact: `None` if it does not exist, `Some(None)` if they do not match
/// its hash.
pub(crate) fn read(
    connection: &mut dyn Connection,
    hash: &[u8],
) -> Result<Option<Option<Vec<u8>>>> {
    let sql = "SELECT packed, bytes, size FROM artifact WHERE hash = $1";
    Ok(connection.row(sql, values![hash])?.map(|row| unpack(row, 0, hash)))
}

/// Returns the bytes in the columns `packed, bytes, size`, the first of which is `at`, unless they
/// do not match the hash.
pub(crate) fn unpack(mut row: Row, at: usize, hash: &[u8]) -> Option<Vec<u8>> {
    decompress(row.int(at), row.bytes(at + 1), row.size(at + 2))
        .filter(|bytes| blake3::hash(bytes).as_bytes().as_slice() == hash)
}

/// Deletes the artifacts that no session uses.
pub(crate) fn sweep(connection: &mut dyn Connection) -> Result<()> {
    let sql = "SELECT t.key FROM artifact_text t WHERE NOT EXISTS \
               (SELECT 1 FROM artifact_use u WHERE u.hash = t.hash)";
    let unindex = connection.dialect().unindex_artifact_terms();
    for row in connection.rows(sql, &[])? {
        connection.run(unindex, values![row.int(0)])?;
        index_checksum::delete(connection, Source::Artifact, row.int(0))?;
        connection.run("DELETE FROM artifact_text WHERE key = $1", values![row.int(0)])?;
    }
    let sql = "DELETE FROM artifact WHERE NOT EXISTS \
               (SELECT 1 FROM artifact_use u WHERE u.hash = artifact.hash)";
    connection.run(sql, &[]).map(drop)
}

pub(crate) fn put(
    connection: &mut dyn Connection,
    session: &str,
    artifact: &Artifact,
    bytes: &[u8],
) -> Result<()> {
    let hash = blake3::hash(bytes).as_bytes().to_vec();
    let (packed, stored) = compress(bytes);
    let sql = "INSERT INTO artifact (hash, media, preview, size, packed, bytes, created) \
               VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (hash) DO NOTHING";
    let values = values![
        hash.as_slice(),
        &artifact.media,
        &artifact.preview,
        bytes.len(),
        packed,
        stored.into_owned(),
        artifact.time
    ];
    if connection.run(sql, values)? == 1
        && !is_file_record(&artifact.media)
        && let Some(terms) = artifact_terms(bytes)
    {
        let sql = "INSERT INTO artifact_text (hash) VALUES ($1) RETURNING key";
        let key = connection.number(sql, values![hash.as_slice()])?;
        let checksum = index_checksum::of_terms(&terms);
        connection.run(connection.dialect().index_artifact_terms(), values![key, terms])?;
        index_checksum::insert(connection, Source::Artifact, key, checksum)?;
    }
    let sql = "INSERT INTO artifact_use (session, hash) VALUES ($1, $2) \
               ON CONFLICT (session, hash) DO NOTHING";
    connection.run(sql, values![session, hash]).map(drop)
}
