-- What people chose for themselves, wherever they sit: their keys, and the
-- language they are spoken to in. keys is a JSON object.
CREATE TABLE preferences (
  user_id     text    NOT NULL PRIMARY KEY,
  keys        bytea   NOT NULL,
  single_keys boolean NOT NULL,
  language    text    NOT NULL
);

-- One with a name was made by hand and stays; the others were learned from what
-- was said, at the place that they are offered at again.
ALTER TABLE templates ADD COLUMN name text NOT NULL DEFAULT '';
ALTER TABLE templates ADD COLUMN place text NOT NULL DEFAULT 'reason';

-- How long Claude waited for people, of late.
CREATE INDEX requests_resolved ON requests (resolved_at) WHERE resolved_at > 0;
