// Package sqlstore contains what the two engines of the store share: how values are stored in
// columns, the SQL statements that are the same in both, and the store methods that run them. Both
// engines store the same bytes, so that one contract covers both.
//
// Text that is only displayed (titles, reasons, names) is made valid, because PostgreSQL refuses
// NUL and invalid UTF-8. Text that is compared, or returned to an asker (inputs, ids of the asker,
// paths, messages), is stored byte for byte. Times are Unix microseconds; 0 is no time.
package sqlstore

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Bind converts bytes that must be read back exactly into an argument for the engine's driver; nil
// is NULL.
type Bind func([]byte) any

// Micros returns the column value of a time.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// Time returns the time of a column value, in UTC.
func Time(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// SanitizeText replaces NUL and invalid UTF-8, which PostgreSQL refuses, with U+FFFD.
func SanitizeText(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// Fold maps text so that texts that differ only in case become equal, in any script. Searches look
// for a folded text in a folded column, by substring: so no character is special, and both engines
// find the same.
func Fold(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, SanitizeText(s))
}

// clampToInt64 limits a figure to the range of a bigint column.
func clampToInt64(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

// finiteOrZero replaces a figure that JSON cannot represent (NaN, infinite) with 0.
func finiteOrZero(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}

// DeliveryRank returns the rank of d. A delivery may only change to one of higher rank, so none may
// change to one of rank 0. Carried is the final state of an answer that was not delivered, dropped
// that of an answer on which Claude did not visibly act.
func DeliveryRank(d pending.Delivery) int {
	switch d {
	case pending.Queued:
		return 1
	case pending.Delivered, pending.Carried:
		return 2
	case pending.Consumed, pending.Dropped:
		return 3
	}
	return 0
}

// RankColumn is the [DeliveryRank] of the column delivery.
const RankColumn = `CASE delivery WHEN '' THEN 0 WHEN 'queued' THEN 1 WHEN 'delivered' THEN 2 ELSE 3 END`

// IsDecision reports whether a status is a person's decision. Such a resolution must be durable, and
// its answer is delivered.
func IsDecision(s pending.Status) bool { return s == pending.Answered || s == pending.Denied }

// encodeJSON returns the JSON of a column, nil (NULL) if isNil.
func encodeJSON[T any](v T, isNil bool) ([]byte, error) {
	if isNil {
		return nil, nil
	}
	return json.Marshal(v)
}

// decodeJSON decodes a JSON column that sayso wrote.
func decodeJSON(column string, text []byte, v any) error {
	if text == nil {
		return nil
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("column %s: %w: %w", column, ErrCorrupt, err)
	}
	return nil
}

// Cursor returns the cursor of the page after a row in the list of sessions.
func Cursor(updatedAt int64, sessionID string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(updatedAt, 10) + " " + sessionID))
}

// ParseCursor is the inverse of [Cursor]; "" is the start of the list.
func ParseCursor(cursor string) (updatedAt int64, sessionID string, err error) {
	if cursor == "" {
		return math.MaxInt64, "", nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || !utf8.Valid(text) || strings.IndexByte(string(text), 0) >= 0 {
		return 0, "", session.ErrCursor
	}
	digits, id, found := strings.Cut(string(text), " ")
	updatedAt, err = strconv.ParseInt(digits, 10, 64)
	if err != nil || !found {
		return 0, "", session.ErrCursor
	}
	return updatedAt, id, nil
}
