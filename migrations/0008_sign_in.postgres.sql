-- Passwords are argon2id in the PHC string format; '' is none.
ALTER TABLE users ADD COLUMN password text NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN disabled boolean NOT NULL DEFAULT false;

-- The most that the bearer may do, '' for what the user may.
ALTER TABLE credentials ADD COLUMN role text NOT NULL DEFAULT '';
-- Where a sign-in came from.
ALTER TABLE credentials ADD COLUMN address text NOT NULL DEFAULT '';
