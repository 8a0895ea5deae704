-- What is remembered of a conversation.
-- Columns named ..._folded hold the words of a search: case-folded, valid text.

CREATE TABLE sessions (
  session_id      TEXT    NOT NULL PRIMARY KEY,
  project_id      TEXT    NOT NULL,
  title           TEXT    NOT NULL,
  title_folded    TEXT    NOT NULL,
  cwd             TEXT    NOT NULL,
  cwd_folded      TEXT    NOT NULL,
  model           TEXT    NOT NULL,
  permission_mode TEXT    NOT NULL,
  allowed_tools   TEXT,
  owner_id        TEXT    NOT NULL,
  archived        INTEGER NOT NULL,
  demo            INTEGER NOT NULL,
  begun           INTEGER NOT NULL,
  created_at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The part of a session that moves: one narrow row, so that a bump of the
-- version dirties one page and no index. items and rev count the transcript.
CREATE TABLE processes (
  session_id       TEXT    NOT NULL PRIMARY KEY REFERENCES sessions (session_id) ON DELETE CASCADE,
  version          INTEGER NOT NULL,
  updated_at       INTEGER NOT NULL,
  items            INTEGER NOT NULL,
  rev              INTEGER NOT NULL,
  state            TEXT    NOT NULL,
  started_at       INTEGER NOT NULL,
  state_changed_at INTEGER NOT NULL,
  model            TEXT    NOT NULL,
  permission_mode  TEXT    NOT NULL,
  memory           INTEGER NOT NULL,
  cpu              REAL    NOT NULL,
  pid              INTEGER NOT NULL,
  process_id       TEXT    NOT NULL,
  node_id          TEXT    NOT NULL,
  error            TEXT    NOT NULL,
  kill_reason      TEXT    NOT NULL,
  stuck            TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX processes_running ON processes (session_id) WHERE state <> 'dead';

-- The wire calls key and rev by these names; seq has no gaps, rev may have.
CREATE TABLE transcript (
  session_id TEXT    NOT NULL REFERENCES sessions (session_id) ON DELETE CASCADE,
  seq        INTEGER NOT NULL,
  rev        INTEGER NOT NULL,
  key        TEXT    NOT NULL,
  at         INTEGER NOT NULL,
  kind       TEXT    NOT NULL,
  agent_id   TEXT    NOT NULL,
  body       TEXT,
  UNIQUE (session_id, key)
) STRICT;

CREATE UNIQUE INDEX transcript_rev ON transcript (session_id, rev);

CREATE TABLE messages (
  seq         INTEGER NOT NULL PRIMARY KEY,
  message_id  TEXT    NOT NULL UNIQUE,
  session_id  TEXT    NOT NULL REFERENCES sessions (session_id) ON DELETE CASCADE,
  text        TEXT    NOT NULL,
  attachments TEXT,
  by_user_id  TEXT    NOT NULL,
  by_name     TEXT    NOT NULL,
  by_device   TEXT    NOT NULL,
  created_at  INTEGER NOT NULL,
  sent_at     INTEGER NOT NULL
) STRICT;

CREATE INDEX messages_session ON messages (session_id, sent_at);
