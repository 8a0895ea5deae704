-- What each person keeps about sessions, for themselves alone: which ones they pinned, and how
-- far they have read. pinned_at is 0 for a session that is not pinned, seen is the seq of the
-- last item that was read, and changed_at grows with each change.
CREATE TABLE bookmarks (
  user_id    TEXT NOT NULL REFERENCES users (user_id) ON DELETE CASCADE,
  session_id TEXT NOT NULL REFERENCES sessions (session_id) ON DELETE CASCADE,
  pinned_at  INTEGER NOT NULL,
  seen       INTEGER NOT NULL,
  seen_at    INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, session_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX bookmarks_session ON bookmarks (session_id);
