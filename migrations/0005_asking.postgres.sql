-- Who may ask without being a CLI that this server drives, and what they report.
-- bytea where bytes must come back exactly: text refuses NUL and invalid UTF-8.

-- asker names who asks, for people; ticketed_at is when the asker was told to
-- come back for the answer, so that nobody need hold a connection.
ALTER TABLE requests ADD COLUMN asker text NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN ticketed_at bigint NOT NULL DEFAULT 0;

-- kind is '' for a session whose process is ours, else agent or terminal.
ALTER TABLE sessions ADD COLUMN kind text NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN lifecycle bytea;

-- A table apart from credentials: what is in it can ask and never answer.
CREATE TABLE agent_tokens (
  token_id   text   NOT NULL PRIMARY KEY,
  session_id text   NOT NULL REFERENCES sessions (session_id) ON DELETE CASCADE,
  name       text   NOT NULL,
  hash       bytea  NOT NULL UNIQUE,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  revoked_at bigint NOT NULL
);

CREATE INDEX agent_tokens_session ON agent_tokens (session_id);
