-- The vector of a line of the memory files for each encoder (`model`). `memory` is the directory of the files, `hash` the
-- hash of the line. As with messages they are derived data, and `numbers` is empty if the line gets no vector.
CREATE TABLE note_vector (
  model {text} NOT NULL,
  memory {text} NOT NULL,
  hash {bytes} NOT NULL,
  numbers {bytes} NOT NULL,
  {note_vector_checksum},
  PRIMARY KEY (model, memory, hash)
) {clustered};
