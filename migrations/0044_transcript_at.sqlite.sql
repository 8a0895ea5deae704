-- What happened since a moment is found in the index, without reading the older items: texts
-- are long, so each is on another page of the file. That a rev is used once is kept by its
-- counter.
DROP INDEX transcript_rev;
CREATE INDEX transcript_rev ON transcript (session_id, rev, at);
