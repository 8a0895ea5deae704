-- The bytes of attachments, in parts with the SHA-256 of each, so that no write is long. They are
-- stored before the row of their attachment. Attachments of before may still be files in the state
-- folder of the server, which takes them over when it starts.
CREATE TABLE attachment_chunks (
  attachment_id TEXT    NOT NULL,
  number        INTEGER NOT NULL,
  hash          BLOB    NOT NULL,
  created_at    INTEGER NOT NULL,
  data          BLOB    NOT NULL,
  PRIMARY KEY (attachment_id, number)
) STRICT;
