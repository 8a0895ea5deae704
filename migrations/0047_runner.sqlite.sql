-- What is near Claude: shims, folders and files. One server at a time drives a runner, by a lease
-- whose epoch the store and the shims check (docs/contributing/runners.md). The database of an
-- earlier release gets one with an empty id, which the first server to start makes its own.
CREATE TABLE runners (
  runner_id        TEXT    NOT NULL PRIMARY KEY,
  name             TEXT    NOT NULL DEFAULT '',
  labels           TEXT    NOT NULL DEFAULT '[]',
  token_hash       TEXT,
  installation_id  TEXT    NOT NULL DEFAULT '',
  machine          TEXT    NOT NULL DEFAULT '',
  roots            TEXT    NOT NULL DEFAULT '[]',
  capacity         TEXT    NOT NULL DEFAULT '{}',
  clis             TEXT    NOT NULL DEFAULT '[]',
  release          TEXT    NOT NULL DEFAULT '',
  paused           INTEGER NOT NULL DEFAULT 0,
  removed_at       INTEGER NOT NULL DEFAULT 0,
  lease_epoch      INTEGER NOT NULL DEFAULT 0,
  lease_server     TEXT    NOT NULL DEFAULT '',
  lease_expires_at INTEGER NOT NULL DEFAULT 0,
  clock_skew       INTEGER NOT NULL DEFAULT 0,
  seen_at          INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

INSERT INTO runners (runner_id, lease_epoch) SELECT '', last FROM epochs WHERE last > 0;
DROP TABLE epochs;

-- '' for a session whose process runs elsewhere.
ALTER TABLE sessions ADD COLUMN runner_id TEXT NOT NULL DEFAULT '';

-- It has only ever named one server.
ALTER TABLE processes DROP COLUMN node_id;
