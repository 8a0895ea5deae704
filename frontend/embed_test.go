package frontend_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"

	"github.com/sayso-dev/sayso/frontend"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func app() fstest.MapFS {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	return fstest.MapFS{
		"index.html": file("page"), "index.html.br": file("page br"), "index.html.gz": file("page gz"),
		"assets/app-1a2b.js": file("script"), "assets/app-1a2b.js.br": file("script br"), "assets/app-1a2b.js.gz": file("script gz"),
		"assets/small-3c.css": file("style"),
		"favicon.svg":         file("<svg/>"),
		".keep":               file("kept"), ".vite/manifest.json": file("manifest"),
	}
}

func get(t *testing.T, h http.Handler, method, path, encodings string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	if encodings != "" {
		r.Header.Set("Accept-Encoding", encodings)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestServeFiles(t *testing.T) {
	t.Parallel()
	const immutable = "public, max-age=31536000, immutable"
	for name, tc := range map[string]struct {
		path, accept              string
		status                    int
		body, coding, contentType string
		cache                     string
	}{
		"the page":                 {"/", "", 200, "page", "", "text/html; charset=utf-8", "no-store"},
		"the page by name":         {"/index.html", "", 200, "page", "", "text/html; charset=utf-8", "no-store"},
		"an address of the app":    {"/sessions/4f1c", "", 200, "page", "", "text/html; charset=utf-8", "no-store"},
		"an address with a dot":    {"/sessions/a.b", "", 200, "page", "", "text/html; charset=utf-8", "no-store"},
		"brotli before gzip":       {"/sign-in", "gzip, deflate, br, zstd", 200, "page br", "br", "text/html; charset=utf-8", "no-store"},
		"gzip alone":               {"/", "gzip", 200, "page gz", "gzip", "text/html; charset=utf-8", "no-store"},
		"a coding refused":         {"/", "br;q=0, gzip;q=0.5", 200, "page gz", "gzip", "text/html; charset=utf-8", "no-store"},
		"an unknown coding":        {"/", "zstd", 200, "page", "", "text/html; charset=utf-8", "no-store"},
		"a hashed script":          {"/assets/app-1a2b.js", "br", 200, "script br", "br", "text/javascript; charset=utf-8", immutable},
		"a file not worth packing": {"/assets/small-3c.css", "br", 200, "style", "", "text/css; charset=utf-8", immutable},
		"a chunk of an old build":  {"/assets/app-old.js", "", 404, "404 page not found\n", "", "text/plain; charset=utf-8", "no-store"},
		"a file without a hash":    {"/favicon.svg", "", 200, "<svg/>", "", "image/svg+xml", "no-cache"},
		"a packed copy by name":    {"/index.html.br", "", 200, "page", "", "text/html; charset=utf-8", "no-store"},
		"the manifest of a build":  {"/.vite/manifest.json", "", 200, "page", "", "text/html; charset=utf-8", "no-store"},
		"the placeholder":          {"/.keep", "", 200, "page", "", "text/html; charset=utf-8", "no-store"},
		"a folder":                 {"/assets", "", 200, "page", "", "text/html; charset=utf-8", "no-store"},
		"a path that climbs":       {"/assets/../../embed.go", "", 200, "page", "", "text/html; charset=utf-8", "no-store"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := get(t, frontend.HandlerFor(app()), "GET", tc.path, tc.accept)
			if r.StatusCode != tc.status {
				t.Errorf("status: got %d, want %d", r.StatusCode, tc.status)
			}
			for header, want := range map[string]string{
				"Content-Encoding": tc.coding, "Content-Type": tc.contentType, "Cache-Control": tc.cache,
			} {
				if got := r.Header.Get(header); got != want {
					t.Errorf("%s: got %q, want %q", header, got, want)
				}
			}
			if got := body(t, r); got != tc.body {
				t.Errorf("body: got %q, want %q", got, tc.body)
			}
		})
	}
}

func TestVaryHeaderOfCompressedFiles(t *testing.T) {
	t.Parallel()
	h := frontend.HandlerFor(app())
	if got := get(t, h, "GET", "/", "").Header.Get("Vary"); got != "Accept-Encoding" {
		t.Errorf("the page: got Vary %q, want Accept-Encoding", got)
	}
	if got := get(t, h, "GET", "/favicon.svg", "br").Header.Get("Vary"); got != "" {
		t.Errorf("a file with no packed copy: got Vary %q, want none", got)
	}
}

func TestHeadHasNoBody(t *testing.T) {
	t.Parallel()
	for _, encodings := range []string{"", "br"} {
		r := get(t, frontend.HandlerFor(app()), "HEAD", "/", encodings)
		if got := body(t, r); r.StatusCode != 200 || got != "" {
			t.Errorf("accepting %q: got %d %q, want 200 and no body", encodings, r.StatusCode, got)
		}
	}
}

func TestSaysWhatToDoWithoutABuild(t *testing.T) {
	t.Parallel()
	h := frontend.HandlerFor(fstest.MapFS{".keep": {Data: nil}})
	for _, path := range []string{"/", "/sessions/1", "/assets/app.js"} {
		r := get(t, h, "GET", path, "br")
		if got := body(t, r); r.StatusCode != 200 || !strings.Contains(got, "make build") {
			t.Errorf("%s: got %d %q, want a page that names make build", path, r.StatusCode, got)
		}
	}
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	// Whatever dist holds at the time of the test, there is a page.
	r := get(t, frontend.Handler(), "GET", "/", "")
	text := body(t, r)
	if r.StatusCode != 200 || !strings.Contains(text, "<!doctype html>") {
		t.Fatalf("got %d %q, want a page", r.StatusCode, text)
	}
}
