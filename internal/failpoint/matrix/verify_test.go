//go:build failpoints

package matrix_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// technical is in what the CLI is told when nobody could be asked.
const technical = "because of a technical problem"

// withdrawn is in what the CLI is told when a person ended its turn.
const withdrawn = "was withdrawn before a person decided"

// allowed is what may happen in a cell beside what always may.
type allowed struct {
	technical bool // the store failed, so that a request was refused for that reason
}

// verify holds what the CLIs heard against what the tabs were told and what the
// database has. It returns what is wrong.
func (h *harness) verify(ctx context.Context, may allowed) (wrong []string) {
	blame := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	h.mu.Lock()
	wrong = append(wrong, h.problems...)
	sessions := h.sessions
	h.mu.Unlock()

	appliedTo := map[string]string{} // the nonce, by request
	given := map[string]outcome{}    // by nonce
	for _, t := range h.tabs {
		for _, o := range t.given() {
			if o.contradicted {
				blame("tab %s was told two things about one command: %s", o.tab, o.text)
			}
			switch {
			case o.nonce == "" && o.result != "applied" && !strings.Contains(o.error, "running") && !strings.Contains(o.error, "nothing_held"):
				blame("a command was %s: %s: %s", o.result, o.error, o.text)
			case o.nonce == "":
			case o.result == "applied":
				if other := appliedTo[o.requestID]; other != "" {
					blame("I1: two answers to one request were acked as applied: %s and %s", other, o.nonce)
				}
				given[o.nonce], appliedTo[o.requestID] = o, o.nonce
			case o.result == "already_resolved" || o.result == "stale":
				given[o.nonce] = o
			default:
				blame("an answer was %q: %s", o.result, o.error)
			}
		}
	}

	heardNonces := map[string]string{} // nonce to name
	heard := map[string]string{}       // the nonce, by the id that the CLI gave its request
	died := map[string]bool{}          // ids of the requests whose process was followed by another
	for _, c := range sessions {
		type asking struct {
			memory
			pid       int
			lines     []string
			cancelled bool
		}
		asked := map[string]*asking{}
		var order []*asking
		for _, m := range h.memory(c.id) {
			a := asked[m.RequestID]
			switch m.Kind {
			case "asked":
				a = &asking{memory: m, pid: m.PID}
				asked[m.RequestID] = a
				order = append(order, a)
			case "cancelled":
				a.cancelled = true
			case "heard":
				switch {
				case a == nil:
					blame("the CLI was told about a request that it never asked: %s", m.Line)
				case a.pid != m.PID:
					blame("a process heard the answer to a request of another: %s", m.Line)
				default:
					a.lines = append(a.lines, string(m.Line))
				}
			}
		}
		last := 0
		for _, m := range h.memory(c.id) {
			last = m.PID
		}
		for _, a := range order {
			died[a.RequestID] = a.pid != last
		}
		names := map[string]int{}
		for _, a := range order {
			if len(a.lines) > 1 {
				blame("%q was answered %d times: %s", a.Name, len(a.lines), strings.Join(a.lines, " "))
			}
			if len(a.lines) == 0 {
				continue
			}
			line := a.lines[0]
			nonce := ""
			for n := range given {
				if strings.Contains(line, n) {
					nonce = n
				}
			}
			o := given[nonce]
			switch {
			case nonce == "" && a.cancelled:
			case nonce == "" && (may.technical && strings.Contains(line, technical) || first(a.Name) == "race" && strings.Contains(line, withdrawn)):
				names[a.Name]++
			case nonce == "":
				blame("%q was answered by nobody: %s", a.Name, line)
			case o.result != "applied":
				blame("%q got the answer of tab %s, which was told %s", a.Name, o.tab, o.result)
			case o.name != a.Name:
				blame("%q got the answer to %q", a.Name, o.name)
			case heardNonces[nonce] != "":
				blame("the answer %s reached two requests", nonce)
			default:
				heardNonces[nonce], heard[a.RequestID] = a.Name, nonce
				if !a.cancelled {
					names[a.Name]++
				}
			}
		}
		for _, a := range order {
			if a.cancelled {
				names[a.Name]++
			}
		}
		void := h.standing(c).void
		for _, name := range c.names {
			n, want := names[name], count(c.names, name)
			if first(name) == "drop" {
				void[name] = want
			}
			if n > want || n+void[name] < want {
				blame("%q was answered %d times, want %d (%d are void)", name, n, want, void[name])
			}
		}
	}
	rows, err := h.rows(ctx)
	if err != nil {
		blame("the database cannot be read: %v", err)
	}
	wrong = append(wrong, h.verifyRows(rows, heard, died, given)...)
	wrong = append(wrong, h.verifyLines()...)
	slices.Sort(wrong)
	return wrong
}
