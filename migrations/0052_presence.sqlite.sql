-- What people see on each server, for the one that sends alerts. A file has only one server, so this
-- table stays empty.
CREATE TABLE presence (
  server_id      TEXT    NOT NULL,
  user_id        TEXT    NOT NULL,
  active         INTEGER NOT NULL,
  last_active_at INTEGER NOT NULL,
  seen           TEXT    NOT NULL,
  expires_at     INTEGER NOT NULL,
  PRIMARY KEY (server_id, user_id)
) STRICT, WITHOUT ROWID;
