-- What people attach to their messages. The bytes are files in the state folder
-- under the id; a row says whose they are and where they were said.

CREATE TABLE attachments (
  attachment_id TEXT    NOT NULL PRIMARY KEY,
  owner_id      TEXT    NOT NULL,
  name          TEXT    NOT NULL,
  media_type    TEXT    NOT NULL,
  size          INTEGER NOT NULL,
  used          INTEGER NOT NULL,
  created_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The sessions in which an attachment was said: a fork says it again.
CREATE TABLE attachment_uses (
  session_id    TEXT NOT NULL REFERENCES sessions (session_id) ON DELETE CASCADE,
  attachment_id TEXT NOT NULL REFERENCES attachments (attachment_id) ON DELETE CASCADE,
  PRIMARY KEY (attachment_id, session_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX attachment_uses_session ON attachment_uses (session_id);
