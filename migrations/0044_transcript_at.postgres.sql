-- What happened since a moment is found in the index, without reading the older items. That a
-- rev is used once is kept by its counter.
DROP INDEX transcript_rev;
CREATE INDEX transcript_rev ON transcript (session_id, rev, at);
