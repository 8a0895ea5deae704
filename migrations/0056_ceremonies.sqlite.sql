-- The sign-ins in two steps that were finished. A file has only one server, which has them in its memory,
-- so this table stays empty.
CREATE TABLE ceremonies (
  ceremony_id BLOB    NOT NULL PRIMARY KEY,
  expires_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
