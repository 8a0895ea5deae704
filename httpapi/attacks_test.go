package httpapi_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/sayso-dev/sayso/httpapi"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/internal/command"
	"github.com/sayso-dev/sayso/wire"
)

// withAgents returns a harness with a handler for agents that counts who got through.
func withAgents(t *testing.T, reached *atomic.Int32) *harness {
	return quietHarness(t, func(o *apitest.Options) {
		o.Agents = map[string]http.Handler{"/mcp": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			reached.Add(1)
			w.WriteHeader(http.StatusNoContent)
		})}
	})
}

// TestHandlersOutsideTheRouteTableRefuseAttacks: attacks 1 to 6, 18 and 19 at what is in no table
// of routes: the app, addresses where nothing is, the handlers for agents. The routes
// are in TestEveryRouteRefuses.
func TestHandlersOutsideTheRouteTableRefuseAttacks(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	h := withAgents(t, &reached)
	for _, at := range [][2]string{{"GET", "/"}, {"GET", "/assets/app.js"}, {"GET", "/sessions/x"}, {"GET", "/api/nothing"}, {"GET", "/debug/pprof/"}, {"POST", "/mcp"}, {"GET", "/mcp"}, {"DELETE", "/mcp"}} {
		for _, a := range attacks {
			if a.status != 421 && a.name != "7.4 no host" {
				continue
			}
			r := &request{method: at[0], path: at[1]}
			a.change(h, httpapi.RouteInfo{}, r)
			apitest.CheckRefusal(t, h.Call(r.method, r.path, nil, r.ways...), a.status, a.code)
		}
		apitest.CheckHeaders(t, h.Call(at[0], at[1], nil))
	}
	if n := reached.Load(); n != 3 {
		t.Errorf("%d requests reached the handler for agents, want the three good ones", n)
	}
}

// TestAgentHandlersRefusePages: attacks 3, 9, 10, 12, 13, 14 and 31 at the handlers
// for agents, where no page has anything to do.
func TestAgentHandlersRefusePages(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	h := withAgents(t, &reached)
	for _, method := range []string{"GET", "POST", "DELETE"} {
		for _, origin := range []string{"http://evil.com", "null", "http://127.0.0.1:1", "https://127.0.0.1:8787", "http://127.0.0.1:8787.evil.com"} {
			apitest.CheckRefusal(t, h.Call(method, "/mcp", nil, apitest.Header("Origin", origin)), 403, "wrong_origin")
		}
		apitest.CheckRefusal(t, h.Call(method, "/mcp?token=x", nil), 400, "secret_in_url")
	}
	for _, site := range []string{"cross-site", "same-site"} {
		apitest.CheckRefusal(t, h.Call("POST", "/mcp", nil, apitest.Header("Sec-Fetch-Site", site)), 403, "wrong_origin")
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("%d requests of pages reached the handler", n)
	}
}

