-- An answer that counts after some seconds: its text and the command that stands, '' while none does.
ALTER TABLE requests ADD COLUMN held TEXT;
ALTER TABLE requests ADD COLUMN held_command TEXT NOT NULL DEFAULT '';
-- The commands whose held answers were taken back, each between two spaces.
ALTER TABLE requests ADD COLUMN taken_back TEXT NOT NULL DEFAULT '';
