-- Whose settings Claude may take. A folder's row is the last trust in it: the
-- digest and the items of what its settings would run or permit.
CREATE TABLE folder_trusts (
  folder     TEXT    NOT NULL PRIMARY KEY,
  digest     TEXT    NOT NULL,
  items      TEXT    NOT NULL,
  user_id    TEXT    NOT NULL,
  name       TEXT    NOT NULL,
  trusted_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Sessions that run without the settings of their folder.
CREATE TABLE settings_left_out (
  session_id TEXT NOT NULL PRIMARY KEY REFERENCES sessions (session_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
