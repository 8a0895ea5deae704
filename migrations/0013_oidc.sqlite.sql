-- Who somebody is to an identity provider. Never found by name or e-mail: a
-- provider may give those to somebody else.
CREATE TABLE links (
  issuer     TEXT    NOT NULL,
  subject    TEXT    NOT NULL,
  user_id    TEXT    NOT NULL REFERENCES users (user_id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;
