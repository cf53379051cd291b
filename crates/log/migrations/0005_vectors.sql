-- The vector of a message's content for each encoder (`model`), which search by meaning compares. They are derived data:
-- exports leave them out, and a missing one is computed again. `numbers` has two bytes per number, and none if the message
-- gets no vector.
CREATE TABLE vector (
  model {text} NOT NULL,
  content {int} NOT NULL REFERENCES content,
  numbers {bytes} NOT NULL,
  {vector_checksum},
  PRIMARY KEY (model, content)
) {clustered};
CREATE INDEX vector_content ON vector (content);

-- Finds the contents that have no vector yet, the newest first.
CREATE INDEX content_role ON content (role, key);
