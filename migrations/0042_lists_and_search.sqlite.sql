-- Lists by time, without an index that each word of Claude's would change: sessions that
-- run are few, and those that do not are indexed.
CREATE INDEX processes_dead ON processes (updated_at, session_id) WHERE state = 'dead';
CREATE INDEX processes_held ON processes (session_id) WHERE held <> '';

-- How far the transcript is in the index of searches, in the row that says how long it is,
-- so that what is behind has an index.
ALTER TABLE processes ADD COLUMN indexed_rev INTEGER NOT NULL DEFAULT 0;
DROP TABLE transcript_indexed;
CREATE INDEX processes_unindexed ON processes (session_id) WHERE rev > indexed_rev;

-- A search finds words by their beginnings. Without an index of the short ones, one or two
-- letters were looked up in the lists of every word that begins with them. The words are
-- taken in again behind the transcripts. The index of PostgreSQL finds beginnings as it is.
DROP TABLE transcript_index;
CREATE VIRTUAL TABLE transcript_index USING fts5 (words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii', prefix = '1 2 3');
