-- Who works in a session, until when (`expires`, in milliseconds since 1970) and for how long that was asked. `token` grows
-- with each holder and is never given again.
CREATE TABLE lease (
  session {text} PRIMARY KEY REFERENCES session,
  holder {text} NOT NULL,
  token {int} NOT NULL,
  expires {int} NOT NULL,
  length {int} NOT NULL
);

-- Which session has a conversation that clients send whole: `id` is the hash of what was said in its first `said` messages,
-- system prompts left out, of which the last stands at `position`.
CREATE TABLE conversation (
  id {bytes} NOT NULL,
  user_id {text} NOT NULL,
  session {text} NOT NULL REFERENCES session,
  said {int} NOT NULL,
  position {int} NOT NULL,
  PRIMARY KEY (id, user_id)
);
CREATE INDEX conversation_session ON conversation (session);
