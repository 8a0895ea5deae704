-- A runner on another host has a token, of which the hash is stored in hexadecimal; one inside a
-- server never gets one.
ALTER TABLE runners ADD COLUMN remote INTEGER NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX runners_token ON runners (token_hash) WHERE token_hash IS NOT NULL;
