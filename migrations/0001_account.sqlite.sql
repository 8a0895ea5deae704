-- Who may do what. Secrets are never here, only their SHA-256.
-- Times are Unix microseconds; 0 is no time.

CREATE TABLE users (
  user_id    TEXT    NOT NULL PRIMARY KEY,
  name       TEXT    NOT NULL UNIQUE,
  role       TEXT    NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE credentials (
  credential_id TEXT    NOT NULL PRIMARY KEY,
  kind          TEXT    NOT NULL,
  user_id       TEXT    NOT NULL REFERENCES users (user_id) ON DELETE CASCADE,
  name          TEXT    NOT NULL,
  hash          BLOB    NOT NULL UNIQUE,
  created_at    INTEGER NOT NULL,
  expires_at    INTEGER NOT NULL,
  last_used_at  INTEGER NOT NULL,
  revoked       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX credentials_user ON credentials (user_id);

-- The first ack of every command; it outlives its user.
CREATE TABLE commands (
  user_id    TEXT    NOT NULL,
  command_id TEXT    NOT NULL,
  ack        TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, command_id)
) STRICT, WITHOUT ROWID;
