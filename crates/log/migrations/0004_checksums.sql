-- Every table gets a column `checksum` over its other columns, which the database computes: `store/checksum.rs` has the
-- columns, `store/migrate/checksums.rs` adds it.

-- The artifacts with text, which the index of artifacts refers to by key.
CREATE TABLE artifact_text (
  key {key},
  hash {bytes} NOT NULL UNIQUE REFERENCES artifact
);

{artifact_search};
