-- The lease of the server that runs the jobs of all servers. term grows with each new leader,
-- expires_at is a time of the database, 0 after the leader gave it back.
CREATE TABLE job_lease (
  name       text   NOT NULL PRIMARY KEY,
  server_id  text   NOT NULL,
  term       bigint NOT NULL,
  expires_at bigint NOT NULL
);
