-- A project is a name over folders. body is JSON: folders, members, rights, rules
-- and limits. name_folded keeps names apart whatever their case.
CREATE TABLE projects (
  project_id  text   NOT NULL PRIMARY KEY,
  name        text   NOT NULL,
  name_folded text   NOT NULL UNIQUE,
  version     bigint NOT NULL,
  created_at  bigint NOT NULL,
  body        bytea  NOT NULL
);

-- The folders once more, to find the project of a session; bytes, as its own is.
CREATE TABLE project_folders (
  folder     bytea NOT NULL PRIMARY KEY,
  project_id text  NOT NULL REFERENCES projects (project_id) ON DELETE CASCADE
);

-- The project of a session, '' for the default one. project_id groups by folder,
-- as it did before there were projects.
ALTER TABLE sessions ADD COLUMN in_project text NOT NULL DEFAULT '';
