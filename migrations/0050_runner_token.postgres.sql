-- A runner on another host has a token, of which the hash is stored in hexadecimal; one inside a
-- server never gets one. Renewing a lease changes neither column, so that it still waits for no
-- write that compares the epoch.
ALTER TABLE runners ADD COLUMN remote boolean NOT NULL DEFAULT false;
CREATE UNIQUE INDEX runners_token ON runners (token_hash) WHERE token_hash IS NOT NULL;
