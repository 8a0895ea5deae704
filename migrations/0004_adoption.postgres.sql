-- What a server must know to go on where the one before it stopped.
-- bytea where bytes must come back exactly: text refuses NUL and invalid UTF-8.

-- carried_from names the request that the person answered, carried_to the one
-- that got the answer of this one. What was asked earlier stands beside earlier,
-- because it must come back byte for byte.
ALTER TABLE requests ADD COLUMN process_id text NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN carried_from text NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN carried_to text NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN earlier bytea;
ALTER TABLE requests ADD COLUMN earlier_tool_input bytea;

-- Messages wait in the order of place, then of their creation: one that is put
-- back gets a place below zero.
ALTER TABLE messages ADD COLUMN place bigint NOT NULL DEFAULT 0;

-- How far the journal of a session's process is taken in.
CREATE TABLE marks (
  session_id     text   NOT NULL PRIMARY KEY REFERENCES sessions (session_id) ON DELETE CASCADE,
  process_id     bytea  NOT NULL,
  journal_offset bigint NOT NULL,
  memo           bytea
) WITH (fillfactor = 50);

-- One row. Epochs are not below the time in microseconds, so that a database
-- restored from a backup gives none that was given after the backup.
CREATE TABLE epochs (last bigint NOT NULL);
INSERT INTO epochs VALUES (0);
