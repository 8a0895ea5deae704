package main_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// TestLaterSignInAddresses: what the commands print beside a server leads to where that
// server is, whichever way it was told to listen, and to the name at which browsers
// make passkeys.
func TestLaterSignInAddresses(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{})
	printed := func(args ...string) (at string) {
		t.Helper()
		cmd := h.command(args[0], "--state-dir", h.state)
		cmd.Args = append([]string{cmd.Args[0]}, append(args, "--state-dir", h.state)...)
		out, err := cmd.Output()
		must(t, err)
		at, secret, found := strings.Cut(strings.TrimSpace(string(out)), "/sign-in#")
		if !found || secret == "" {
			t.Fatalf("sayso %s prints %q", strings.Join(args, " "), out)
		}
		return at
	}
	port := func(s *server) string {
		t.Helper()
		eventually(t, "it says how to get an address", s.logged("sayso token --sign-in"))
		if strings.Contains(s.said.String(), "/sign-in#") {
			t.Errorf("a server that has an admin prints a sign-in link:\n%s", s.said)
		}
		_, at, _ := strings.Cut(s.said.String(), "sayso is running at ")
		at, _, _ = strings.Cut(at, "\n")
		return at[strings.LastIndex(at, ":"):]
	}

	s := h.start()
	want := "http://localhost" + port(s)
	for _, args := range [][]string{{"token", "--sign-in"}, {"user", "add", "ada"}} {
		if at := printed(args...); at != want {
			t.Errorf("sayso %s leads to %s, the start of the server to %s", strings.Join(args, " "), at, want)
		}
	}
	s.stop()

	// An address of the outside is good there, but not for the first admin, who is made
	// on the machine itself.
	s = h.serve("--public-url", "https://sayso.example", "--trusted-proxy", "192.0.2.10")
	port(s)
	if at := printed("token", "--sign-in"); at != "https://sayso.example" {
		t.Errorf("sayso token leads to %s", at)
	}
	if at := printed("user", "add", "grace"); at != "https://sayso.example" {
		t.Errorf("sayso user leads to %s", at)
	}
}

// TestAgentTokenNamesTheAddressOfTheServer, not that of the default settings.
func TestAgentTokenNamesTheAddressOfTheServer(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{})
	s := h.start()
	out, err := h.command("token", "--agent", "bot").CombinedOutput()
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	if err != nil || !strings.Contains(string(out), ":"+port+"/mcp with the header") {
		t.Errorf("the server is at %s: %v, %s", s.URL, err, out)
	}
}

// TestMetricsToken reads the metrics, and nothing else.
func TestMetricsToken(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{})
	s := h.start()
	out, err := h.command("token", "--name", "prometheus", "--scope", "metrics").Output()
	must(t, err)
	prometheus := s.as(strings.TrimSpace(string(out)))
	for path, want := range map[string]int{"/metrics": 200, "/api/sessions": 403, "/api/me": 403} {
		if got := prometheus.got(t, path); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
	if out, err := h.command("token", "--name", "x", "--scope", "everything").CombinedOutput(); err == nil || !strings.Contains(string(out), "--scope: give") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestTokenWithATakenName says that the name is that of a user, because nobody who creates a token
// has thought of users.
func TestTokenWithATakenName(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{})
	h.start()
	_, err := h.command("token", "--name", "ci", "--role", "member").Output()
	must(t, err)
	out, err := h.command("token", "--name", "CI", "--role", "member").CombinedOutput()
	if want := "There is already a user ci, and a token with its own role becomes a user. Choose another name."; err == nil || !strings.Contains(string(out), want) {
		t.Errorf("%v: %s", err, out)
	}
}

// got is the status of a GET, whose body may be anything.
func (s *server) got(t *testing.T, path string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
	must(t, err)
	r.Header.Set("Authorization", "Bearer "+s.Token)
	answer, err := http.DefaultClient.Do(r)
	must(t, err)
	answer.Body.Close()
	return answer.StatusCode
}
