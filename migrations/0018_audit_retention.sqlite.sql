-- Old entries of the audit trail may go, once the chain has its new beginning
-- here: the last entry that was removed. Nothing else is ever deleted.
CREATE TABLE audit_base (
  one  INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  seq  INTEGER NOT NULL,
  hash BLOB    NOT NULL
) STRICT;

CREATE TRIGGER audit_base_stays_update BEFORE UPDATE ON audit_base WHEN NEW.seq <= OLD.seq BEGIN SELECT RAISE(ABORT, 'the audit trail does not begin earlier'); END;
CREATE TRIGGER audit_base_stays_delete BEFORE DELETE ON audit_base BEGIN SELECT RAISE(ABORT, 'the audit trail does not begin earlier'); END;

DROP TRIGGER audit_stays_delete;
CREATE TRIGGER audit_stays_delete BEFORE DELETE ON audit WHEN OLD.seq > coalesce((SELECT seq FROM audit_base), 0)
  BEGIN SELECT RAISE(ABORT, 'the audit trail is not changed'); END;

-- What is changed while the server runs; what is not here is as the server was
-- started.
CREATE TABLE settings (
  name       TEXT    NOT NULL PRIMARY KEY,
  value      TEXT    NOT NULL,
  changed_by TEXT    NOT NULL,
  changed_at INTEGER NOT NULL
) STRICT;
