-- Who may ask without being a CLI that this server drives, and what they report.

-- asker names who asks, for people; ticketed_at is when the asker was told to
-- come back for the answer, so that nobody need hold a connection.
ALTER TABLE requests ADD COLUMN asker TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN ticketed_at INTEGER NOT NULL DEFAULT 0;

-- kind is '' for a session whose process is ours, else agent or terminal.
ALTER TABLE sessions ADD COLUMN kind TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN lifecycle TEXT;

-- A table apart from credentials: what is in it can ask and never answer.
CREATE TABLE agent_tokens (
  token_id   TEXT    NOT NULL PRIMARY KEY,
  session_id TEXT    NOT NULL REFERENCES sessions (session_id) ON DELETE CASCADE,
  name       TEXT    NOT NULL,
  hash       BLOB    NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  revoked_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX agent_tokens_session ON agent_tokens (session_id);
