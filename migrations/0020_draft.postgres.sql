-- What people have half written, each for themselves alone: the answer to a
-- request, or a message to a session, with request_id ''.
CREATE TABLE drafts (
  user_id    text   NOT NULL,
  session_id text   NOT NULL REFERENCES sessions (session_id) ON DELETE CASCADE,
  request_id text   NOT NULL,
  value      bytea  NOT NULL,
  changed_at bigint NOT NULL,
  PRIMARY KEY (user_id, session_id, request_id)
);

CREATE INDEX drafts_session ON drafts (session_id);

-- What people say again and again.
CREATE TABLE templates (
  user_id     text   NOT NULL,
  template_id text   NOT NULL,
  text        text   NOT NULL,
  uses        bigint NOT NULL,
  used_at     bigint NOT NULL,
  PRIMARY KEY (user_id, template_id)
);
