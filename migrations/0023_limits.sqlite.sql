-- What sessions have cost on a day, counted in days since 1970 in UTC, for each
-- project, '' for none, and each person whose sessions they are; in millionths of
-- a dollar.
CREATE TABLE spending (
  day        INTEGER NOT NULL,
  in_project TEXT    NOT NULL,
  user_id    TEXT    NOT NULL,
  micros     INTEGER NOT NULL,
  PRIMARY KEY (day, in_project, user_id)
) STRICT, WITHOUT ROWID;

-- Limits of one person that are not those of everybody; body is JSON.
CREATE TABLE user_limits (
  user_id TEXT NOT NULL PRIMARY KEY,
  body    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Why what is queued is not said, or the session does not go on; '' for no reason.
ALTER TABLE processes ADD COLUMN held TEXT NOT NULL DEFAULT '';
