-- The credential with which the first of two approvals was given: one that has ended
-- since does not count. '' of those that are older.
ALTER TABLE requests ADD COLUMN approver_credential text NOT NULL DEFAULT '';
