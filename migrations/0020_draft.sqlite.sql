-- What people have half written, each for themselves alone: the answer to a
-- request, or a message to a session, with request_id ''.
CREATE TABLE drafts (
  user_id    TEXT    NOT NULL,
  session_id TEXT    NOT NULL REFERENCES sessions (session_id) ON DELETE CASCADE,
  request_id TEXT    NOT NULL,
  value      TEXT    NOT NULL,
  changed_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, session_id, request_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX drafts_session ON drafts (session_id);

-- What people say again and again.
CREATE TABLE templates (
  user_id     TEXT    NOT NULL,
  template_id TEXT    NOT NULL,
  text        TEXT    NOT NULL,
  uses        INTEGER NOT NULL,
  used_at     INTEGER NOT NULL,
  PRIMARY KEY (user_id, template_id)
) STRICT, WITHOUT ROWID;
