-- The words of transcripts. They are taken in behind the transcripts, by their
-- cursor, so that nothing waits for it that an agent says.

CREATE TABLE transcript_words (
  word_id    INTEGER NOT NULL PRIMARY KEY,
  session_id TEXT    NOT NULL REFERENCES sessions (session_id) ON DELETE CASCADE,
  key        TEXT    NOT NULL,
  UNIQUE (session_id, key)
) STRICT;

-- How far the transcript of a session is taken in.
CREATE TABLE transcript_indexed (
  session_id TEXT    NOT NULL PRIMARY KEY REFERENCES sessions (session_id) ON DELETE CASCADE,
  rev        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The text is in the transcript already. Words come folded and parted by spaces,
-- and no byte beyond ASCII parts them again.
CREATE VIRTUAL TABLE transcript_index USING fts5 (words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');

CREATE TRIGGER transcript_words_gone AFTER DELETE ON transcript_words BEGIN
  DELETE FROM transcript_index WHERE rowid = old.word_id;
END;
