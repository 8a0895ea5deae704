package main_test

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// pushesTo has the admin's alerts pushed to a place.
func (s *server) pushesTo(url string) {
	s.h.t.Helper()
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	must(s.h.t, err)
	encode := base64.RawURLEncoding.EncodeToString
	s.do("POST", "/api/alerts/targets", map[string]any{
		"way": "push", "url": url, "p256dh": encode(key.PublicKey().Bytes()), "auth": encode(make([]byte, 16)),
	}, nil)
}

// A server that is killed after it has told of a request does not tell of it
// again, and takes it back when it was answered.
func TestAlertsOverKill(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var topics []string
	push := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		topics = append(topics, r.Header.Get("Topic"))
		w.WriteHeader(http.StatusCreated)
	}))
	defer push.Close()
	told := func(n int) func() bool {
		return func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(topics) == n
		}
	}
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "It is there."}}}).asProcesses()
	s := h.start("--alert-private", "true")
	s.pushesTo(push.URL + "/one")
	first := s.session("one")
	s.asks(first)
	eventually(t, "the browser is told", told(1))
	var alerts struct {
		PushKey string `json:"push_key"`
		Targets []struct {
			SentAt *float64 `json:"sent_at"`
		} `json:"targets"`
	}
	sent := func() bool {
		s.do("GET", "/api/alerts", nil, &alerts)
		return len(alerts.Targets) == 1 && alerts.Targets[0].SentAt != nil
	}
	eventually(t, "it is noted", sent)
	if info, err := os.Stat(filepath.Join(h.state, "push-key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", info, err)
	}
	before := alerts.PushKey

	s.signal(syscall.SIGKILL)
	s.gone(waitLimit)
	s = h.start("--alert-private", "true")
	second := s.session("two")
	s.asks(second)
	eventually(t, "the browser is told of the second request", told(2))
	if !sent() || alerts.PushKey != before {
		t.Error("the next server has another key")
	}
	s.allow(s.asks(first))
	eventually(t, "it is told that the first one was answered", told(3))
	mu.Lock()
	defer mu.Unlock()
	if topics[0] == topics[1] || topics[0] != topics[2] {
		t.Errorf("topics %q, want those of the first, the second and the first", topics)
	}
}

// Whoever looks at sayso in any of their tabs is told there alone; one who has it
// open and looks elsewhere is told once, not once for each tab, and of the end.
func TestActiveUserGetsNoAlerts(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var topics []string
	hooks := map[string]int{} // by what they tell and of which session
	places := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path == "/hook" {
			var h struct {
				Type      string `json:"type"`
				SessionID string `json:"session_id"`
			}
			_ = json.NewDecoder(r.Body).Decode(&h)
			hooks[h.Type+" "+h.SessionID]++
		} else {
			topics = append(topics, r.Header.Get("Topic"))
		}
		w.WriteHeader(http.StatusCreated)
	}))
	defer places.Close()
	hooked := func(what, sessionID string) func() bool {
		return func() bool {
			mu.Lock()
			defer mu.Unlock()
			return hooks[what+" "+sessionID] == 1
		}
	}
	pushed := func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(topics)
	}
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "It is there."}}})
	s := h.start("--alert-private", "true")
	s.pushesTo(places.URL + "/one")
	// The server's own webhook is told whoever looks: so it tells when the time has come.
	s.do("POST", "/api/alerts/targets?of=server", map[string]any{"way": "webhook", "url": places.URL + "/hook", "secret": "a secret of the hook"}, nil)
	tabs := make([]*tab, 5)
	for i := range tabs {
		tabs[i] = s.tab()
		id := tabs[i].say(t, map[string]any{"type": "looking", "looking": i == 3})
		tabs[i].until(t, waitLimit, "the ack", func(f map[string]any) bool { return f["type"] == "ack" && f["command_id"] == id })
		go func() { // else it is cut as one that reads nothing
			for range tabs[i].frames {
			}
		}()
	}

	first := s.session("one")
	request := s.asks(first)
	eventually(t, "the time has come", hooked("first", first))
	s.allow(request)
	eventually(t, "it is over", hooked("close", first))
	if got := pushed(); len(got) != 0 {
		t.Errorf("%d pushes to who looks", len(got))
	}

	tabs[3].say(t, map[string]any{"type": "looking", "looking": false})
	second := s.session("two")
	request = s.asks(second)
	eventually(t, "the browser is told", func() bool { return len(pushed()) > 0 })
	eventually(t, "the time has come again", hooked("first", second))
	s.allow(request)
	eventually(t, "the browser is told of the end", func() bool { return len(pushed()) > 1 })
	eventually(t, "it is over again", hooked("close", second))
	if got := pushed(); len(got) != 2 || got[0] != got[1] {
		t.Errorf("topics %q, want one alert and its end", got)
	}

	// A tab that is gone does not look.
	tabs[3].say(t, map[string]any{"type": "looking", "looking": true})
	must(t, tabs[3].cut())
	third := s.session("three")
	s.asks(third)
	eventually(t, "the browser is told, for nobody looks any more", func() bool { return len(pushed()) == 3 })
}
