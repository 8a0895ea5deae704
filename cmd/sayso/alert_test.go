package main_test

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

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
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	must(t, err)
	encode := base64.RawURLEncoding.EncodeToString

	h := newHouse(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "It is there."}}})
	s := h.start("--alert-private", "true")
	s.do("POST", "/api/alerts/targets", map[string]any{
		"way": "push", "url": push.URL + "/one", "p256dh": encode(key.PublicKey().Bytes()), "auth": encode(make([]byte, 16)),
	}, nil)
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
	s.gone(patience)
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
