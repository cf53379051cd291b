-- A session's state becomes two documents that the log does not read: `state` travels with forks and exports, `local`
-- belongs to this user and machine and stays. What the log itself must know has columns of its own. Tool definitions are
-- stored once; a checkpoint holds what changed since a snapshot. The rows are moved by `store/migrate/documents.rs`.

CREATE TABLE toolset (
  hash {bytes} PRIMARY KEY,
  size {int} NOT NULL,
  packed {int} NOT NULL,
  bytes {bytes} NOT NULL
);

ALTER TABLE session ADD COLUMN local {text} NOT NULL DEFAULT '{}';
ALTER TABLE session ADD COLUMN workspace {text};
-- How many of the first messages came from a file.
ALTER TABLE session ADD COLUMN imported {int} NOT NULL DEFAULT 0;
ALTER TABLE session ADD COLUMN tools {bytes} REFERENCES toolset;

ALTER TABLE checkpoint RENAME TO checkpoint_before;

-- A whole state that checkpoints are stored against.
CREATE TABLE snapshot (
  session {text} NOT NULL REFERENCES session,
  number {int} NOT NULL,
  state {text} NOT NULL,
  PRIMARY KEY (session, number)
) {clustered};

-- `changes` is empty where the state is the snapshot's.
CREATE TABLE checkpoint (
  thread_id {text} NOT NULL REFERENCES session,
  checkpoint_id {text} NOT NULL,
  parent_checkpoint_id {text},
  branch {int} NOT NULL,
  position {int} NOT NULL,
  snapshot {int} NOT NULL,
  changes {text} NOT NULL,
  metadata {text} NOT NULL,
  PRIMARY KEY (thread_id, checkpoint_id)
) {clustered};