// TestTokenOfAnAgentIsNobody: attack 41. It opens no route and no WebSocket.
func TestTokenOfAnAgentIsNobody(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.NewSession("one")
	secret, err := h.Directory.MintAgent(t.Context(), id, "builder", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, rt := range httpapi.Routes() {
		if rt.Policy == "anybody" || rt.Pattern == "/ws" {
			continue
		}
		a := h.Call(rt.Method, pathParameter.ReplaceAllString(rt.Pattern, id), nil, apitest.Bearer(secret))
		apitest.CheckRefusal(t, a, 401, "not_signed_in")
	}
	if _, resp, err := h.TryDial(t.Context(), apitest.Bearer(secret)); err == nil || resp == nil || resp.StatusCode != 401 {
		t.Errorf("the WebSocket: %v, %v, want 401", resp, err)
	}
	apitest.CheckRefusal(t, h.Call("POST", "/api/login", wire.Login{Token: secret}), 401, "not_signed_in")
	if asked := h.Driver.Calls(); len(asked) != 0 {
		t.Errorf("an agent did %v", asked)
	}
}

// TestNothingChangesByLooking: attack 16. What changes something answers neither
// GET nor HEAD.
func TestNothingChangesByLooking(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	id := h.NewSession("one")
	reads := map[string]bool{}
	for _, rt := range httpapi.Routes() {
		reads[rt.Pattern] = reads[rt.Pattern] || rt.Method == "GET"
	}
	for pattern, reads := range reads {
		if reads {
			continue
		}
		for _, method := range []string{"GET", "HEAD"} {
			a := h.CallAs(account.Admin, method, pathParameter.ReplaceAllString(pattern, id), nil)
			if a.Status != 405 {
				t.Errorf("%s %s: got %d, want 405", method, pattern, a.Status)
			}
		}
	}
	if asked := h.Driver.Calls(); len(asked) != 0 {
		t.Errorf("looking did %v", asked)
	}
}

// TestSignInTakesNoIdOfTheBrowsers: attack 20. The cookie that a browser brought
// is not the one it gets, and is good for nothing.
func TestSignInTakesNoIdOfTheBrowsers(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	h.person("Ada", account.Member)
	planted := "sayso=" + strings.Repeat("a", 64)
	a := h.Call("POST", "/api/login", wire.Login{Username: "Ada", Password: password}, apitest.Header("Cookie", planted))
	if set := a.Header.Get("Set-Cookie"); a.Status != 200 || strings.HasPrefix(set, planted) {
		t.Fatalf("got %d with %q, want a cookie of our own", a.Status, set)
	}
	apitest.CheckRefusal(t, h.Call("GET", "/api/me", nil, apitest.Header("Cookie", planted)), 401, "not_signed_in")
	apitest.CheckRefusal(t, h.Call("POST", "/api/login", wire.Login{Username: "Ada", Password: password}, apitest.Header("Origin", "http://evil.com")), 403, "wrong_origin")
}

// TestRequestOfAnotherSessionIsNoneAtAll: attack 39. Whoever guesses an id in the
// wrong session is told the same as for one that there is none of.
func TestRequestOfAnotherSessionIsNoneAtAll(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	mine, other := h.NewSession("mine"), h.NewSession("other")
	r, _ := h.Ask(other, "a", nil)
	tab := h.OpenTab(account.Member)
	ack := func(requestID string) *wire.ErrorBody {
		f := apitest.Allow(r)
		f["session_id"], f["request_id"] = mine, requestID
		return tab.Do("pending_request_response", f).Error
	}
	there, nowhere := ack(r.RequestID), ack("018f3a52-0000-5000-8000-00000000c0de")
	if there == nil || nowhere == nil || !reflect.DeepEqual(there, nowhere) {
		t.Errorf("got %+v and %+v, want the same refusal", there, nowhere)
	}
}

// TestSignInEndsOnTheSocketOfItsBrowser: attack 34, for what a person does
// themselves in another browser.
func TestSignInEndsOnTheSocketOfItsBrowser(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(h *harness, mine, other apitest.RequestOption) apitest.Response{
		"signed out": func(h *harness, mine, _ apitest.RequestOption) apitest.Response {
			return h.Call("POST", "/api/logout", "{}", mine)
		},
		"another password": func(h *harness, _, other apitest.RequestOption) apitest.Response {
			return h.Call("POST", "/api/me/password", wire.NewPassword{CurrentPassword: password, Password: "five more words of mine"}, other)
		},
		"ended from elsewhere": func(h *harness, mine, other apitest.RequestOption) apitest.Response {
			var list wire.SignInList
			h.Call("GET", "/api/sign_ins", nil, mine).Decode(h.T, &list)
			for _, s := range list.SignIns {
				if s.Current {
					return h.Call("DELETE", "/api/sign_ins/"+s.SignInID, nil, other)
				}
			}
			return apitest.Response{}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.person("Ada", account.Member)
			mine, other := h.signIn("Ada"), h.signIn("Ada")
			tab := func(cookie apitest.RequestOption) *apitest.Tab {
				t.Helper()
				b, _, err := h.TryDial(t.Context(), cookie, apitest.Header("Origin", h.Web.URL))
				if err != nil {
					t.Fatal(err)
				}
				return b
			}
			gone, stays := tab(mine), tab(other)
			stays.Next()
			if a := end(h, mine, other); a.Status != 204 {
				t.Fatalf("got %d %s", a.Status, a.Body)
			}
			if code, last := gone.AwaitClose(); code != wire.CloseSignedOut || last["code"] != "signed_out" {
				t.Errorf("got close %d after %v, want %d", code, last, wire.CloseSignedOut)
			}
			if a := stays.Do("ping", nil); a.Result != wire.Applied {
				t.Errorf("the other browser: %+v", a)
			}
		})
	}
}

