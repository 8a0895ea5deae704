-- Who is behind a credential: the credential it was made with ('' when a person or the
-- command line made it), the user who made it or had the secret ('' unknown), and when
-- bound, that it ends with its parent and not after bound_until (0: no end).
-- page_key is the SHA-256 of the secret of the pages that may use a cookie.
ALTER TABLE credentials ADD COLUMN parent_id text NOT NULL DEFAULT '';
ALTER TABLE credentials ADD COLUMN created_by text NOT NULL DEFAULT '';
ALTER TABLE credentials ADD COLUMN bound boolean NOT NULL DEFAULT false;
ALTER TABLE credentials ADD COLUMN bound_until bigint NOT NULL DEFAULT 0;
ALTER TABLE credentials ADD COLUMN page_key bytea;
CREATE INDEX credentials_bound ON credentials (parent_id) WHERE bound;

ALTER TABLE passkeys ADD COLUMN created_by text NOT NULL DEFAULT '';
ALTER TABLE links ADD COLUMN created_by text NOT NULL DEFAULT '';

-- Two names of one canonical form cannot both be made. '' of names that are older or
-- have none.
ALTER TABLE users ADD COLUMN canonical_name text NOT NULL DEFAULT '';
CREATE UNIQUE INDEX users_canonical_name ON users (canonical_name) WHERE canonical_name <> '';
ALTER TABLE users ADD COLUMN created_by text NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN password_by text NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN password_at bigint NOT NULL DEFAULT 0;
