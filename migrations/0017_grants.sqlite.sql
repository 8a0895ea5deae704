-- What a person said beside an approval so that Claude does not ask again. It
-- outlives its session: the rule may stand in a settings file.
CREATE TABLE grants (
  grant_id     TEXT    NOT NULL PRIMARY KEY,
  kind         TEXT    NOT NULL,
  rule         TEXT    NOT NULL,
  scope        TEXT    NOT NULL,
  folder       TEXT    NOT NULL,
  session_id   TEXT    NOT NULL,
  process_id   TEXT    NOT NULL,
  request_id   TEXT    NOT NULL,
  tool_name    TEXT    NOT NULL,
  by_user_id   TEXT    NOT NULL,
  by_name      TEXT    NOT NULL,
  by_device    TEXT    NOT NULL,
  granted_at   INTEGER NOT NULL,
  uses         INTEGER NOT NULL DEFAULT 0,
  last_used_at INTEGER NOT NULL DEFAULT 0,
  revoked_at   INTEGER NOT NULL DEFAULT 0,
  revoked_by   TEXT    NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX grants_request ON grants (request_id);
CREATE INDEX grants_live ON grants (granted_at) WHERE revoked_at = 0;
