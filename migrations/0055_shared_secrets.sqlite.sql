-- Keys that all servers of this database use, such as that of push messages. A file has only one server,
-- which has them in its state folder, so this table stays empty.
CREATE TABLE shared_secrets (
  name  TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
