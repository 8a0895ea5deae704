-- Passwords are argon2id in the PHC string format; '' is none.
ALTER TABLE users ADD COLUMN password TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN disabled INTEGER NOT NULL DEFAULT 0;

-- The most that the bearer may do, '' for what the user may.
ALTER TABLE credentials ADD COLUMN role TEXT NOT NULL DEFAULT '';
-- Where a sign-in came from.
ALTER TABLE credentials ADD COLUMN address TEXT NOT NULL DEFAULT '';
