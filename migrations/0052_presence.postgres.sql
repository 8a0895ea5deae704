-- What people see on each server, for the one that sends alerts. Times are those of the database, and
-- last_active_at is 0 for a person who was never active; a row counts until it expires.
CREATE TABLE presence (
  server_id      text   NOT NULL,
  user_id        text   NOT NULL,
  active         bigint NOT NULL,
  last_active_at bigint NOT NULL,
  seen           text   NOT NULL,
  expires_at     bigint NOT NULL,
  PRIMARY KEY (server_id, user_id)
);
