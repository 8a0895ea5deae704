-- Who somebody is to an identity provider. Never found by name or e-mail: a
-- provider may give those to somebody else.
CREATE TABLE links (
  issuer     text   NOT NULL,
  subject    text   NOT NULL,
  user_id    text   NOT NULL REFERENCES users (user_id) ON DELETE CASCADE,
  created_at bigint NOT NULL,
  PRIMARY KEY (issuer, subject)
);
