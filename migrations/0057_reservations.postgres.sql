-- The sessions whose process is about to start, which limits count before they run. A row counts until it
-- expires, in the time of the database, because its server may die. The mark of 'sessions' grows with each
-- row: who wants to add one must have counted what is there.
CREATE TABLE reservations (
  session_id text   NOT NULL PRIMARY KEY,
  cwd        bytea  NOT NULL,
  owner_id   text   NOT NULL,
  expires_at bigint NOT NULL
);

CREATE TABLE reservation_marks (
  name text   NOT NULL PRIMARY KEY,
  mark bigint NOT NULL
);
