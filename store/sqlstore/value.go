// Package sqlstore is what the two engines of the store share: how a value is
// stored in a column, the SQL statements that are the same on both, and the methods
// of the store that run them. Both engines keep the same bytes, so that one contract
// holds for both.
//
// Text that is only shown (titles, reasons, names) is made valid, because
// PostgreSQL refuses NUL and invalid UTF-8; what is compared or given back to an
// asker (inputs, ids of the asker, paths, message text) is kept exactly. Times
// are Unix microseconds, 0 for no time.
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

// Bind turns bytes that must come back exactly into an argument of the engine's
// driver; nil is NULL.
type Bind func([]byte) any

// Micros is the column of a time.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// Time is the time of a column, in UTC.
func Time(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// SanitizeText makes text fit for both engines: NUL and invalid UTF-8 become U+FFFD.
func SanitizeText(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// Fold maps text so that two spellings that differ by case alone are equal, in
// any script. A search compares folded text by substring, so no character is
// special and both engines agree.
func Fold(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, SanitizeText(s))
}

// number is a figure that has a place in a bigint column.
func number(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

// fraction is a figure that every engine and every JSON reader takes.
func fraction(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}

// DeliveryRank is the rank that a delivery must be below to become d; 0 for what is no
// step of one. Carried is the end of an answer that was not delivered, dropped of
// one that was not seen to be acted on.
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

// RankColumn is the rank of the column delivery.
const RankColumn = `CASE delivery WHEN '' THEN 0 WHEN 'queued' THEN 1 WHEN 'delivered' THEN 2 ELSE 3 END`

// Answers reports whether a status is the word of a person, so that the
// resolution must be on disk and the answer is to be delivered.
func Answers(s pending.Status) bool { return s == pending.Answered || s == pending.Denied }

// encode is the JSON of a column; nil pointers and nil slices are NULL.
func encode[T any](v T, isNil bool) ([]byte, error) {
	if isNil {
		return nil, nil
	}
	return json.Marshal(v)
}

// decode reads a JSON column of our own making.
func decode(column string, text []byte, v any) error {
	if text == nil {
		return nil
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("column %s: %w: %w", column, ErrCorrupt, err)
	}
	return nil
}

// Cursor is the place after a row in a list of sessions.
func Cursor(updatedAt int64, sessionID string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(updatedAt, 10) + " " + sessionID))
}

// ParseCursor undoes [Cursor]; "" is the place before the first row.
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
