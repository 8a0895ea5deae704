-- What each person keeps about sessions, for themselves alone: which ones they pinned, and how
-- far they have read. pinned_at is 0 for a session that is not pinned, seen is the seq of the
-- last item that was read, and changed_at grows with each change.
CREATE TABLE bookmarks (
  user_id    text NOT NULL REFERENCES users (user_id) ON DELETE CASCADE,
  session_id text NOT NULL REFERENCES sessions (session_id) ON DELETE CASCADE,
  pinned_at  bigint NOT NULL,
  seen       bigint NOT NULL,
  seen_at    bigint NOT NULL,
  changed_at bigint NOT NULL,
  PRIMARY KEY (user_id, session_id)
);

CREATE INDEX bookmarks_session ON bookmarks (session_id);
