-- Whose settings Claude may take. A folder's row is the last trust in it: the
-- digest and the items of what its settings would run or permit.
CREATE TABLE folder_trusts (
  folder     bytea  NOT NULL PRIMARY KEY,
  digest     text   NOT NULL,
  items      bytea  NOT NULL,
  user_id    text   NOT NULL,
  name       text   NOT NULL,
  trusted_at bigint NOT NULL
);

-- Sessions that run without the settings of their folder.
CREATE TABLE settings_left_out (
  session_id text NOT NULL PRIMARY KEY REFERENCES sessions (session_id) ON DELETE CASCADE
);
