//go:build failpoints

package matrix_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	_ "modernc.org/sqlite" // reads the database that the server has left
)

// row is a request as the database has it in the end.
type row struct {
	requestID, sessionID, asked string // asked is the id that the CLI gave it
	status, delivery            string
	answer, carriedFrom         string
}

func (r row) String() string {
	return fmt.Sprintf("%s asked as %s: %s, %s %s %s", r.requestID, r.asked, r.status, r.delivery, r.carriedFrom, r.answer)
}

// final reports whether a person's answer is in the row.
func (r row) final() bool { return r.status == "answered" || r.status == "denied" }

// rows reads every request of the database of a harness.
func (h *harness) rows(ctx context.Context) (all []row, err error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(h.config.StateDir(), "sayso.db")+"?mode=ro&_pragma=busy_timeout(10000)")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	found, err := db.QueryContext(ctx, `SELECT request_id, session_id, asker_request_id, status, delivery,
		COALESCE(answer, ''), carried_from FROM requests ORDER BY seq`)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	for found.Next() {
		var r row
		if err := found.Scan(&r.requestID, &r.sessionID, &r.asked, &r.status, &r.delivery, &r.answer, &r.carriedFrom); err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, found.Err()
}

// verifyRows holds the database against what the tabs were told and the CLIs
// heard: heard has the nonce of each answer by the id of its request, died the ids of
// the requests whose process did not live on, given what the tabs were told of
// each nonce.
func (h *harness) verifyRows(rows []row, heard map[string]string, died map[string]bool, given map[string]outcome) (wrong []string) {
	blame := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	byAsked, answers := map[string]row{}, map[string][]row{}
	for _, r := range rows {
		if old, twice := byAsked[r.asked]; twice {
			blame("I1: one request has two rows: %s and %s", old, r)
		}
		byAsked[r.asked] = r
		if r.status == "open" || r.status == "orphaned" {
			blame("I4: at the end a request is still %s: %s", r.status, r)
		}
		if !r.final() {
			continue
		}
		for nonce := range given {
			if strings.Contains(r.answer, nonce) {
				answers[nonce] = append(answers[nonce], r)
			}
		}
	}
	for asked, nonce := range heard {
		r, stored := byAsked[asked]
		switch {
		case !stored:
			blame("I2: Claude heard %s for a request without a row", nonce)
		case !r.final() || !strings.Contains(r.answer, nonce):
			blame("I2: Claude heard %s, stored is %s", nonce, r)
		}
	}
	delivered := map[string]bool{} // nonces
	for _, nonce := range heard {
		delivered[nonce] = true
	}
	for nonce, o := range given {
		own := slices.DeleteFunc(answers[nonce], func(r row) bool { return r.carriedFrom != "" })
		switch {
		case o.result == "applied" && len(own) != 1:
			blame("I3: the answer %s was acked as applied and is in %d rows", nonce, len(own))
		case o.result != "applied" && len(own) != 0:
			blame("I1: the answer %s was acked as %s and is in a row: %s", nonce, o.result, own[0])
		case o.result != "applied" || delivered[nonce] || own[0].delivery == "dropped":
		case own[0].delivery == "delivered" && died[own[0].asked]:
			// Its shim had noted the line: Claude may have heard it, so it is not given
			// again, and a person was asked once more.
		default:
			blame("I3: the answer %s to %q was acked as applied, and is neither heard nor said to be dropped: %s", nonce, o.name, own[0])
		}
	}
	return wrong
}

// verifyLines holds what the shims wrote against what the CLIs read: nothing is
// read that no shim wrote.
func (h *harness) verifyLines() (wrong []string) {
	read := int64(0)
	for _, c := range h.sessions {
		for _, m := range h.memory(c.id) {
			if m.Kind == "read" {
				read++
			}
		}
	}
	// A shim may die behind a line before it has passed the point there.
	if written := h.hits("shim.write.before_pipe"); read > written {
		wrong = append(wrong, fmt.Sprintf("the CLIs read %d lines, and the shims wrote %d", read, written))
	}
	return wrong
}
