-- The conversation from which the first process of a fork continues, and its last entry there. The
-- CLI saves a fork with its first message; until then each process forks anew. '' for none.
ALTER TABLE sessions ADD COLUMN origin_session_id text NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN origin_entry_id text NOT NULL DEFAULT '';
