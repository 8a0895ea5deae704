-- What sessions have cost on a day, counted in days since 1970 in UTC, for each
-- project, '' for none, and each person whose sessions they are; in millionths of
-- a dollar.
CREATE TABLE spending (
  day        bigint NOT NULL,
  in_project text   NOT NULL,
  user_id    text   NOT NULL,
  micros     bigint NOT NULL,
  PRIMARY KEY (day, in_project, user_id)
);

-- Limits of one person that are not those of everybody; body is JSON.
CREATE TABLE user_limits (
  user_id text  NOT NULL PRIMARY KEY,
  body    bytea NOT NULL
);

-- Why what is queued is not said, or the session does not go on; '' for no reason.
ALTER TABLE processes ADD COLUMN held text NOT NULL DEFAULT '';
