-- What is near Claude: shims, folders and files. One server at a time drives a runner, by a lease
-- whose epoch the store and the shims check (docs/contributing/runners.md). The database of an
-- earlier release gets one with an empty id, which the first server to start makes its own.
CREATE TABLE runners (
  runner_id        text    NOT NULL PRIMARY KEY,
  name             text    NOT NULL DEFAULT '',
  labels           text    NOT NULL DEFAULT '[]',
  token_hash       bytea,
  installation_id  text    NOT NULL DEFAULT '',
  machine          text    NOT NULL DEFAULT '',
  roots            text    NOT NULL DEFAULT '[]',
  capacity         text    NOT NULL DEFAULT '{}',
  clis             text    NOT NULL DEFAULT '[]',
  release          text    NOT NULL DEFAULT '',
  paused           boolean NOT NULL DEFAULT false,
  removed_at       bigint  NOT NULL DEFAULT 0,
  lease_epoch      bigint  NOT NULL DEFAULT 0,
  lease_server     text    NOT NULL DEFAULT '',
  lease_expires_at bigint  NOT NULL DEFAULT 0,
  clock_skew       bigint  NOT NULL DEFAULT 0,
  seen_at          bigint  NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- PostgreSQL locks a row for a change of a uniquely indexed column so that it waits for everybody
-- who holds FOR KEY SHARE, and for any other change so that it does not. So taking a lease waits
-- for the writes that compare its epoch, and renewing it does not.
CREATE UNIQUE INDEX runners_lease ON runners (runner_id, lease_epoch);

INSERT INTO runners (runner_id, lease_epoch) SELECT '', last FROM epochs WHERE last > 0;
DROP TABLE epochs;

-- '' for a session whose process runs elsewhere.
ALTER TABLE sessions ADD COLUMN runner_id text NOT NULL DEFAULT '';

-- It has only ever named one server.
ALTER TABLE processes DROP COLUMN node_id;
