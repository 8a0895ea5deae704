-- Where people are told that a request waits, what they chose, and what was sent.
CREATE TABLE alert_targets (
  target_id  TEXT    NOT NULL PRIMARY KEY,
  user_id    TEXT    NOT NULL,
  kind       TEXT    NOT NULL,
  name       TEXT    NOT NULL,
  address    TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  sent_at    INTEGER NOT NULL,
  problem    TEXT    NOT NULL
) STRICT;

CREATE TABLE alert_choices (
  user_id TEXT NOT NULL PRIMARY KEY,
  body    TEXT NOT NULL
) STRICT;

CREATE TABLE alert_deliveries (
  delivery_id TEXT    NOT NULL PRIMARY KEY,
  target_id   TEXT    NOT NULL REFERENCES alert_targets ON DELETE CASCADE,
  occasion    TEXT    NOT NULL,
  step        TEXT    NOT NULL,
  session_id  TEXT    NOT NULL,
  request_id  TEXT    NOT NULL,
  state       TEXT    NOT NULL,
  attempts    INTEGER NOT NULL,
  due_at      INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  sent_at     INTEGER NOT NULL
) STRICT;

CREATE INDEX alert_deliveries_of ON alert_deliveries (target_id);
