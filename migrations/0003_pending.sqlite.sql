-- The questions that block an agent. status is the word of the compare-and-set.

CREATE TABLE requests (
  seq                    INTEGER NOT NULL PRIMARY KEY,
  request_id             TEXT    NOT NULL UNIQUE,
  session_id             TEXT    NOT NULL REFERENCES sessions (session_id) ON DELETE CASCADE,
  status                 TEXT    NOT NULL,
  delivery               TEXT    NOT NULL,
  created_at             INTEGER NOT NULL,
  expires_at             INTEGER NOT NULL,
  request_type           TEXT    NOT NULL,
  source                 TEXT    NOT NULL,
  asker_request_id       TEXT    NOT NULL,
  asker_tool_use_id      TEXT    NOT NULL,
  tool_name              TEXT    NOT NULL,
  input_hash             TEXT    NOT NULL,
  agent_id               TEXT    NOT NULL,
  agent_type             TEXT    NOT NULL,
  title                  TEXT    NOT NULL,
  description            TEXT    NOT NULL,
  decision_reason        TEXT    NOT NULL,
  blocked_path           TEXT    NOT NULL,
  by_user_id             TEXT    NOT NULL DEFAULT '',
  by_name                TEXT    NOT NULL DEFAULT '',
  by_device              TEXT    NOT NULL DEFAULT '',
  reason                 TEXT    NOT NULL DEFAULT '',
  resolved_at            INTEGER NOT NULL DEFAULT 0,
  command_id             TEXT    NOT NULL DEFAULT '',
  draft                  TEXT,
  answer                 TEXT,
  form                   TEXT,
  permission_suggestions TEXT,
  tool_input             TEXT
) STRICT;

-- Few rows are answerable at any time, so this index stays small.
CREATE INDEX requests_answerable ON requests (session_id, created_at) WHERE status IN ('open', 'orphaned');
CREATE INDEX requests_delivery ON requests (session_id, delivery);
