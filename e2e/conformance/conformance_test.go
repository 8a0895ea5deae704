// Package conformance holds the official conformance suite of MCP against the
// server, as an agent finds it at /mcp.
package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sayso-dev/sayso/cmd/blackbox"
)

const suite = "node_modules/@modelcontextprotocol/conformance/dist/index.js"

// stand are tools of ours that do what the suite wants of a tool of its own: give a
// text, fail, and report progress.
var stand = map[string]struct{ name, arguments string }{
	"test_simple_text":        {"get_phase_status", `{}`},
	"test_error_handling":     {"ask_user", `{}`},
	"test_tool_with_progress": {"ask_user", `{"question":"Is there progress?"}`},
}

// exempt are the scenarios and single checks that do not apply, by revision, from
// the table of docs/integrating/mcp.md: there people read why.
func exempt(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/integrating/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## Conformance\n")
	if !found {
		t.Fatal("docs/integrating/mcp.md has no section Conformance")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	row := regexp.MustCompile("(?m)^\\| ((?:`[^`]+`(?:, )?)+) \\| ([^|]+) \\| ([^|]+) \\|$")
	names := map[string][]string{}
	for _, m := range row.FindAllStringSubmatch(section, -1) {
		for _, name := range strings.Split(m[1], ", ") {
			for _, revision := range strings.Split(m[2], ", ") {
				names[revision] = append(names[revision], strings.Trim(name, "`"))
			}
		}
	}
	return names
}

// check is one line of a result.
type check struct {
	ID           string `json:"id"`
	Status       string `json:"status"`
	ErrorMessage string `json:"errorMessage"`
}

// TestConformance runs every server scenario of a revision. All pass but those
// that docs/integrating/mcp.md lists, and those it lists do not.
func TestConformance(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(suite); err != nil {
		t.Fatal("the conformance suite is not installed; type: make setup")
	}
	program := filepath.Join(t.TempDir(), "sayso")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/sayso").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	listed := exempt(t)
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			results := run(t, program, revision)
			passed := 0
			for scenario, checks := range results {
				failed := false
				for _, c := range checks {
					if c.Status != "FAILURE" {
						continue
					}
					failed = true
					if !slices.Contains(listed[revision], scenario) && !slices.Contains(listed[revision], c.ID) {
						t.Errorf("%s: %s: %s", scenario, c.ID, c.ErrorMessage)
					}
				}
				if !failed {
					passed++
					if slices.Contains(listed[revision], scenario) {
						t.Errorf("%s passes, but docs/integrating/mcp.md lists it as one that does not apply", scenario)
					}
				}
			}
			if len(results) < 30 || passed < 10 {
				t.Errorf("%d scenarios ran and %d passed", len(results), passed)
			}
			t.Logf("%d of %d scenarios passed", passed, len(results))
			for _, name := range listed[revision] {
				known := results[name] != nil
				for _, checks := range results {
					known = known || slices.ContainsFunc(checks, func(c check) bool { return c.ID == name })
				}
				if !known {
					t.Errorf("docs/integrating/mcp.md lists %s, which the suite has not", name)
				}
			}
		})
	}
}

// run runs the suite against a server and returns the checks by scenario.
func run(t *testing.T, program, revision string) map[string][]check {
	t.Helper()
	address, err := blackbox.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	claude, err := exec.LookPath("true") // no session is started
	if err != nil {
		t.Fatal(err)
	}
	o := blackbox.Options{Path: program, Folder: t.TempDir(), Address: address, Claude: claude}
	server, err := blackbox.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	}()
	mint := exec.Command(program, "token", "--state-dir", o.StateDir(), "--agent", "conformance")
	secret, err := mint.Output()
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(proxy(t, server, strings.TrimSpace(string(secret))))
	defer front.Close()

	out := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "node", "--import", "./node20.mjs", suite, "server",
		"--url", front.URL+"/mcp", "--requirements", revision, "--timeout", "120000", "-o", out)
	said, err := cmd.CombinedOutput() // it exits with 1 whenever a scenario fails
	folders, globErr := filepath.Glob(filepath.Join(out, "server-*", "checks.json"))
	if globErr != nil || len(folders) == 0 {
		t.Fatalf("the suite left no results: %v: %.2000s", err, said)
	}
	stamp := regexp.MustCompile(`-\d{4}-\d\d-\d\dT[\d-]+Z$`)
	results := map[string][]check{}
	for _, file := range folders {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		checks := []check{}
		if err := json.Unmarshal(text, &checks); err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(filepath.Base(filepath.Dir(file)), "server-")
		results[stamp.ReplaceAllString(name, "")] = checks
	}
	return results
}

// proxy gives what the suite sends the token that it cannot send, and puts a tool
// of ours in the place of one of its own.
func proxy(t *testing.T, server *blackbox.Server, secret string) http.Handler {
	to, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0), // the suite cuts some connections on purpose
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host
			r.Out.Header.Set("Authorization", "Bearer "+secret)
			body, err := io.ReadAll(r.In.Body)
			if err != nil {
				return // the server will say so
			}
			var message map[string]any
			if json.Unmarshal(body, &message) == nil {
				if params, ok := message["params"].(map[string]any); ok && message["method"] == "tools/call" {
					if ours, ok := stand[fmt.Sprint(params["name"])]; ok {
						params["name"], params["arguments"] = ours.name, json.RawMessage(ours.arguments)
						if r.Out.Header.Get("Mcp-Name") != "" {
							r.Out.Header.Set("Mcp-Name", ours.name)
						}
						if changed, err := json.Marshal(message); err == nil {
							body = changed
						}
					}
				}
			}
			r.Out.Body, r.Out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		},
		ModifyResponse: func(r *http.Response) error {
			r.Body = &counted{ReadCloser: r.Body, third: sync.OnceFunc(func() { go answer(t, server) })}
			return nil
		},
	}
}

// counted calls third once three notifications of progress have gone by.
type counted struct {
	io.ReadCloser
	seen  int
	third func()
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if c.seen += bytes.Count(p[:n], []byte("notifications/progress")); c.seen >= 3 {
		c.third()
	}
	return n, err
}

// answer answers what is asked now, as a person does.
func answer(t *testing.T, server *blackbox.Server) {
	ctx := context.Background()
	var list struct {
		PendingRequests []struct {
			RequestID string `json:"request_id"`
		} `json:"pending_requests"`
	}
	err := server.Do(ctx, "GET", "/api/pending", nil, &list)
	for _, r := range list.PendingRequests {
		if err == nil {
			err = server.Do(ctx, "POST", "/api/pending/"+r.RequestID+"/response", map[string]any{
				"request_type": "ask_user_question", "answers": map[string]string{"Is there progress?": "Yes."}}, nil)
		}
	}
	if err != nil {
		t.Errorf("answering: %v", err)
	}
}
