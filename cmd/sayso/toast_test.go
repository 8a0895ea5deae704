package main_test

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// viewed is a tab of a person, and the toasts that it was given last.
type viewed struct {
	*tab
	mu     sync.Mutex
	toasts []string
	acked  any // the id of the last command
}

func (v *viewed) follow() {
	for f := range v.frames {
		v.mu.Lock()
		switch f["type"] {
		case "ack":
			v.acked = f["command_id"]
		case "toasts":
			v.toasts = nil
			for _, id := range f["request_ids"].([]any) {
				v.toasts = append(v.toasts, id.(string))
			}
		}
		v.mu.Unlock()
	}
}

func (v *viewed) shows(requestIDs ...string) func() bool {
	return func() bool {
		v.mu.Lock()
		defer v.mu.Unlock()
		return slices.Equal(v.toasts, requestIDs)
	}
}

// Wherever a person has sayso open, in one tab or in five, a request is told once: in
// the page that they look at, in a toast where they look at another, or else by one push
// that is taken back with the answer. All of them are there at once, so none of them
// keeps another from being told.
func TestOneAlertPerRequestAndPerson(t *testing.T) {
	t.Parallel()
	var reading sync.WaitGroup
	t.Cleanup(reading.Wait) // behind the ends of the tabs
	const this, other = "this session", "the other session"
	look := func(focus bool, showing map[string]any) map[string]any {
		said := map[string]any{"type": "looking", "looking": focus}
		if showing != nil {
			said["showing"] = showing
		}
		return said
	}
	on := func(session string, focus bool) map[string]any {
		return look(focus, map[string]any{"session_id": session})
	}
	five := func(first, others map[string]any) (list []map[string]any) {
		return append([]map[string]any{first}, slices.Repeat([]map[string]any{others}, 4)...)
	}
	// Those who are pushed to come last: what is planned for them is planned for all.
	cases := []struct {
		name   string
		tabs   []map[string]any
		toasts string // of each tab: t when it shows one
		pushed bool
	}{
		{name: "one tab on it", tabs: []map[string]any{on(this, true)}, toasts: "-"},
		{name: "five, one on it", tabs: five(on(this, true), on(other, false)), toasts: "-----"},
		{name: "one elsewhere", tabs: []map[string]any{on(other, true)}, toasts: "t"},
		{name: "five elsewhere", tabs: five(on(other, true), on(other, false)), toasts: "ttttt"},
		{name: "five, one elsewhere, the others on it without the focus", tabs: five(look(true, map[string]any{}), on(this, false)), toasts: "t----"},
		{name: "five, one in the inbox", tabs: five(look(true, map[string]any{"inbox": true}), on(other, false)), toasts: "-----"},
		{name: "an old tab that looks", tabs: []map[string]any{look(true, nil)}, toasts: "-"},
		{name: "no tab", pushed: true},
		{name: "one hidden", tabs: []map[string]any{on(this, false)}, toasts: "-", pushed: true},
		{name: "five old ones, hidden", tabs: five(look(false, nil), look(false, nil)), toasts: "-----", pushed: true},
		{name: "five hidden", tabs: five(on(this, false), on(other, false)), toasts: "-tttt", pushed: true},
	}
	var mu sync.Mutex
	pushes := map[string][]string{} // topics, by path
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		pushes[r.URL.Path] = append(pushes[r.URL.Path], r.Header.Get("Topic"))
		w.WriteHeader(http.StatusCreated)
	}))
	defer service.Close()
	path := func(i int) string { return fmt.Sprintf("/%d", i) }
	pushed := func(i int) []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(pushes[path(i)])
	}

	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "It is there."}}})
	s := h.start("--alert-private", "true")
	sessionID := s.session("this one")
	request := s.asks(sessionID)
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	must(t, err)
	encode := base64.RawURLEncoding.EncodeToString
	tabs := make([][]*viewed, len(cases))
	for i, c := range cases {
		var made struct{ Token string }
		s.do("POST", "/api/tokens", map[string]any{"name": c.name, "role": "member"}, &made)
		as := *s
		as.Token = made.Token
		as.do("PATCH", "/api/alerts/choices", map[string]any{
			"wanted":       map[string]any{"waiting": []string{"push"}, "finished": []string{}, "died": []string{}},
			"all_sessions": true, "show_text": false, "remind_after": 0, "escalate_after": 0, "quiet": nil, "language": "",
		}, nil)
		for _, said := range c.tabs {
			said = maps.Clone(said)
			if at, ok := said["showing"].(map[string]any); ok && at["session_id"] == this {
				said["showing"] = map[string]any{"session_id": sessionID}
			}
			v := &viewed{tab: as.tab()}
			reading.Go(v.follow)
			id := v.say(t, said)
			eventually(t, "the ack", func() bool {
				v.mu.Lock()
				defer v.mu.Unlock()
				return v.acked == id
			})
			tabs[i] = append(tabs[i], v)
		}
		as.do("POST", "/api/alerts/targets", map[string]any{
			"way": "push", "url": service.URL + path(i), "p256dh": encode(key.PublicKey().Bytes()), "auth": encode(make([]byte, 16)),
		}, nil)
	}

	expect := func(when string, n int, toasts ...string) {
		t.Helper()
		for i, c := range cases {
			if c.pushed {
				eventually(t, c.name+" is pushed to, "+when, func() bool { return len(pushed(i)) >= n })
			}
			for j, v := range tabs[i] {
				want := toasts
				if c.toasts[j] != 't' {
					want = nil
				}
				eventually(t, fmt.Sprintf("tab %d of %q shows %q, %s", j, c.name, want, when), v.shows(want...))
			}
		}
		for i, c := range cases {
			want := n
			if !c.pushed {
				want = 0
			}
			if got := pushed(i); len(got) != want || len(slices.Compact(got)) > 1 {
				t.Errorf("%q was pushed to with the topics %q, %s; want %d of one", c.name, got, when, want)
			}
		}
	}
	expect("while it waits", 1, request)
	s.allow(request)
	expect("when it was answered", 2)
}
