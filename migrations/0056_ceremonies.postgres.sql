-- The sign-ins in two steps that were finished, until they expire in the time of the database. Any server
-- can finish one, and each only once.
CREATE TABLE ceremonies (
  ceremony_id bytea  NOT NULL PRIMARY KEY,
  expires_at  bigint NOT NULL
);
