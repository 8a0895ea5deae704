-- Who answered what. Rows are only ever added; each hash covers the one before.
CREATE TABLE audit (
  seq  INTEGER NOT NULL PRIMARY KEY,
  body TEXT    NOT NULL,
  hash BLOB    NOT NULL
) STRICT;

CREATE TRIGGER audit_stays_update BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit trail is not changed'); END;
CREATE TRIGGER audit_stays_delete BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit trail is not changed'); END;
