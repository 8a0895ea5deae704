package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/sayso-dev/sayso/httpapi"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/wire"
)

// serve calls a server whatever the target, the header and the body, as far as
// net/http would let them through.
func serve(f http.Handler, method, target string, body []byte, ways ...apitest.RequestOption) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/", strings.NewReader(string(body)))
	r.Host, r.RemoteAddr, r.RequestURI = "127.0.0.1:8787", "127.0.0.1:50000", target
	r.URL, _ = url.ParseRequestURI(target)
	r.Header.Set("Content-Type", "application/json")
	for _, w := range ways {
		w(r)
	}
	rec := httptest.NewRecorder()
	f.ServeHTTP(rec, r)
	return rec
}

// sane fails when what came back is not an answer: a fault of the server, a
// refusal that no program can read, a way out of this site.
func sane(t *testing.T, rec *httptest.ResponseRecorder) {
	if rec.Code >= http.StatusInternalServerError && rec.Code != http.StatusServiceUnavailable {
		t.Fatalf("got %d %s", rec.Code, rec.Body)
	}
	if to := rec.Header().Get("Location"); to != "" && (!strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.HasPrefix(to, `/\`)) {
		t.Fatalf("leads to %q", to)
	}
	if rec.Code < http.StatusBadRequest {
		return
	}
	var r wire.Refusal
	if err := json.Unmarshal(rec.Body.Bytes(), &r); err != nil || r.Error.Code == "" || r.Error.Message == "" {
		t.Fatalf("%d without a sentence: %s", rec.Code, rec.Body)
	}
}

// FuzzBodies sends any body to every route that takes one.
func FuzzBodies(f *testing.F) {
	h := quietHarness(f)
	id := h.NewSession("api-server")
	r, _ := h.Ask(id, "1", apitest.AsQuestions)
	// Nobody's password is set here: hashing one takes longer than all the rest.
	slow := map[string]bool{"POST /api/set_up": true, "POST /api/users": true, "POST /api/me/password": true, "POST /api/login": true}
	var addresses []string
	for _, rt := range httpapi.Routes() {
		if name := rt.Method + " " + rt.Pattern; rt.Method != http.MethodGet && rt.Method != http.MethodDelete && !slow[name] {
			at := id
			if strings.Contains(rt.Pattern, "pending") {
				at = r.RequestID
			}
			addresses = append(addresses, rt.Method+" "+strings.NewReplacer("{id}", at, "{message_id}", at).Replace(rt.Pattern))
		}
	}
	bodies := []string{
		`{}`, `null`, `[]`, `{"text":"a"}`, `{"title":"a","archived":true}`, `{"force":true}`, `{"cwd":"/w","prompt":"a","attachments":[{"name":"a","media_type":"image/png","data":"AA=="}]}`,
		`{"request_type":"tool_approval","decision":"allow","updated_input":{"a":1},"updated_permissions":[{"type":"addRules","rules":[{"toolName":"Bash"}],"behavior":"allow","destination":"session"}]}`,
		`{"request_type":"ask_user_question","answers":{"Which?":"A"}}`, `{"request_type":"ask_user_question","responses":[{"id":"q1","values":["A"],"text":"b"}]}`, `{"role":"admin"}`, `{"name":"a","role":"member","expires_in":1e9}`,
	}
	// Each address and each body once: the rest is for the fuzzer to try.
	for i := range max(len(addresses), len(bodies)) {
		f.Add(uint8(i%len(addresses)), []byte(bodies[i%len(bodies)]))
	}
	token := h.Token(account.Admin)
	f.Fuzz(func(t *testing.T, route uint8, body []byte) {
		method, target, _ := strings.Cut(addresses[int(route)%len(addresses)], " ")
		sane(t, serve(h.Server, method, target, body, apitest.Bearer(token)))
	})
}

// FuzzCommands sends any message over a socket: it is answered or the socket is
// closed with a reason, and the next one is served.
func FuzzCommands(f *testing.F) {
	h := newHarness(f)
	id := h.NewSession("api-server")
	r, _ := h.Ask(id, "1", apitest.AsQuestions)
	for _, message := range []string{
		`{}`, `null`, `[]`, `{"type":"ping"}`, `{"type":"subscribe","session_id":"` + id + `","after":0}`, `{"type":"unsubscribe","session_id":"` + id + `"}`,
		`{"type":"send_message","session_id":"` + id + `","text":"a"}`, `{"type":"typing","session_id":"` + id + `","request_id":"` + r.RequestID + `"}`,
		`{"type":"pending_request_response","session_id":"` + id + `","request_id":"` + r.RequestID + `","request_type":"ask_user_question","answers":{"Which?":"A"}}`,
		`{"type":"draft","request_id":"` + r.RequestID + `","value":"a"}`, `{"type":"kill_process","session_id":"` + id + `","force":true}`, `{"type":"ping","type":"kill_process"}`, "\xff",
	} {
		f.Add([]byte(strings.Replace(message, `{"type"`, `{"command_id":"018f0000-0000-7000-8000-000000000001","type"`, 1)))
	}
	token := h.Token(account.Member)
	var tab *websocket.Conn
	f.Cleanup(func() {
		if tab != nil {
			_ = tab.CloseNow()
		}
	})
	const ping = `{"type":"ping","command_id":"018f0000-0000-7000-8000-00000000ffff"}`
	f.Fuzz(func(t *testing.T, message []byte) {
		ctx := context.Background()
		if tab == nil {
			conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(h.Web.URL, "http")+"/ws", &websocket.DialOptions{
				HTTPClient: h.Client, HTTPHeader: http.Header{"Authorization": {"Bearer " + token}},
			})
			if err != nil {
				t.Fatal(err)
			}
			conn.SetReadLimit(64 << 20)
			tab = conn
		}
		err := tab.Write(ctx, websocket.MessageText, message)
		if err == nil {
			err = tab.Write(ctx, websocket.MessageText, []byte(ping))
		}
		for err == nil {
			var frame []byte
			if _, frame, err = tab.Read(ctx); err == nil && strings.Contains(string(frame), "00000000ffff") {
				return
			}
		}
		var closed websocket.CloseError
		if errors.As(err, &closed) && closed.Code == websocket.StatusInternalError {
			t.Fatalf("closed by a fault: %v", err)
		}
		_ = tab.CloseNow()
		tab = nil
	})
}

// FuzzCredentials: no cookie and no token but the real ones are anybody's.
func FuzzCredentials(f *testing.F) {
	h := quietHarness(f)
	signIn, token := httptest.NewRequest("GET", "/", nil), h.Token(account.Member)
	h.Cookie()(signIn)
	cookie, pageKey := signIn.Header.Get("Cookie"), signIn.Header.Get("X-Sayso-Page-Key")
	name, value, _ := strings.Cut(cookie, "=")
	for _, forged := range []string{"", value[1:], value + value, strings.ToUpper(value), token[:len(token)-1], "\x00" + token, token + "\n", "null", "eyJhbGciOiJub25lIn0.e30."} {
		f.Add(name+"="+forged, "Bearer "+forged)
		f.Add(cookie+"; "+name+"="+forged, "bearer  "+forged)
		f.Add(forged, "Basic "+forged)
	}
	f.Fuzz(func(t *testing.T, cookies, authorization string) {
		if strings.Contains(cookies, value) || strings.Contains(authorization, token) {
			return
		}
		rec := serve(h.Server, http.MethodGet, "/api/me", nil, func(r *http.Request) {
			r.Header["Cookie"] = []string{cookies}
			r.Header.Set("X-Sayso-Page-Key", pageKey)
			if authorization != "" {
				r.Header["Authorization"] = []string{authorization}
			}
		})
		if rec.Code < http.StatusBadRequest {
			t.Fatalf("got %d %s", rec.Code, rec.Body)
		}
		sane(t, rec)
	})
}

// FuzzAddresses: an address is answered or refused, whoever asks.
func FuzzAddresses(f *testing.F) {
	h := quietHarness(f)
	id := h.NewSession("api-server")
	for _, target := range []string{
		"/", "/../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//evil.example", `/\evil.example`, "/sign-in?next=//evil.example", "/api/sessions?limit=-1&cursor=%00",
		"/api/sessions/" + id + "/transcript?after=9223372036854775808&limit=1e9", "/api/sessions?q=%22*%20OR%20(", "/api/audit?after=x", "/assets/%00.js", "/api/sessions/%ff",
	} {
		for _, method := range []string{"GET", "HEAD", "DELETE", "OPTIONS", "TRACE"} {
			f.Add(method, target)
		}
	}
	token := h.Token(account.Admin)
	f.Fuzz(func(t *testing.T, method, target string) {
		if _, err := url.ParseRequestURI(target); err != nil || !strings.HasPrefix(target, "/") || strings.ContainsAny(target, " \r\n") {
			return // net/http refuses it before us
		}
		if _, err := http.NewRequest(method, "/", nil); err != nil {
			return
		}
		rec := serve(h.Server, method, target, nil, apitest.Bearer(token))
		if method == http.MethodHead && rec.Body.Len() == 0 {
			return
		}
		sane(t, rec)
	})
}
