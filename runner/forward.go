package runner

import (
	"log/slog"
	"net/http"
	"net/http/httputil"
)

// Forward returns a handler that proxies requests for one path, such as /mcp, to the server to which
// the runner is connected, so that the CLIs on this host need not know its address. It passes on the
// credentials of each request. Serve it only on a listener that only this host can reach.
//
// While the runner is not connected, the handler answers 503. If the server ends while a request is
// in flight, the request fails, and its sender repeats it.
func (p *Program) Forward(path string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		server := p.connectedTo.Load()
		switch {
		case r.URL.Path != path:
			http.NotFound(w, r)
			return
		case len(r.Header.Values("Origin")) > 0: // a page in a browser
			http.Error(w, "an agent sends no origin", http.StatusForbidden)
			return
		case server == nil:
			http.Error(w, "the runner is not connected to a server", http.StatusServiceUnavailable)
			return
		}
		proxy := &httputil.ReverseProxy{
			Transport:     p.client.Transport, // verifies the server as for the runner's own connection
			FlushInterval: -1,                 // answers are streams
			Rewrite: func(r *httputil.ProxyRequest) {
				r.Out.URL, r.Out.Host = server.JoinPath(path), server.Host
				r.Out.URL.RawQuery = r.In.URL.RawQuery
				r.Out.Header.Del("Cookie")
			},
			ErrorLog: slog.NewLogLogger(p.o.Log.Handler(), slog.LevelDebug),
		}
		proxy.ServeHTTP(w, r)
	})
}
