-- The first of two people who must approve a request; '' while there is none.
ALTER TABLE requests ADD COLUMN approver_id TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN approver_name TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN approver_device TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN approver_command TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN approved_at INTEGER NOT NULL DEFAULT 0;
