-- What is remembered of a conversation.
-- Columns named ..._folded hold the words of a search: case-folded, valid text.
-- bytea where bytes must come back exactly: text refuses NUL and invalid UTF-8.

CREATE TABLE sessions (
  session_id      text    NOT NULL PRIMARY KEY,
  project_id      text    NOT NULL,
  title           text    NOT NULL,
  title_folded    text    NOT NULL,
  cwd             bytea   NOT NULL,
  cwd_folded      text    NOT NULL,
  model           text    NOT NULL,
  permission_mode text    NOT NULL,
  allowed_tools   bytea,
  owner_id        text    NOT NULL,
  archived        boolean NOT NULL,
  demo            boolean NOT NULL,
  begun           boolean NOT NULL,
  created_at      bigint  NOT NULL
);

-- The part of a session that moves: one narrow row without a second index, so
-- that a bump of the version stays on its page. items and rev count the
-- transcript.
CREATE TABLE processes (
  session_id       text             NOT NULL PRIMARY KEY REFERENCES sessions (session_id) ON DELETE CASCADE,
  version          bigint           NOT NULL,
  updated_at       bigint           NOT NULL,
  items            bigint           NOT NULL,
  rev              bigint           NOT NULL,
  state            text             NOT NULL,
  started_at       bigint           NOT NULL,
  state_changed_at bigint           NOT NULL,
  model            text             NOT NULL,
  permission_mode  text             NOT NULL,
  memory           bigint           NOT NULL,
  cpu              double precision NOT NULL,
  pid              bigint           NOT NULL,
  process_id       text             NOT NULL,
  node_id          text             NOT NULL,
  error            text             NOT NULL,
  kill_reason      text             NOT NULL,
  stuck            text             NOT NULL
) WITH (fillfactor = 50);

-- The wire calls key and rev by these names; seq has no gaps, rev may have.
CREATE TABLE transcript (
  session_id text   NOT NULL REFERENCES sessions (session_id) ON DELETE CASCADE,
  seq        bigint NOT NULL,
  rev        bigint NOT NULL,
  key        bytea  NOT NULL,
  at         bigint NOT NULL,
  kind       text   NOT NULL,
  agent_id   text   NOT NULL,
  body       bytea,
  UNIQUE (session_id, key)
);

CREATE UNIQUE INDEX transcript_rev ON transcript (session_id, rev);

CREATE TABLE messages (
  seq         bigint NOT NULL PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  message_id  text   NOT NULL UNIQUE,
  session_id  text   NOT NULL REFERENCES sessions (session_id) ON DELETE CASCADE,
  text        bytea  NOT NULL,
  attachments bytea,
  by_user_id  text   NOT NULL,
  by_name     text   NOT NULL,
  by_device   text   NOT NULL,
  created_at  bigint NOT NULL,
  sent_at     bigint NOT NULL
);

CREATE INDEX messages_session ON messages (session_id, sent_at);
