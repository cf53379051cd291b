-- The first format. {key}, {int}, {text} and {bytes} are the types of the database; a statement ends at a semicolon.

-- What was said, each once. `bytes` as they came, packed (1) or not (0); `wire` says how to read them.
CREATE TABLE content (
  key {key},
  hash {bytes} NOT NULL UNIQUE,
  wire {int} NOT NULL,
  role {int} NOT NULL,
  tokens {int} NOT NULL,
  counter {text} NOT NULL,
  size {int} NOT NULL,
  packed {int} NOT NULL,
  bytes {bytes} NOT NULL
);

-- The tree of messages, cut into branches: a branch goes on from position `fork` of its parent up to `last`.
CREATE TABLE branch (
  key {key},
  parent {int} REFERENCES branch,
  fork {int} NOT NULL,
  last {int} NOT NULL
);
CREATE INDEX branch_parent ON branch (parent);

-- A message: position is its depth in the tree, so a branch reads as one run of rows.
CREATE TABLE message (
  branch {int} NOT NULL REFERENCES branch,
  position {int} NOT NULL,
  id {bytes} NOT NULL UNIQUE,
  content {int} NOT NULL REFERENCES content,
  created {int} NOT NULL,
  PRIMARY KEY (branch, position)
) {clustered};
CREATE INDEX message_content ON message (content);

-- A tip in the tree with everything that belongs to it; branch 0 is the empty one.
CREATE TABLE session (
  id {text} PRIMARY KEY,
  branch {int} NOT NULL,
  position {int} NOT NULL,
  frozen {int},
  title {text} NOT NULL,
  user_id {text},
  parent {text},
  relation {text} NOT NULL,
  context_id {text} NOT NULL,
  parent_context {text},
  model {text},
  policy {text},
  overrides {text} NOT NULL,
  state {text} NOT NULL,
  created {int} NOT NULL,
  active {int} NOT NULL
);
CREATE INDEX session_active ON session (active);
CREATE INDEX session_parent ON session (parent);
CREATE INDEX session_branch ON session (branch);

-- Every move of a tip that is no append, so that it can be undone.
CREATE TABLE move (
  session {text} NOT NULL REFERENCES session,
  number {int} NOT NULL,
  kind {text} NOT NULL,
  from_branch {int} NOT NULL,
  from_position {int} NOT NULL,
  from_frozen {int},
  to_branch {int} NOT NULL,
  to_position {int} NOT NULL,
  created {int} NOT NULL,
  PRIMARY KEY (session, number)
);

-- Where a session was cleared: what lies before is kept and not sent.
CREATE TABLE cut (
  session {text} NOT NULL REFERENCES session,
  branch {int} NOT NULL,
  position {int} NOT NULL,
  created {int} NOT NULL,
  PRIMARY KEY (session, branch, position)
);

-- A fold and what came of it.
CREATE TABLE generation (
  key {key},
  session {text} NOT NULL,
  number {int} NOT NULL,
  reason {text} NOT NULL,
  branch {int} NOT NULL,
  position {int} NOT NULL,
  tokens_before {int} NOT NULL,
  tokens_after {int} NOT NULL,
  cost_before {int},
  cost_after {int},
  created {int} NOT NULL
);
CREATE INDEX generation_branch ON generation (branch, position);
CREATE INDEX generation_session ON generation (session);

-- The steps of a generation, a tree like the messages: what each call added to what is sent. Its messages are counted
-- behind the first `cleared`.
CREATE TABLE frozen (
  key {key},
  previous {int} REFERENCES frozen,
  generation {int} NOT NULL REFERENCES generation,
  branch {int} NOT NULL,
  position {int} NOT NULL,
  cleared {int} NOT NULL,
  head {text} NOT NULL,
  packed {int} NOT NULL,
  slots {bytes} NOT NULL
);
CREATE INDEX frozen_previous ON frozen (previous);
CREATE INDEX frozen_generation ON frozen (generation);
CREATE INDEX frozen_branch ON frozen (branch, position);

-- Summaries, with the messages they cover: those behind `start` up to `position`.
CREATE TABLE summary (
  key {key},
  session {text} NOT NULL REFERENCES session,
  version {int} NOT NULL,
  start {int} NOT NULL,
  branch {int} NOT NULL,
  position {int} NOT NULL,
  target {bytes},
  generation {int},
  text {text} NOT NULL,
  tokens {int} NOT NULL,
  original_tokens {int} NOT NULL,
  created {int} NOT NULL
);
CREATE UNIQUE INDEX summary_version ON summary (session, version);

CREATE TABLE checkpoint (
  thread_id {text} NOT NULL REFERENCES session,
  checkpoint_id {text} NOT NULL,
  parent_checkpoint_id {text},
  checkpoint {bytes} NOT NULL,
  metadata {bytes} NOT NULL,
  PRIMARY KEY (thread_id, checkpoint_id)
);

CREATE TABLE artifact (
  hash {bytes} PRIMARY KEY,
  media {text} NOT NULL,
  preview {text} NOT NULL,
  size {int} NOT NULL,
  packed {int} NOT NULL,
  bytes {bytes} NOT NULL,
  created {int} NOT NULL
);
CREATE TABLE artifact_use (
  session {text} NOT NULL REFERENCES session,
  hash {bytes} NOT NULL REFERENCES artifact,
  PRIMARY KEY (session, hash)
);
CREATE INDEX artifact_use_hash ON artifact_use (hash);

-- What each call took; price in millionths.
CREATE TABLE usage (
  session {text} NOT NULL REFERENCES session,
  number {int} NOT NULL,
  position {int} NOT NULL,
  model {text} NOT NULL,
  input {int} NOT NULL,
  cache_read {int} NOT NULL,
  cache_write {int} NOT NULL,
  output {int} NOT NULL,
  price {int},
  latency {int},
  created {int} NOT NULL,
  PRIMARY KEY (session, number)
);

CREATE TABLE job (
  key {key},
  kind {text} NOT NULL,
  session {text} REFERENCES session,
  payload {text} NOT NULL,
  state {text} NOT NULL,
  attempts {int} NOT NULL,
  most {int} NOT NULL,
  due {int} NOT NULL,
  worker {text},
  error {text},
  created {int} NOT NULL
);
CREATE INDEX job_due ON job (state, due);
CREATE INDEX job_session ON job (session);

CREATE TABLE preference (
  user_id {text} NOT NULL,
  name {text} NOT NULL,
  value {text} NOT NULL,
  PRIMARY KEY (user_id, name)
);

{search};
