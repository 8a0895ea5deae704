//go:build dev

package main

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
)

// viteVariable names the variable with the address of Vite's server, which scripts/dev.mjs sets.
const viteVariable = "SAYSO_DEV_VITE"

// vite is the value of that variable. It is not a setting, and sessions must not get it.
var vite = func() string {
	defer os.Unsetenv(viteVariable)
	return os.Getenv(viteVariable)
}()

// vitePolicy also allows the styles that Vite inserts into the page.
const vitePolicy = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; worker-src 'self' blob:; base-uri 'none'; frame-ancestors 'none'"

// webApp passes requests to Vite, with its WebSocket for hot reload. Browsers see one origin, so
// cookies and the checks of host and origin are those of a built server.
func webApp() http.Handler {
	target, err := url.Parse(vite)
	if err != nil || target.Host == "" {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "This program is for development. Start it with make dev.", http.StatusBadGateway)
		})
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Header.Del("Cookie")
		r.Out.Header.Del("Origin") // the server has checked it; Vite accepts only its own
	}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", vitePolicy)
		proxy.ServeHTTP(w, r)
	})
}
