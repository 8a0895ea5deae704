-- A link that a person made to an account they had: it signs them in and gives no
-- role. The others made the account, and say its role at each sign-in.
ALTER TABLE links ADD COLUMN by_hand boolean NOT NULL DEFAULT false;

CREATE INDEX links_user ON links (user_id);
