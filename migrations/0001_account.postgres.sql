-- Who may do what. Secrets are never here, only their SHA-256.
-- Times are Unix microseconds; 0 is no time.

CREATE TABLE users (
  user_id    text   NOT NULL PRIMARY KEY,
  name       text   NOT NULL UNIQUE,
  role       text   NOT NULL,
  created_at bigint NOT NULL
);

CREATE TABLE credentials (
  credential_id text    NOT NULL PRIMARY KEY,
  kind          text    NOT NULL,
  user_id       text    NOT NULL REFERENCES users (user_id) ON DELETE CASCADE,
  name          text    NOT NULL,
  hash          bytea   NOT NULL UNIQUE,
  created_at    bigint  NOT NULL,
  expires_at    bigint  NOT NULL,
  last_used_at  bigint  NOT NULL,
  revoked       boolean NOT NULL
);

CREATE INDEX credentials_user ON credentials (user_id);

-- The first ack of every command; it outlives its user.
CREATE TABLE commands (
  user_id    text   NOT NULL,
  command_id text   NOT NULL,
  ack        bytea  NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (user_id, command_id)
);