// lines collects what is logged.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestLogKeepsNoSecretAndNoForgery: attacks 31, 80 and 81. Whatever is sent, the
// log at its most talkative repeats no credential, and nothing can begin a line
// in it.
func TestLogKeepsNoSecretAndNoForgery(t *testing.T) {
	t.Parallel()
	said := &lines{}
	h := quietHarness(t, func(o *apitest.Options) {
		o.Log = slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	h.person("Ada", account.Admin)
	link, token := h.link(), h.Token(account.Admin)
	cookie := h.signIn("Ada")
	const forged = "time=2026-01-01T00:00:00Z level=ERROR msg=forged"
	h.Call("POST", "/api/login", wire.Login{Token: link}, apitest.Header("User-Agent", "\x1b[31m"+forged))
	h.Call("POST", "/api/login", wire.Login{Username: "Ada", Password: "a canary of a password"})
	h.Call("GET", "/api/me?token="+token, nil)
	h.Call("GET", "/api/%0a"+strings.ReplaceAll(forged, " ", "%20"), nil, apitest.Bearer(token))
	h.Call("PATCH", "/api/sessions/x%0a"+strings.ReplaceAll(forged, " ", "%20"), `{"title":"a canary of a title"}`, apitest.Bearer(token))
	h.Call("POST", "/api/pending/x/response", `{"message":"a canary of an answer"}`, apitest.Bearer(token))
	metrics := h.Call("GET", "/metrics", nil, apitest.Bearer(token))
	if said.String() == "" {
		t.Fatal("nothing was logged: this test sees nothing")
	}
	request, err := http.NewRequestWithContext(context.Background(), "GET", "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	cookie(request)
	_, value, _ := strings.Cut(request.Header.Get("Cookie"), "=")
	for _, secret := range []string{link, token, value, request.Header.Get("X-Sayso-Page-Key"), password, "canary"} {
		if strings.Contains(said.String(), secret) || strings.Contains(string(metrics.Body), secret) {
			t.Errorf("%q is in the log or in the metrics", secret)
		}
	}
	for line := range strings.Lines(said.String()) {
		if strings.HasPrefix(line, forged) || strings.ContainsRune(line, '\x1b') || !strings.HasPrefix(line, "time=") {
			t.Errorf("a line that we did not write: %q", line)
		}
	}
}

// TestFramesThatBreakTheProtocol: attack 77, what a WebSocket library must refuse.
func TestFramesThatBreakTheProtocol(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	tab := h.OpenTab(account.Viewer)
	data := bytes.Repeat([]byte("x"), command.SmallLimit/2)
	w, err := tab.Conn.Writer(t.Context(), websocket.MessageText)
	if err != nil {
		t.Fatal(err)
	}
	// A message in fragments without end.
	for range 1000 {
		if _, err = w.Write(data); err != nil {
			break
		}
	}
	if code, _ := tab.AwaitClose(); code != websocket.StatusMessageTooBig && code != -1 {
		t.Errorf("got close %d, want %d", code, websocket.StatusMessageTooBig)
	}
	if a := h.OpenTab(account.Viewer).Do("ping", nil); a.Result != wire.Applied {
		t.Errorf("another tab: %+v", a)
	}
}

// TestGuessedTokensAreLimited: attack 28. Tokens and cookies that are guessed count
// against the address, on REST, on the WebSocket and at the handlers for agents; what
// was good goes on.
func TestGuessedTokensAreLimited(t *testing.T) {
	t.Parallel()
	agents := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	for name, try := range map[string]func(h *harness, secret string) apitest.Response{
		"REST": func(h *harness, secret string) apitest.Response {
			return h.Call("GET", "/api/me", nil, apitest.Bearer(secret))
		},
		"cookie": func(h *harness, secret string) apitest.Response {
			return h.Call("GET", "/api/me", nil, apitest.Header("Cookie", "sayso=x"), apitest.Header("X-Sayso-Page-Key", secret))
		},
		"socket": func(h *harness, secret string) apitest.Response {
			return h.Call("GET", "/ws", nil, apitest.Bearer(secret), apitest.Header("Upgrade", "websocket"))
		},
		"agents": func(h *harness, secret string) apitest.Response {
			return h.Call("POST", "/mcp", "{}", apitest.Bearer(secret))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := quietHarness(t, func(o *apitest.Options) { o.Agents = map[string]http.Handler{"/mcp": agents} })
			used, unused := h.Token(account.Viewer), h.Token(account.Member)
			if a := h.Call("GET", "/api/me", nil, apitest.Bearer(used)); a.Status != 200 {
				t.Fatalf("got %d", a.Status)
			}
			for i := range account.DefaultLimits.PerAddress {
				for range 3 {
					if a := try(h, strings.Repeat("0", 63)+string(rune('A'+i))); a.Status != 401 {
						t.Fatalf("got %d, want 401", a.Status)
					}
				}
			}
			apitest.CheckRefusal(t, try(h, strings.Repeat("f", 64)), 429, "too_many_attempts")
			if a := h.Call("GET", "/api/me", nil, apitest.Bearer(unused)); a.Status != 200 {
				t.Errorf("a token that was never used: got %d", a.Status)
			}
			apitest.CheckRefusal(t, h.Call("POST", "/api/login", wire.Login{Username: "admin", Password: password}), 429, "too_many_attempts")
			if a := h.Call("GET", "/api/me", nil, apitest.Bearer(used)); a.Status != 200 {
				t.Errorf("a token that was good: got %d", a.Status)
			}
			if a := h.Call("GET", "/api/me", nil, apitest.Bearer(unused), from("192.0.2.2")); a.Status != 200 {
				t.Errorf("from elsewhere: got %d", a.Status)
			}
		})
	}
}

// deadlines is an answer over a connection that knows how long it may be read.
type deadlines struct {
	*httptest.ResponseRecorder
	read    time.Time // the last of them
	written int       // how many there were for writing
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	if at.After(d.read) { // none ends it, once the body is there
		d.read = at
	}
	return nil
}

func (d *deadlines) SetWriteDeadline(time.Time) error {
	d.written++
	return nil
}

// TestNoBodyIsWaitedForLong: attack 75. Every route that reads a body has said
// until when before it does; slow headers are cut off in cmd/sayso.
func TestNoBodyIsWaitedForLong(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	id := h.NewSession("one")
	for _, rt := range httpapi.Routes() {
		if !takesBody(rt) {
			continue
		}
		r := httptest.NewRequest(rt.Method, pathParameter.ReplaceAllString(rt.Pattern, id), strings.NewReader(`{"a`))
		r.Host = "127.0.0.1:8787"
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+h.Token(account.Admin))
		w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		before := time.Now()
		h.Server.ServeHTTP(w, r)
		if w.read.Before(before) || w.read.After(time.Now().Add(time.Minute)) {
			t.Errorf("%s %s may be sent until %v", rt.Method, rt.Pattern, w.read)
		}
	}
}

// TestAMillionFields: attack 78. A body of as many fields as its limit allows is
// refused, for what is in it or for its size.
func TestAMillionFields(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	var b strings.Builder
	for i := range 1_000_000 {
		fmt.Fprintf(&b, `,"%x":1`, i)
	}
	fields := "{" + b.String()[1:] + "}"
	apitest.CheckRefusal(t, h.CallAs(account.Member, "POST", "/api/sessions", fields), 400, "invalid")
	apitest.CheckRefusal(t, h.CallAs(account.Member, "POST", "/api/templates", fields), 413, "too_large")
}

// rawSocket is a WebSocket of a viewer whose frames the test makes itself.
func (h *harness) rawSocket(t *testing.T) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", h.Web.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_, err = fmt.Fprintf(conn, "GET /ws HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n", h.Web.Listener.Addr(), h.Token(account.Viewer))
	if err != nil {
		t.Fatal(err)
	}
	from := bufio.NewReader(conn)
	resp, err := http.ReadResponse(from, nil)
	if err != nil || resp.StatusCode != 101 {
		t.Fatalf("%v %v", resp, err)
	}
	if got := resp.Header.Get("Sec-WebSocket-Extensions"); got != "" {
		t.Errorf("it compresses: %s", got)
	}
	return conn, from
}

