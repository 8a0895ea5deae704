-- Lists by time, without an index that each word of Claude's would change: sessions that
-- run are few, and those that do not are indexed.
CREATE INDEX processes_dead ON processes (updated_at, session_id) WHERE state = 'dead';
CREATE INDEX processes_running ON processes (session_id) WHERE state <> 'dead';
CREATE INDEX processes_held ON processes (session_id) WHERE held <> '';

-- How far the transcript is in the index of searches, in the row that says how long it is,
-- so that what is behind has an index.
ALTER TABLE processes ADD COLUMN indexed_rev bigint NOT NULL DEFAULT 0;
UPDATE processes p SET indexed_rev = i.rev FROM transcript_indexed i WHERE i.session_id = p.session_id;
DROP TABLE transcript_indexed;
CREATE INDEX processes_unindexed ON processes (session_id) WHERE rev > indexed_rev;
