package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/mcpapi"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/store/sqlite"
	"github.com/sayso-dev/sayso/store/sqlitetest"
)

// agentPaths lists the paths that no route of httpapi describes, with the method that
// each takes. All are for agents alone. A path that is missing here fails the test, so
// that nobody adds one without a policy.
var agentPaths = map[string]struct {
	method, query, body string
	refuses             int // a stranger
}{
	"/mcp":         {"POST", "", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, 401},
	"/hook/ask":    {"POST", "", `{}`, 401},
	"/hook/gone":   {"POST", "", `{}`, 401},
	"/hook/notice": {"POST", "", `{}`, 401},
	// The token of these is where those who ask this way put it.
	"/claude/relay-question": {"POST", "p=1", `{"question":"Which?","streamToken":"SECRET"}`, 403},
	"/claude/poll-answer":    {"GET", "p=1&streamToken=SECRET", "", 403},
}

// TestAgentHandlers: attacks 3, 7, 13, 21, 23 and 41 at the handlers that serve wires
// in. No stranger, no page and no credential of a person gets through.
func TestAgentHandlers(t *testing.T) {
	t.Parallel()
	var agents *mcpapi.Server
	var handlers map[string]http.Handler
	h := apitest.Open(t, sqlitetest.New(t), func(o *apitest.Options) {
		opened, registry := o.Store.(*sqlite.Store), o.Requests.(*pending.Registry)
		var err error
		agents, err = mcpapi.New(mcpapi.Options{Requests: registry, Store: opened, Directory: o.Directory, Notifier: o.Notifier, Log: o.Log})
		if err != nil {
			t.Fatal(err)
		}
		adapters, err := agents.Adapters(mcpapi.AdapterOptions{
			Store: opened, Requests: registry, Directory: o.Directory, Notifier: o.Notifier, Log: o.Log,
		})
		if err != nil {
			t.Fatal(err)
		}
		handlers = agentHandlers(agents, adapters)
		o.Agents = handlers
	})
	_, person, err := h.Directory.CreateToken(t.Context(), h.Admin, "person", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	for path := range handlers {
		if _, ok := agentPaths[path]; !ok {
			t.Errorf("%s is a path without a policy", path)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- agents.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	ask := func(path, secret string, change func(*http.Request)) *httptest.ResponseRecorder {
		at := agentPaths[path]
		r := httptest.NewRequest(at.method, path, strings.NewReader(strings.Replace(at.body, "SECRET", secret, 1)))
		r.Host = "127.0.0.1:8787"
		r.URL.Host, r.URL.Scheme, r.URL.RawQuery = "", "", strings.Replace(at.query, "SECRET", secret, 1)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if secret != "" {
			r.Header.Set("Authorization", "Bearer "+secret)
		}
		change(r)
		answer := httptest.NewRecorder()
		h.Server.ServeHTTP(answer, r)
		return answer
	}
	as := func(*http.Request) {}
	for ask("/hook/ask", "", as).Code == http.StatusServiceUnavailable {
		runtime.Gosched() // Run is on its way
	}
	for path, at := range agentPaths {
		if handlers[path] == nil {
			t.Errorf("the path %s is gone", path)
			continue
		}
		for name, row := range map[string]struct {
			secret string
			change func(*http.Request)
			want   int
		}{
			"a stranger":         {"", as, at.refuses},
			"an unknown token":   {strings.Repeat("0", 64), as, at.refuses},
			"a person's token":   {person, as, at.refuses},
			"another host":       {"", func(r *http.Request) { r.Host = "evil.com" }, 421},
			"a page":             {"", func(r *http.Request) { r.Header.Set("Origin", "http://evil.com") }, 403},
			"a page of nowhere":  {"", func(r *http.Request) { r.Header.Set("Origin", "null") }, 403},
			"a token in the URL": {"", func(r *http.Request) { r.URL.RawQuery = "token=" + person }, 400},
		} {
			answer := ask(path, row.secret, row.change)
			if answer.Code != row.want {
				t.Errorf("%s %s from %s: got %d %s, want %d", at.method, path, name, answer.Code, answer.Body, row.want)
			}
			if answer.Header().Get("Content-Security-Policy") == "" {
				t.Errorf("%s %s from %s: without the headers that every answer has", at.method, path, name)
			}
		}
	}
}
