-- Keys that all servers of this database use, such as that of push messages.
CREATE TABLE shared_secrets (
  name  text NOT NULL PRIMARY KEY,
  value text NOT NULL
);
