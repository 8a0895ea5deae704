-- The words of transcripts. They are taken in behind the transcripts, by their
-- cursor, so that nothing waits for it that an agent says.

CREATE TABLE transcript_words (
  word_id    bigint NOT NULL PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  session_id text   NOT NULL REFERENCES sessions (session_id) ON DELETE CASCADE,
  key        bytea  NOT NULL,
  UNIQUE (session_id, key)
);

-- How far the transcript of a session is taken in.
CREATE TABLE transcript_indexed (
  session_id text   NOT NULL PRIMARY KEY REFERENCES sessions (session_id) ON DELETE CASCADE,
  rev        bigint NOT NULL
);

-- The text is in the transcript already. Words come folded, and no parser or
-- dictionary of the database touches them.
CREATE TABLE transcript_index (
  word_id bigint   NOT NULL PRIMARY KEY REFERENCES transcript_words (word_id) ON DELETE CASCADE,
  words   tsvector NOT NULL
);

CREATE INDEX transcript_index_words ON transcript_index USING gin (words);
