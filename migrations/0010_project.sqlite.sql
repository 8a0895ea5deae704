-- A project is a name over folders. body is JSON: folders, members, rights, rules
-- and limits. name_folded keeps names apart whatever their case.
CREATE TABLE projects (
  project_id  TEXT    NOT NULL PRIMARY KEY,
  name        TEXT    NOT NULL,
  name_folded TEXT    NOT NULL UNIQUE,
  version     INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  body        TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

-- The folders once more, to find the project of a session.
CREATE TABLE project_folders (
  folder     TEXT NOT NULL PRIMARY KEY,
  project_id TEXT NOT NULL REFERENCES projects (project_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- The project of a session, '' for the default one. project_id groups by folder,
-- as it did before there were projects.
ALTER TABLE sessions ADD COLUMN in_project TEXT NOT NULL DEFAULT '';
