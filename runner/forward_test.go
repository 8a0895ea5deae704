package runner_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/runner"
)

// The CLIs of a runner ask its server through it, with their own tokens, and reach nothing else there.
func TestRequestsOfSessionsAreForwarded(t *testing.T) {
	t.Parallel()
	token, hash := runner.NewToken()
	web, stop := serveRunners(t, &registry{token: hash}, nil)
	p, greeted, failed := dialing(t, web, token, nil)
	<-greeted
	here := httptest.NewServer(p.Forward("/mcp"))
	defer here.Close()
	ask := func(ctx context.Context, path, body string, header http.Header) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, "POST", here.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = header
		answer, err := here.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	header := http.Header{"Authorization": {"Bearer of the session"}, "Cookie": {"a=b"}}
	answer := ask(t.Context(), "/mcp", "hello", header)
	text, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	want := "POST /mcp " + strings.TrimPrefix(web.URL, "https://") + " Bearer of the session [] hello"
	if err != nil || string(text) != want {
		t.Errorf("%q, %v, want %q", text, err, want)
	}

	// What the server has said comes before it has said all.
	ctx, cancel := context.WithCancel(t.Context())
	answer = ask(ctx, "/mcp", "wait", header)
	if begin, err := bufio.NewReader(answer.Body).ReadString('w'); err != nil || !strings.HasPrefix(begin, "POST /mcp") {
		t.Errorf("the beginning of an answer: %q, %v", begin, err)
	}
	cancel()
	answer.Body.Close()

	for path, status := range map[string]int{"/mcp/": 404, "/api/sessions": 404, "/": 404, "/mcp/../api/sessions": 404} {
		answer := ask(t.Context(), path, "", header)
		answer.Body.Close()
		if answer.StatusCode != status {
			t.Errorf("%s: %s", path, answer.Status)
		}
	}
	answer = ask(t.Context(), "/mcp", "", http.Header{"Origin": {here.URL}})
	answer.Body.Close()
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("a page: %s", answer.Status)
	}

	stop()
	<-failed // not connected any more
	answer = ask(t.Context(), "/mcp", "hello", header)
	answer.Body.Close()
	if answer.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("without a server: %s", answer.Status)
	}
}
