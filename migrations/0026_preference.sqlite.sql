-- What people chose for themselves, wherever they sit: their keys, and the
-- language they are spoken to in. keys is a JSON object.
CREATE TABLE preferences (
  user_id     TEXT    NOT NULL PRIMARY KEY,
  keys        TEXT    NOT NULL,
  single_keys INTEGER NOT NULL,
  language    TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

-- One with a name was made by hand and stays; the others were learned from what
-- was said, at the place that they are offered at again.
ALTER TABLE templates ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE templates ADD COLUMN place TEXT NOT NULL DEFAULT 'reason';

-- How long Claude waited for people, of late.
CREATE INDEX requests_resolved ON requests (resolved_at) WHERE resolved_at > 0;
