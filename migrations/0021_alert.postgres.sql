-- Where people are told that a request waits, what they chose, and what was sent.
CREATE TABLE alert_targets (
  target_id  text    NOT NULL PRIMARY KEY,
  user_id    text    NOT NULL,
  kind       text    NOT NULL,
  name       text    NOT NULL,
  address    text    NOT NULL,
  created_at bigint  NOT NULL,
  sent_at    bigint  NOT NULL,
  problem    text    NOT NULL
);

CREATE TABLE alert_choices (
  user_id text NOT NULL PRIMARY KEY,
  body    text NOT NULL
);

CREATE TABLE alert_deliveries (
  delivery_id text    NOT NULL PRIMARY KEY,
  target_id   text    NOT NULL REFERENCES alert_targets ON DELETE CASCADE,
  occasion    text    NOT NULL,
  step        text    NOT NULL,
  session_id  text    NOT NULL,
  request_id  text    NOT NULL,
  state       text    NOT NULL,
  attempts    bigint  NOT NULL,
  due_at      bigint  NOT NULL,
  created_at  bigint  NOT NULL,
  sent_at     bigint  NOT NULL
);

CREATE INDEX alert_deliveries_of ON alert_deliveries (target_id);
