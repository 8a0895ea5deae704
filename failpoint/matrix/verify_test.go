//go:build failpoints

package matrix_test

import (
	"fmt"
	"slices"
	"strings"
)

// technical is in what the CLI is told when nobody could be asked.
const technical = "because of a technical problem"

// allowed is what may happen in a cell beside what always may.
type allowed struct {
	technical bool // the store failed, so that a request was refused for that reason
}

// verify holds what the CLIs heard against what the tabs were told. It returns
// what is wrong.
func (h *house) verify(may allowed) (wrong []string) {
	blame := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	h.mu.Lock()
	wrong = append(wrong, h.problems...)
	sessions := h.sessions
	h.mu.Unlock()

	applied := map[string]outcome{} // by nonce
	given := map[string]outcome{}
	for _, t := range h.tabs {
		for _, o := range t.given() {
			if o.contradicted {
				blame("tab %s was told two things about one command: %s", o.tab, o.text)
			}
			switch {
			case o.nonce == "" && o.result != "applied" && !strings.Contains(o.error, "running"):
				blame("a command was %s: %s: %s", o.result, o.error, o.text)
			case o.nonce == "":
			case o.result == "applied":
				applied[o.nonce], given[o.nonce] = o, o
			case o.result == "already_resolved" || o.result == "stale":
				given[o.nonce] = o
			default:
				blame("an answer was %q: %s", o.result, o.error)
			}
		}
	}

	heardNonces := map[string]string{} // nonce to name
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
			case nonce == "" && may.technical && strings.Contains(line, technical):
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
				heardNonces[nonce] = a.Name
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
		for name, n := range names {
			if want := count(c.names, name); n != want {
				blame("%q was answered %d times, want %d", name, n, want)
			}
		}
		for _, name := range c.names {
			if names[name] == 0 && first(name) != "drop" {
				blame("%q was never answered", name)
			}
		}
	}
	// What was acked as applied was heard, unless nobody asks any more.
	for nonce, o := range applied {
		if heardNonces[nonce] == "" && first(o.name) != "cancel" && first(o.name) != "drop" {
			blame("the answer of tab %s to %q was acked as applied and never heard", o.tab, o.name)
		}
	}
	slices.Sort(wrong)
	return wrong
}
