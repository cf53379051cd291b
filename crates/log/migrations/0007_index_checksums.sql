-- The checksum of the terms that the search index has for a content (`source` 0) or for an artifact (`source` 1, `key` as
-- in artifact_text): the index has no rows that a checksum could be part of. `store/index_checksum.rs` computes it.
CREATE TABLE index_checksum (
  source {int} NOT NULL,
  key {int} NOT NULL,
  terms {int} NOT NULL,
  PRIMARY KEY (source, key)
) {clustered};
