-- The failed sign-ins of the last hour, which all servers count together. key is a hash of an address,
-- an account, or both; failed_at is a time of the database. A sign-in has a row for each of its keys.
CREATE TABLE sign_in_failures (
  key        bytea  NOT NULL,
  failure_id text   NOT NULL,
  failed_at  bigint NOT NULL,
  PRIMARY KEY (failure_id, key)
);

CREATE INDEX sign_in_failures_by_key ON sign_in_failures (key, failed_at);
CREATE INDEX sign_in_failures_by_time ON sign_in_failures (failed_at);
