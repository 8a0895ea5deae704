package mcpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/mcpapi"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// FuzzMessages posts any body to the server of MCP, in both revisions. It is
// answered or refused, whatever it is; only a question waits, and that ends with
// the connection.
func FuzzMessages(f *testing.F) {
	for _, message := range []string{
		`{}`, `null`, `[]`, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":null,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, `{"jsonrpc":"2.0","id":1.5,"result":{}}`, `{"jsonrpc":"1.0","id":{},"method":7}`,
		`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"get_phase_status","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"submit_lifecycle_event","arguments":{"event_type":"phase-started","phase_number":1}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask_user","arguments":{"question":"Which?"},"_meta":{"progressToken":[]}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"approval_prompt","arguments":{"tool_name":"Bash","input":{}}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask_user_wait","arguments":{"ticket":"x"}}}`,
	} {
		f.Add([]byte(message), true)
		f.Add([]byte(message), false)
	}
	memory := newMemory()
	notifier := &notifier{}
	directory := account.NewDirectory(memory)
	registry := pending.NewRegistry(memory, notifier)
	server, err := mcpapi.New(mcpapi.Options{
		Requests: registry, Store: memory, Directory: directory, Notifier: notifier,
		Policy: func(context.Context, session.Session) mcpapi.Policy { return mcpapi.Policy{} }, Version: "0.0.0-test", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		f.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- server.Run(ctx) }()
	f.Cleanup(func() {
		stop()
		if err := <-ran; err != nil {
			f.Error(err)
		}
	})
	// Only who has a token is told that Run is on its way.
	memory.sessions["first"] = session.Session{SessionID: "first"}
	first, err := directory.MintAgent(ctx, "first", "an agent", 0)
	if err != nil {
		f.Fatal(err)
	}
	for open := false; !open; runtime.Gosched() {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1:8787/mcp", strings.NewReader("{}"))
		r.Header.Set("Authorization", "Bearer "+first)
		rec := httptest.NewRecorder()
		server.ServeHTTP(rec, r)
		if rec.Code == http.StatusUnauthorized {
			f.Fatalf("got %s", rec.Body)
		}
		open = rec.Code != http.StatusServiceUnavailable
	}
	f.Fuzz(func(t *testing.T, message []byte, newer bool) {
		// A session of its own, or the limit of questions would answer for all but the first.
		id := uuid.NewString()
		memory.mu.Lock()
		clear(memory.sessions)
		memory.tokens = nil
		memory.sessions[id] = session.Session{SessionID: id, Title: "api-server"}
		memory.mu.Unlock()
		secret, err := directory.MintAgent(ctx, id, "an agent", 0)
		if err != nil {
			t.Fatal(err)
		}
		// What asks a person waits until its caller goes.
		patience, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		defer cancel()
		r := httptest.NewRequestWithContext(patience, http.MethodPost, "http://127.0.0.1:8787/mcp", bytes.NewReader(message))
		version := "2025-11-25"
		if newer {
			version = "2026-07-28"
		}
		r.Header = http.Header{"Authorization": {"Bearer " + secret}, "Content-Type": {"application/json"},
			"Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {version}}
		rec := httptest.NewRecorder()
		server.ServeHTTP(rec, r)
		if rec.Code >= http.StatusInternalServerError {
			t.Fatalf("got %d %s", rec.Code, rec.Body)
		}
		if rec.Header().Get("Content-Type") == "application/json" && !json.Valid(rec.Body.Bytes()) {
			t.Fatalf("no JSON: %s", rec.Body)
		}
	})
}
