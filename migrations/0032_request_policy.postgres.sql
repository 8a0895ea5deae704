-- What the asker demands of whoever decides a request, as JSON; NULL for nothing.
ALTER TABLE requests ADD COLUMN policy bytea;