// TestPingFlood: attack 77. Who sends pings is answered, each of them; who sends them
// without end and takes no answer is cut off, holds back nobody, and fills no queue: the
// answers wait in the connection, and the next ping is read when the last is answered.
func TestPingFlood(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	const size = 125 // the most that a ping may hold
	ping := append([]byte{0x89, 0x80 | size, 0, 0, 0, 0}, bytes.Repeat([]byte("x"), size)...)
	flood := bytes.Repeat(ping, 500)
	within := func(conn net.Conn) {
		t.Helper()
		if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}

	conn, from := h.rawSocket(t)
	within(conn)
	const floods = 4
	sent := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < floods && err == nil; i++ {
			_, err = conn.Write(flood)
		}
		sent <- err
	}()
	for pongs := 0; pongs < floods*500; {
		var head [2]byte
		if _, err := io.ReadFull(from, head[:]); err != nil {
			t.Fatalf("after %d answers: %v", pongs, err)
		}
		length := int64(head[1])
		if length == 126 {
			var more [2]byte
			if _, err := io.ReadFull(from, more[:]); err != nil {
				t.Fatal(err)
			}
			length = int64(binary.BigEndian.Uint16(more[:]))
		}
		if _, err := io.CopyN(io.Discard, from, length); err != nil {
			t.Fatal(err)
		}
		if head[0] == 0x8a {
			pongs++
		}
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}

	deaf, _ := h.rawSocket(t)
	within(deaf)
	other := h.OpenTab(account.Viewer)
	var err error
	for i := 0; err == nil; i++ {
		if _, err = deaf.Write(flood); i%100 == 0 {
			if a := other.Do("ping", nil); a.Result != wire.Applied {
				t.Fatalf("another tab: %+v", a)
			}
		}
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		t.Fatal("the connection goes on")
	}
	if a := other.Do("ping", nil); a.Result != wire.Applied {
		t.Errorf("another tab: %+v", a)
	}
}

