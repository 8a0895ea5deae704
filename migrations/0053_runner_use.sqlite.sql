-- A draining runner starts no processes; those that run stay. Labels that an admin gave replace
-- those that the runner says, as a JSON array; '' for none.
ALTER TABLE runners ADD COLUMN draining INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runners ADD COLUMN given_labels TEXT NOT NULL DEFAULT '';
