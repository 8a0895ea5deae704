-- How a sign-in was got, '' of those from before; method_id is the passkey or
-- token that made it, so that it can end with that.
ALTER TABLE credentials ADD COLUMN method text NOT NULL DEFAULT '';
ALTER TABLE credentials ADD COLUMN method_id text NOT NULL DEFAULT '';

-- Passkeys hold no secret: data has the public half. sign_count only grows.
CREATE TABLE passkeys (
  passkey_id   text   NOT NULL PRIMARY KEY,
  user_id      text   NOT NULL REFERENCES users (user_id) ON DELETE CASCADE,
  name         text   NOT NULL,
  key_id       bytea  NOT NULL UNIQUE,
  rp_id        text   NOT NULL,
  data         bytea  NOT NULL,
  sign_count   bigint NOT NULL,
  created_at   bigint NOT NULL,
  last_used_at bigint NOT NULL
);

CREATE INDEX passkeys_user ON passkeys (user_id);
