// Package frontend holds the built web app and serves it.
//
// The build (make frontend) writes dist, with a .br and a .gz copy of each text
// file. Before the first build, dist holds only .keep, so that Go builds without
// Node. The package then serves a plain page that explains how to get the app.
package frontend

import (
	"bytes"
	"embed"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
)

//go:embed all:dist
var dist embed.FS

// NotBuilt tells people how to get the web app if the server was built without it, as by
// `go install`: the module contains only the source of the app.
const NotBuilt = "This sayso was built without its web app, as go install does. Everything else works. To get one with the web app, install a release from https://github.com/sayso-dev/sayso/releases, or run make build in a clone."

// notBuilt is the page that such a server serves.
const notBuilt = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>sayso</title>
<h1>sayso was built without its web app</h1>
<p>` + NotBuilt + `</p>
</html>
`

// Handler serves the web app: the files of the build unchanged, and the app's page
// for every other path, because the app routes its own URLs. Paths of the API must
// not reach it.
func Handler() http.Handler {
	root, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // "dist" is a valid path
	}
	return HandlerFor(root)
}

// HandlerFor serves a build from the root of a file system; see [Handler].
func HandlerFor(root fs.FS) http.Handler {
	page := built(root)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !page {
			writePage(w, r, []byte(notBuilt))
			return
		}
		name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
		if name == "index.html" || !servable(name) || !isFile(root, name) {
			if strings.HasPrefix(name, "assets/") {
				// A tab of an older build requests a chunk that no longer exists. If
				// it got the page instead, it would fail with a worse message.
				w.Header().Set("Cache-Control", "no-store")
				http.NotFound(w, r)
				return
			}
			name = "index.html"
		}
		serve(w, r, root, name)
	})
}

// Built reports whether this program contains the web app.
func Built() bool { return isFile(dist, "dist/index.html") }

func built(root fs.FS) bool { return isFile(root, "index.html") }

// servable reports whether a file belongs to the app, unlike its neighbors:
// compressed copies, the manifest of the build, .keep.
func servable(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") {
			return false
		}
	}
	return !strings.HasSuffix(name, ".br") && !strings.HasSuffix(name, ".gz")
}

func isFile(root fs.FS, name string) bool {
	info, err := fs.Stat(root, name)
	return err == nil && info.Mode().IsRegular()
}

// types holds the media types of the files that the build writes. The tables of
// the operating system differ between machines, and a browser does not run a
// script with a wrong type.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".png": "image/png", ".ico": "image/x-icon", ".json": "application/json",
	".webmanifest": "application/manifest+json", ".woff2": "font/woff2", ".txt": "text/plain; charset=utf-8",
}

func serve(w http.ResponseWriter, r *http.Request, root fs.FS, name string) {
	h := w.Header()
	if t, ok := types[path.Ext(name)]; ok {
		h.Set("Content-Type", t)
	} else {
		h.Set("Content-Type", "application/octet-stream")
	}
	switch {
	case strings.HasPrefix(name, "assets/"):
		// The name contains a hash of the content.
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	case name == "index.html":
		h.Set("Cache-Control", "no-store")
	default:
		h.Set("Cache-Control", "no-cache")
	}
	file := name
	for _, c := range []struct{ coding, suffix string }{{"br", ".br"}, {"gzip", ".gz"}} {
		if !isFile(root, name+c.suffix) {
			continue
		}
		h.Set("Vary", "Accept-Encoding")
		if file == name && accepts(r, c.coding) {
			file = name + c.suffix
			h.Set("Content-Encoding", c.coding)
		}
	}
	body, err := fs.ReadFile(root, file)
	if err != nil {
		h.Del("Content-Encoding")
		http.Error(w, "The web app cannot be read.", http.StatusInternalServerError)
		return
	}
	if h.Get("Content-Encoding") != "" {
		// http.ServeContent leaves out the length of an encoded body.
		h.Set("Content-Length", strconv.Itoa(len(body)))
		if r.Method != http.MethodHead {
			_, _ = w.Write(body)
		}
		return
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// accepts reports whether the client accepts a content coding. When in doubt it
// returns false, so that the client gets the plain file: it ignores wildcards.
func accepts(r *http.Request, coding string) bool {
	for _, value := range r.Header.Values("Accept-Encoding") {
		for item := range strings.SplitSeq(value, ",") {
			name, params, _ := strings.Cut(item, ";")
			if !strings.EqualFold(strings.TrimSpace(name), coding) {
				continue
			}
			key, weight, ok := strings.Cut(strings.TrimSpace(params), "=")
			if !ok || !strings.EqualFold(strings.TrimSpace(key), "q") {
				return true
			}
			q, err := strconv.ParseFloat(strings.TrimSpace(weight), 64)
			return err == nil && q > 0
		}
	}
	return false
}

func writePage(w http.ResponseWriter, r *http.Request, page []byte) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Length", strconv.Itoa(len(page)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(page)
	}
}
