-- What a person said beside an approval so that Claude does not ask again. It
-- outlives its session: the rule may stand in a settings file.
CREATE TABLE grants (
  grant_id     text   NOT NULL PRIMARY KEY,
  kind         text   NOT NULL,
  rule         bytea  NOT NULL,
  scope        text   NOT NULL,
  folder       bytea  NOT NULL,
  session_id   text   NOT NULL,
  process_id   text   NOT NULL,
  request_id   text   NOT NULL,
  tool_name    text   NOT NULL,
  by_user_id   text   NOT NULL,
  by_name      text   NOT NULL,
  by_device    text   NOT NULL,
  granted_at   bigint NOT NULL,
  uses         bigint NOT NULL DEFAULT 0,
  last_used_at bigint NOT NULL DEFAULT 0,
  revoked_at   bigint NOT NULL DEFAULT 0,
  revoked_by   text   NOT NULL DEFAULT ''
);

CREATE INDEX grants_request ON grants (request_id);
CREATE INDEX grants_live ON grants (granted_at) WHERE revoked_at = 0;
