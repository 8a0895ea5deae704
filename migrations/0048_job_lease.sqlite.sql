-- The lease of the server that runs the jobs of all servers. A file has only one server, so this
-- table stays empty.
CREATE TABLE job_lease (
  name       TEXT    NOT NULL PRIMARY KEY,
  server_id  TEXT    NOT NULL,
  term       INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
