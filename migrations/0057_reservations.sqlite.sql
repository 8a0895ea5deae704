-- The sessions whose process is about to start, which limits count before they run. A file has only one
-- server, which has them in its memory, so these tables stay empty.
CREATE TABLE reservations (
  session_id TEXT    NOT NULL PRIMARY KEY,
  cwd        BLOB    NOT NULL,
  owner_id   TEXT    NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE reservation_marks (
  name TEXT    NOT NULL PRIMARY KEY,
  mark INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
