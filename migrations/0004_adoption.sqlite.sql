-- What a server must know to go on where the one before it stopped.

-- carried_from names the request that the person answered, carried_to the one
-- that got the answer of this one. What was asked earlier stands beside earlier,
-- because it must come back byte for byte.
ALTER TABLE requests ADD COLUMN process_id TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN carried_from TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN carried_to TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN earlier TEXT;
ALTER TABLE requests ADD COLUMN earlier_tool_input TEXT;

-- Messages wait in the order of place, then of their creation: one that is put
-- back gets a place below zero.
ALTER TABLE messages ADD COLUMN place INTEGER NOT NULL DEFAULT 0;

-- How far the journal of a session's process is taken in.
CREATE TABLE marks (
  session_id     TEXT    NOT NULL PRIMARY KEY REFERENCES sessions (session_id) ON DELETE CASCADE,
  process_id     TEXT    NOT NULL,
  journal_offset INTEGER NOT NULL,
  memo           TEXT
) STRICT;

-- One row. Epochs are not below the time in microseconds, so that a database
-- restored from a backup gives none that was given after the backup.
CREATE TABLE epochs (last INTEGER NOT NULL) STRICT;
INSERT INTO epochs VALUES (0);