// TestRawFramesThatAreRefused: attack 77, frames that no library would send. The
// connection ends with the number that says why, and no other does.
func TestRawFramesThatAreRefused(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	frame := func(first byte, length []byte, payload string) []byte {
		// Masked with zeros, which leaves the payload as it is.
		return append(append(append([]byte{first}, length...), 0, 0, 0, 0), payload...)
	}
	short := func(first byte, payload string) []byte {
		return frame(first, []byte{0x80 | byte(len(payload))}, payload)
	}
	gigabyte, large := []byte{0xff, 0, 0, 0, 0, 0x40, 0, 0, 0}, strings.Repeat("x", 2*command.SmallLimit)
	for name, row := range map[string]struct {
		sent []byte
		want websocket.StatusCode // 0: it ends, whichever way
	}{
		"a reserved bit":         {short(0xa1, "{}"), websocket.StatusProtocolError},
		"compressed, unasked":    {short(0xc1, "{}"), websocket.StatusProtocolError},
		"a reserved kind":        {short(0x83, "{}"), websocket.StatusProtocolError},
		"a ping in fragments":    {short(0x09, "x"), websocket.StatusProtocolError},
		"a large ping":           {frame(0x89, []byte{0xfe, 0x01, 0x00}, strings.Repeat("x", 256)), websocket.StatusProtocolError},
		"a rest without a begin": {short(0x80, "{}"), websocket.StatusProtocolError},
		"no mask":                {[]byte{0x81, 2, '{', '}'}, 0},
		"text that is none":      {short(0x81, "{\"\xff\":1}"), 0},
		// What is too large ends although its rest never comes.
		"a gigabyte, begun":              {frame(0x81, gigabyte, large), websocket.StatusMessageTooBig},
		"a gigabyte in a later fragment": {append(frame(0x01, []byte{0xfe, 0x01, 0x00}, large[:256]), frame(0x80, gigabyte, large)...), websocket.StatusMessageTooBig},
		"a gigabyte that is no text":     {frame(0x82, gigabyte, "x"), websocket.StatusUnsupportedData},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, from := h.rawSocket(t)
			_, _ = conn.Write(row.sent) // it may be closed before it has all
			if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			said, err := io.ReadAll(from)
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() {
				t.Fatal("the connection goes on")
			}
			// The close frame is the last: its payload begins with the number.
			at := bytes.LastIndexByte(said, 0x88)
			if row.want != 0 && (at < 0 || len(said) < at+4 || websocket.StatusCode(binary.BigEndian.Uint16(said[at+2:])) != row.want) {
				t.Errorf("it ended with %q, want the number %d", said[max(at, 0):], row.want)
			}
		})
	}
}
