-- Who works in a session, until when (`expires`, in milliseconds since 1970) and for how long that was asked. `token` grows
-- with each holder and is never given again.
CREATE TABLE lease (
  session {text} PRIMARY KEY REFERENCES session,
  holder {text} NOT NULL,
  token {int} NOT NULL,
  expires {int} NOT NULL,
  length {int} NOT NULL
);
