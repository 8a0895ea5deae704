-- Who answered what. Rows are only ever added; each hash covers the one before.
CREATE TABLE audit (
  seq  bigint NOT NULL PRIMARY KEY,
  body bytea  NOT NULL,
  hash bytea  NOT NULL
);

CREATE FUNCTION audit_stays() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'the audit trail is not changed'; END $$;
CREATE TRIGGER audit_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_stays();
