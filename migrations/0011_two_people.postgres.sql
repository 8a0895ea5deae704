-- The first of two people who must approve a request; '' while there is none.
ALTER TABLE requests ADD COLUMN approver_id text NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN approver_name text NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN approver_device text NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN approver_command text NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN approved_at bigint NOT NULL DEFAULT 0;
