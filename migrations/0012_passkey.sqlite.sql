-- How a sign-in was got, '' of those from before; method_id is the passkey or
-- token that made it, so that it can end with that.
ALTER TABLE credentials ADD COLUMN method TEXT NOT NULL DEFAULT '';
ALTER TABLE credentials ADD COLUMN method_id TEXT NOT NULL DEFAULT '';

-- Passkeys hold no secret: data has the public half. sign_count only grows.
CREATE TABLE passkeys (
  passkey_id   TEXT    NOT NULL PRIMARY KEY,
  user_id      TEXT    NOT NULL REFERENCES users (user_id) ON DELETE CASCADE,
  name         TEXT    NOT NULL,
  key_id       BLOB    NOT NULL UNIQUE,
  rp_id        TEXT    NOT NULL,
  data         BLOB    NOT NULL,
  sign_count   INTEGER NOT NULL,
  created_at   INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX passkeys_user ON passkeys (user_id);
