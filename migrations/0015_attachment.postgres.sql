-- What people attach to their messages. The bytes are files in the state folder
-- under the id; a row says whose they are and where they were said.

CREATE TABLE attachments (
  attachment_id text    NOT NULL PRIMARY KEY,
  owner_id      text    NOT NULL,
  name          text    NOT NULL,
  media_type    text    NOT NULL,
  size          bigint  NOT NULL,
  used          boolean NOT NULL,
  created_at    bigint  NOT NULL
);

-- The sessions in which an attachment was said: a fork says it again.
CREATE TABLE attachment_uses (
  session_id    text NOT NULL REFERENCES sessions (session_id) ON DELETE CASCADE,
  attachment_id text NOT NULL REFERENCES attachments (attachment_id) ON DELETE CASCADE,
  PRIMARY KEY (attachment_id, session_id)
);

CREATE INDEX attachment_uses_session ON attachment_uses (session_id);
