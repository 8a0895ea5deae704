-- A draining runner starts no processes; those that run stay. Labels that an admin gave replace
-- those that the runner says, as a JSON array; '' for none. Renewing a lease changes neither column.
ALTER TABLE runners ADD COLUMN draining boolean NOT NULL DEFAULT false;
ALTER TABLE runners ADD COLUMN given_labels text NOT NULL DEFAULT '';
