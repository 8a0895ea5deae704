-- The servers that share this database. A file has only one, so this table stays empty.
CREATE TABLE servers (
  server_id  TEXT    NOT NULL PRIMARY KEY,
  name       TEXT    NOT NULL,
  release    TEXT    NOT NULL,
  address    TEXT    NOT NULL,
  public_key BLOB    NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
