package main_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/cmd/blackbox"
)

// TestBehindARealProxy: the whole program behind a proxy that does
// HTTPS, passes WebSockets, adds whom it heard, and is the only one believed.
func TestBehindARealProxy(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{})
	var to *url.URL
	proxy := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
		r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"] // what a proxy that adds is sent
		r.SetXForwarded()
	}})
	proxy.StartTLS()
	t.Cleanup(proxy.Close)
	public := strings.Replace(proxy.URL, "127.0.0.1", "sayso.example.test", 1)
	s := h.serve("--public-url", public, "--trusted-proxy", "127.0.0.1")
	eventually(t, "it runs at its public address", s.logged("sayso is running at "+public))
	known, err := os.ReadFile(filepath.Join(h.state, "address"))
	must(t, err)
	to, err = url.Parse(strings.TrimSpace(string(known)))
	must(t, err)

	jar, err := cookiejar.New(nil)
	must(t, err)
	transport := proxy.Client().Transport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true
	transport.TLSClientConfig.ServerName = "example.com" // of the certificate
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, proxy.Listener.Addr().String())
	}
	browser := &http.Client{Transport: transport, Jar: jar}
	call := func(method, path, body string, headers map[string]string) (int, string, http.Header) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, public+path, strings.NewReader(body))
		must(t, err)
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		for name, value := range headers {
			r.Header.Set(name, value)
		}
		answer, err := browser.Do(r)
		must(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		must(t, err)
		return answer.StatusCode, string(text), answer.Header
	}

	status, text, header := call("POST", "/api/login", `{"token":"`+blackbox.Token+`"}`, map[string]string{"Origin": public, "X-Forwarded-For": "203.0.113.7"})
	if set := header.Get("Set-Cookie"); status != 200 || !strings.HasPrefix(set, "__Host-sayso=") || !strings.Contains(set, "Secure") || header.Get("Strict-Transport-Security") == "" {
		t.Fatalf("sign in: got %d %s with cookie %q", status, text, set)
	}
	var me struct {
		PageKey string `json:"page_key"`
	}
	must(t, json.Unmarshal([]byte(text), &me))
	if status, _, _ := call("GET", "/api/sign_ins", "", nil); status != 401 {
		t.Fatalf("the cookie without its page key: got %d, want 401", status)
	}
	pageKey := me.PageKey
	_, text, _ = call("GET", "/api/sign_ins", "", map[string]string{"X-Sayso-Page-Key": pageKey})
	var list struct {
		SignIns []struct{ Address string } `json:"sign_ins"`
	}
	must(t, json.Unmarshal([]byte(text), &list))
	if len(list.SignIns) != 1 || list.SignIns[0].Address != "203.0.113.7" {
		t.Errorf("got %s, want the address that the proxy told", text)
	}
	with := func(headers map[string]string) map[string]string {
		headers["X-Sayso-Page-Key"] = pageKey
		return headers
	}
	for name, headers := range map[string]map[string]string{
		"another origin": {"Origin": "https://evil.example"}, "http": {"Origin": strings.Replace(public, "https", "http", 1)},
	} {
		if status, _, _ := call("POST", "/api/logout", "{}", with(headers)); status != 403 {
			t.Errorf("%s: got %d", name, status)
		}
	}

	// A tab, and what it hears.
	outside, err := url.Parse(public)
	must(t, err)
	cookie := jar.Cookies(outside)[0]
	for origin, want := range map[string]int{public: 101, "https://evil.example": 403} {
		conn, err := tls.Dial("tcp", proxy.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		must(t, err)
		must(t, conn.SetDeadline(time.Now().Add(waitLimit)))
		_, err = fmt.Fprintf(conn, "GET /ws HTTP/1.1\r\nHost: %s\r\nOrigin: %s\r\nCookie: %s=%s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: sayso, sayso.page-key.%s\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
			outside.Host, origin, cookie.Name, cookie.Value, pageKey)
		must(t, err)
		answers := bufio.NewReader(conn)
		answer, err := http.ReadResponse(answers, nil)
		must(t, err)
		if answer.StatusCode != want {
			t.Errorf("a tab of %s: got %d, want %d", origin, answer.StatusCode, want)
		}
		if want == 101 {
			hello := make([]byte, 64)
			_, err = io.ReadFull(answers, hello)
			must(t, err)
			if !bytes.Contains(hello, []byte(`"type":"hello"`)) {
				t.Errorf("first came %q", hello)
			}
		}
		answer.Body.Close()
		conn.Close()
	}
	if status, _, _ := call("GET", "/api/me", "", with(map[string]string{})); status != 200 {
		t.Errorf("who was signed in is so no more: got %d", status)
	}
}

// TestOneRequestIsNeverTwo: attack 90. What a proxy in front could have read as one
// request is answered once, and then nothing more of that connection is heard.
func TestOneRequestIsNeverTwo(t *testing.T) {
	t.Parallel()
	s := newHarness(t, claudetest.Script{}).start()
	const smuggled = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for name, request := range map[string]string{
		"length and chunks":   "Content-Length: 60\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled,
		"chunks":              "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled,
		"two lengths":         "Content-Length: 2\r\nContent-Length: 60\r\n\r\n{}" + smuggled,
		"chunks, spelled":     "Transfer-Encoding: xchunked\r\nContent-Length: 2\r\n\r\n{}" + smuggled,
		"chunks twice":        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled,
		"chunks with a blank": "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + smuggled,
		"a length with signs": "Content-Length: +2\r\n\r\n{}" + smuggled,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
			must(t, err)
			defer conn.Close()
			must(t, conn.SetDeadline(time.Now().Add(waitLimit)))
			_, err = fmt.Fprint(conn, "POST /api/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+request)
			must(t, err)
			answers := bufio.NewReader(conn)
			answer, err := http.ReadResponse(answers, nil)
			must(t, err)
			_, _ = io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
			if answer.StatusCode < 400 || !answer.Close {
				t.Errorf("got %d, and the connection stays open: %v", answer.StatusCode, !answer.Close)
			}
			if second, err := http.ReadResponse(answers, nil); err == nil {
				second.Body.Close()
				t.Errorf("a second request was heard, and got %d", second.StatusCode)
			}
		})
	}
}
