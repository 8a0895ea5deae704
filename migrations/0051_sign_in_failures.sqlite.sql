-- The failed sign-ins of the last hour, which all servers count together. A file has only one server,
-- which counts them in its memory, so this table stays empty.
CREATE TABLE sign_in_failures (
  key        BLOB    NOT NULL,
  failure_id TEXT    NOT NULL,
  failed_at  INTEGER NOT NULL,
  PRIMARY KEY (failure_id, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX sign_in_failures_by_key ON sign_in_failures (key, failed_at);
CREATE INDEX sign_in_failures_by_time ON sign_in_failures (failed_at);
