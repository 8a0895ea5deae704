-- The bytes of attachments, in parts with the SHA-256 of each, so that every server can read them
-- and no write is long. They are stored before the row of their attachment. Attachments of before
-- may still be files in the state folder of a server, which takes them over when it starts.
CREATE TABLE attachment_chunks (
  attachment_id text   NOT NULL,
  number        bigint NOT NULL,
  hash          bytea  NOT NULL,
  created_at    bigint NOT NULL,
  data          bytea  NOT NULL,
  PRIMARY KEY (attachment_id, number)
);

-- What is attached seldom shrinks, and compressing it again takes time.
ALTER TABLE attachment_chunks ALTER COLUMN data SET STORAGE EXTERNAL;
