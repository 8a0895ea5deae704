-- The questions that block an agent. status is the word of the compare-and-set.
-- bytea where bytes must come back exactly: text refuses NUL and invalid UTF-8.

CREATE TABLE requests (
  seq                    bigint NOT NULL PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  request_id             text   NOT NULL UNIQUE,
  session_id             text   NOT NULL REFERENCES sessions (session_id) ON DELETE CASCADE,
  status                 text   NOT NULL,
  delivery               text   NOT NULL,
  created_at             bigint NOT NULL,
  expires_at             bigint NOT NULL,
  request_type           text   NOT NULL,
  source                 text   NOT NULL,
  asker_request_id       bytea  NOT NULL,
  asker_tool_use_id      bytea  NOT NULL,
  tool_name              text   NOT NULL,
  input_hash             text   NOT NULL,
  agent_id               text   NOT NULL,
  agent_type             text   NOT NULL,
  title                  text   NOT NULL,
  description            text   NOT NULL,
  decision_reason        text   NOT NULL,
  blocked_path           bytea  NOT NULL,
  by_user_id             text   NOT NULL DEFAULT '',
  by_name                text   NOT NULL DEFAULT '',
  by_device              text   NOT NULL DEFAULT '',
  reason                 text   NOT NULL DEFAULT '',
  resolved_at            bigint NOT NULL DEFAULT 0,
  command_id             text   NOT NULL DEFAULT '',
  draft                  bytea,
  answer                 bytea,
  form                   bytea,
  permission_suggestions bytea,
  tool_input             bytea
);

-- Few rows are answerable at any time, so this index stays small.
CREATE INDEX requests_answerable ON requests (session_id, created_at) WHERE status IN ('open', 'orphaned');
CREATE INDEX requests_delivery ON requests (session_id, delivery);
