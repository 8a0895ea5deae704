-- Old entries of the audit trail may go, once the chain has its new beginning
-- here: the last entry that was removed. Nothing else is ever deleted.
CREATE TABLE audit_base (
  one  bigint NOT NULL PRIMARY KEY CHECK (one = 1),
  seq  bigint NOT NULL,
  hash bytea  NOT NULL
);

CREATE FUNCTION audit_base_stays() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF TG_OP = 'UPDATE' AND NEW.seq > OLD.seq THEN RETURN NEW; END IF;
  RAISE EXCEPTION 'the audit trail does not begin earlier';
END $$;
CREATE TRIGGER audit_base_stays BEFORE UPDATE OR DELETE ON audit_base FOR EACH ROW EXECUTE FUNCTION audit_base_stays();

DROP TRIGGER audit_stays ON audit;
CREATE TRIGGER audit_stays BEFORE UPDATE OR TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_stays();
CREATE FUNCTION audit_stays_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF OLD.seq > coalesce((SELECT seq FROM audit_base), 0) THEN RAISE EXCEPTION 'the audit trail is not changed'; END IF;
  RETURN OLD;
END $$;
CREATE TRIGGER audit_stays_row BEFORE DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_stays_row();

-- What is changed while the server runs; what is not here is as the server was
-- started.
CREATE TABLE settings (
  name       text   NOT NULL PRIMARY KEY,
  value      text   NOT NULL,
  changed_by text   NOT NULL,
  changed_at bigint NOT NULL
);
