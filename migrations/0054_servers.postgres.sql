-- The servers that share this database. public_key is the SHA-256 of the key with which a server
-- identifies itself to the others; a row counts until it expires, in the time of the database.
CREATE TABLE servers (
  server_id  text   NOT NULL PRIMARY KEY,
  name       text   NOT NULL,
  release    text   NOT NULL,
  address    text   NOT NULL,
  public_key bytea  NOT NULL,
  expires_at bigint NOT NULL
);
