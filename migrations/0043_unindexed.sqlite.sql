-- Whether a transcript has items that searches do not find, in a column of its own: an index
-- on rev > indexed_rev was written with each item, although its entry stayed the same.
ALTER TABLE processes ADD COLUMN unindexed INTEGER NOT NULL DEFAULT 0;
UPDATE processes SET unindexed = 1 WHERE rev > indexed_rev;
DROP INDEX processes_unindexed;
CREATE INDEX processes_unindexed ON processes (session_id) WHERE unindexed;
