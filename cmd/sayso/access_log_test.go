package main_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// The access log tells who sent which request, and nothing that is secret.
func TestAccessLog(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{})
	s := h.start("--access-log", "true", "--log-format", "json")
	type entry struct {
		Msg, Method, Path, User, Device, Address string
		RequestID                                string `json:"request_id"`
		Status                                   int
		Seconds                                  float64
	}
	find := func(path string) (found entry) {
		t.Helper()
		eventually(t, "the entry of "+path, func() bool {
			for line := range strings.Lines(s.said.String()) {
				var e entry
				if json.Unmarshal([]byte(line), &e) == nil && e.Msg == "request served" && e.Path == path {
					found = e
					return true
				}
			}
			return false
		})
		return found
	}
	s.do("GET", "/api/me", nil, nil)
	if e := find("/api/me"); e.User != "admin" || e.Device == "" || e.Status != 200 || e.Method != "GET" || len(e.RequestID) != 16 || e.Address != "127.0.0.1" || e.Seconds <= 0 {
		t.Errorf("%+v", e)
	}
	_ = s.status("POST", "/api/login?token=hunter2", map[string]string{"username": "hunter2", "password": "hunter2"}, nil)
	if e := find("/api/login"); e.User != "" || e.Status < 400 {
		t.Errorf("%+v", e)
	}
	tab := s.tab()
	tab.until(t, waitLimit, "the snapshot", ofType("active_processes"))
	must(t, tab.cut())
	if e := find("/ws"); e.User != "admin" || e.Status != 101 {
		t.Errorf("%+v", e)
	}
	if said := s.said.String(); strings.Contains(said, "hunter2") || strings.Contains(said, s.Token) {
		t.Errorf("a secret is in the log:\n%s", said)
	}
}
