package wsapi_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/wsapi"
)

// policies is who may use what. A route or command that is not here, or has
// another policy, fails: who may do something is changed on purpose.
var policies = map[string]string{
	"GET /healthz":                                    "anybody",
	"GET /readyz":                                     "anybody",
	"GET /metrics":                                    "admin",
	"GET /ws":                                         "viewer",
	"GET /api/openapi.json":                           "anybody",
	"POST /api/login":                                 "anybody",
	"POST /api/logout":                                "viewer",
	"GET /api/me":                                     "viewer",
	"GET /api/environment":                            "viewer",
	"GET /api/folders":                                "member",
	"GET /api/preferences":                            "viewer",
	"PATCH /api/preferences":                          "viewer",
	"GET /api/lately":                                 "viewer",
	"GET /api/waits":                                  "viewer",
	"GET /api/templates":                              "viewer",
	"POST /api/templates":                             "member",
	"PATCH /api/templates/{id}":                       "member",
	"DELETE /api/templates/{id}":                      "member",
	"GET /api/sessions":                               "viewer",
	"POST /api/sessions":                              "member",
	"GET /api/sessions/{id}":                          "viewer",
	"PATCH /api/sessions/{id}":                        "member",
	"DELETE /api/sessions/{id}":                       "member",
	"GET /api/sessions/{id}/transcript":               "viewer",
	"GET /api/sessions/{id}/messages":                 "viewer",
	"DELETE /api/sessions/{id}/messages/{message_id}": "member",
	"POST /api/sessions/{id}/messages":                "member",
	"POST /api/sessions/{id}/interrupt":               "member",
	"POST /api/sessions/{id}/kill":                    "member",
	"POST /api/sessions/{id}/resume":                  "member",
	"POST /api/sessions/{id}/fork":                    "member",
	"POST /api/sessions/{id}/model":                   "member",
	"POST /api/sessions/{id}/permission_mode":         "member",
	"GET /api/pending":                                "viewer",
	"GET /api/pending/{id}":                           "viewer",
	"POST /api/pending/{id}/response":                 "member",
	"GET /api/pending/{id}/preview":                   "viewer",
	"POST /api/pending/{id}/preview":                  "member",
	"POST /api/pending/{id}/withdraw_approval":        "member",
	"POST /api/pending/{id}/undo":                     "member",
	"POST /api/pending/{id}/extend":                   "member",
	"POST /api/mcp-answer":                            "member",
	"POST /claude/submit-answer":                      "member",
	"GET /api/limits":                                 "viewer",
	"GET /api/projects":                               "viewer",
	"POST /api/projects":                              "admin",
	"GET /api/projects/{id}":                          "viewer",
	"PATCH /api/projects/{id}":                        "member",
	"DELETE /api/projects/{id}":                       "admin",
	"GET /api/processes":                              "admin",
	"GET /api/terminal_sessions":                      "member",
	"GET /api/terminal_sessions/{id}":                 "member",
	"GET /api/terminal_sessions/{id}/transcript":      "member",
	"GET /api/search":                                 "viewer",
	"POST /api/attachments":                           "member",
	"GET /api/attachments/{id}":                       "viewer",
	"GET /api/processes/{id}/diagnostics":             "admin",
	"GET /api/tokens":                                 "viewer",
	"POST /api/tokens":                                "viewer",
	"DELETE /api/tokens/{id}":                         "viewer",
	"POST /api/set_up":                                "admin",
	"POST /api/set_up/passkey/challenge":              "admin",
	"POST /api/set_up/passkey":                        "admin",
	"POST /api/me/password":                           "viewer",
	"GET /api/sign_ins":                               "viewer",
	"DELETE /api/sign_ins/{id}":                       "viewer",
	"GET /api/grants":                                 "member",
	"POST /api/grants/revoke":                         "member",
	"GET /api/alerts":                                 "viewer",
	"PATCH /api/alerts/choices":                       "viewer",
	"POST /api/alerts/targets":                        "viewer",
	"DELETE /api/alerts/targets/{id}":                 "viewer",
	"POST /api/alerts/targets/{id}/test":              "viewer",
	"GET /api/trusted_folders":                        "admin",
	"POST /api/trusted_folders/revoke":                "admin",
	"GET /api/audit":                                  "admin",
	"GET /api/audit/state":                            "admin",
	"GET /api/audit/export":                           "admin",
	"GET /api/settings":                               "admin",
	"PATCH /api/settings":                             "admin",
	"GET /api/users":                                  "admin",
	"POST /api/users":                                 "admin",
	"PATCH /api/users/{id}":                           "admin",
	"POST /api/users/{id}/sign_in_link":               "admin",

	"GET /api/login":                    "anybody",
	"POST /api/login/passkey/challenge": "anybody",
	"POST /api/login/passkey":           "anybody",
	"POST /api/login/oidc/begin":        "anybody",
	"POST /api/login/oidc":              "anybody",
	"GET /api/links":                    "viewer",
	"POST /api/links/begin":             "viewer",
	"POST /api/links":                   "viewer",
	"DELETE /api/links/{id}":            "viewer",
	"GET /api/passkeys":                 "viewer",
	"POST /api/passkeys/challenge":      "viewer",
	"POST /api/passkeys":                "viewer",
	"DELETE /api/passkeys/{id}":         "viewer",
}

// Bodies and messages are small where nothing is said here, in bytes. Whoever
// raises a limit does it on purpose, too.
const smallBody, smallCommand = 1 << 20, 256 << 10

var largeBodies = map[string]int64{
	"POST /api/attachments":            33 << 20, // a file of 24 MiB in base64
	"POST /api/sessions":               48 << 20, // attachments
	"POST /api/sessions/{id}/messages": 48 << 20,
	"POST /api/pending/{id}/preview":   8 << 20, // the same, to look at it
	"POST /api/pending/{id}/response":  8 << 20, // an edited input can be a whole file
}

var largeCommands = map[string]int64{"pending_request_response": 8 << 20, "send_message": 48 << 20, "create_session": 48 << 20}

var commandPolicies = map[string]string{
	"pending_request_response": "member", "send_message": "member", "create_session": "member",
	"resume_session": "member", "fork_session": "member", "interrupt": "member", "kill_process": "member",
	"set_model": "member", "set_permission_mode": "member", "draft": "member", "withdraw_approval": "member", "undo": "member", "extend": "member",
	"subscribe": "viewer", "unsubscribe": "viewer", "typing": "viewer", "looking": "viewer", "noticed": "viewer", "ping": "viewer",
}

func TestEveryRouteAndCommandHasItsPolicy(t *testing.T) {
	t.Parallel()
	declared := map[string]string{}
	for _, rt := range wsapi.Routes() {
		name := rt.Method + " " + rt.Pattern
		declared[name] = rt.Policy
		if want := max(largeBodies[name], smallBody); rt.Limit != want {
			t.Errorf("%s takes %d bytes, want %d", name, rt.Limit, want)
		}
	}
	for name, got := range wsapi.CommandLimits() {
		if want := max(largeCommands[name], smallCommand); got != want {
			t.Errorf("command %s takes %d bytes, want %d", name, got, want)
		}
	}
	for name, got := range declared {
		if want := policies[name]; got == "" || got != want {
			t.Errorf("%s: policy %q, want %q", name, got, want)
		}
	}
	for name := range policies {
		if _, ok := declared[name]; !ok {
			t.Errorf("%s is gone", name)
		}
	}
	roles := wsapi.CommandRoles()
	for name, got := range roles {
		if want := commandPolicies[name]; got == "" || got != want {
			t.Errorf("command %s: role %q, want %q", name, got, want)
		}
	}
	if len(roles) != len(commandPolicies) {
		t.Errorf("%d commands, want %d", len(roles), len(commandPolicies))
	}
}

var pathParameter = regexp.MustCompile(`\{[a-z]+\}`)

// attack is a request that a route must refuse, with the number that
// reliability.md section 7 gives it.
type attack struct {
	name   string
	change func(h *house, rt wsapi.RouteInfo, r *request)
	status int
	code   string
	// where says to which routes it applies; nil: to all that need a sign-in.
	where func(wsapi.RouteInfo) bool
}

type request struct {
	method, path string
	body         any
	ways         []way
}

func unsafeRoute(rt wsapi.RouteInfo) bool { return rt.Method != "GET" }
func takesBody(rt wsapi.RouteInfo) bool   { return rt.Method == "POST" || rt.Method == "PATCH" }
func everyRoute(wsapi.RouteInfo) bool     { return true }
func needsSignIn(rt wsapi.RouteInfo) bool { return rt.Policy != "anybody" }
func memberRoute(rt wsapi.RouteInfo) bool { return rt.Policy == "member" }
func adminRoute(rt wsapi.RouteInfo) bool  { return rt.Policy == "admin" && !figures(rt) }
func figures(rt wsapi.RouteInfo) bool     { return rt.Pattern == "/metrics" }

func add(ways ...way) func(*house, wsapi.RouteInfo, *request) {
	return func(_ *house, _ wsapi.RouteInfo, r *request) { r.ways = append(r.ways, ways...) }
}

func instead(ways ...way) func(*house, wsapi.RouteInfo, *request) {
	return func(_ *house, _ wsapi.RouteInfo, r *request) { r.ways = ways }
}

func body(text string) func(*house, wsapi.RouteInfo, *request) {
	return func(_ *house, _ wsapi.RouteInfo, r *request) { r.body = text }
}

func host(name string) way { return func(r *http.Request) { r.Host = name } }

var attacks = []attack{
	{"7.1 another host", add(host("evil.com")), 421, "wrong_host", everyRoute},
	{"7.1 another host with its origin", add(host("evil.com"), header("Origin", "http://evil.com")), 421, "wrong_host", everyRoute},
	{"7.4 no host", add(func(r *http.Request) { r.Host = "" }), 400, "bad_request", everyRoute},
	{"7.5 prefix", add(host("localhost.evil.com")), 421, "wrong_host", everyRoute},
	{"7.5 nip.io", add(host("127.0.0.1.nip.io")), 421, "wrong_host", everyRoute},
	{"7.5 trailing dot", add(host("localhost.")), 421, "wrong_host", everyRoute},
	{"7.5 upper case", add(host("LOCALHOST")), 421, "wrong_host", everyRoute},
	{"7.5 user information", add(host("a@localhost")), 421, "wrong_host", everyRoute},
	{"7.5 mapped address", add(host("[::ffff:127.0.0.1]")), 421, "wrong_host", everyRoute},
	{"7.5 any address", add(host("0.0.0.0")), 421, "wrong_host", everyRoute},
	{"7.5 decimal address", add(host("2130706433")), 421, "wrong_host", everyRoute},
	{"7.6 a forwarded host changes nothing", add(host("evil.com"), header("X-Forwarded-Host", "localhost"), header("Forwarded", "host=localhost")), 421, "wrong_host", everyRoute},

	{"7.21 no credential", instead(), 401, "not_signed_in", nil},
	{"7.27 unknown token", instead(bearer(strings.Repeat("0", 64))), 401, "not_signed_in", nil},
	{"7.27 unknown cookie", instead(header("Cookie", "sayso="+strings.Repeat("0", 64))), 401, "not_signed_in", nil},
	{"7.27 empty token", instead(header("Authorization", "Bearer ")), 401, "not_signed_in", nil},
	{"7.27 another scheme", instead(header("Authorization", "Basic YTpi")), 401, "not_signed_in", nil},
	{"7.27 two credentials", add(func(r *http.Request) { r.Header.Add("Authorization", "Bearer x") }), 401, "not_signed_in", nil},
	{"7.33 identity of a proxy", instead(header("X-Remote-User", "admin"), header("Tailscale-User-Login", "admin")), 401, "not_signed_in", nil},
	{"7.29 loopback is no credential", instead(header("X-Forwarded-For", "127.0.0.1")), 401, "not_signed_in", nil},
	{"7.31 token in the query", func(_ *house, _ wsapi.RouteInfo, r *request) { r.path += "?Token=x" }, 400, "secret_in_url", everyRoute},

	{"7.13 cross-site", add(header("Sec-Fetch-Site", "cross-site")), 403, "wrong_origin", unsafeRoute},
	{"7.14 same-site", add(header("Sec-Fetch-Site", "same-site")), 403, "wrong_origin", unsafeRoute},
	{"7.9 origin null", add(header("Origin", "null")), 403, "wrong_origin", unsafeRoute},
	{"7.10 origin of another port", add(header("Origin", "http://127.0.0.1:1")), 403, "wrong_origin", unsafeRoute},
	{"7.12 origin with our prefix", add(func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:8787.evil.com") }), 403, "wrong_origin", unsafeRoute},
	{"7.11 origin of another scheme", add(func(r *http.Request) { r.Header.Set("Origin", "https://127.0.0.1:8787") }), 403, "wrong_origin", unsafeRoute},

	{"7.37 viewer", func(h *house, _ wsapi.RouteInfo, r *request) { r.ways = []way{bearer(h.token(account.Viewer))} }, 403, "forbidden", func(rt wsapi.RouteInfo) bool { return memberRoute(rt) || adminRoute(rt) }},
	{"7.37 member", func(h *house, _ wsapi.RouteInfo, r *request) { r.ways = []way{bearer(h.token(account.Member))} }, 403, "forbidden", adminRoute},

	{"7.82 figures for a viewer", func(h *house, _ wsapi.RouteInfo, r *request) { r.ways = []way{bearer(h.token(account.Viewer))} }, 404, "not_found", figures},
	{"7.82 figures for a member", func(h *house, _ wsapi.RouteInfo, r *request) { r.ways = []way{bearer(h.token(account.Member))} }, 404, "not_found", figures},

	{"7.16 another method", func(_ *house, rt wsapi.RouteInfo, r *request) { r.method = "PUT" }, 405, "method_not_allowed", everyRoute},
	{"7.17 method override", func(_ *house, rt wsapi.RouteInfo, r *request) {
		r.method = "PUT"
		r.ways = append(r.ways, header("X-HTTP-Method-Override", rt.Method))
	}, 405, "method_not_allowed", everyRoute},
	{"7.15 preflight", func(_ *house, _ wsapi.RouteInfo, r *request) {
		r.method = "OPTIONS"
		r.ways = append(r.ways, header("Origin", "http://evil.com"), header("Access-Control-Request-Method", "POST"))
	}, 405, "method_not_allowed", func(rt wsapi.RouteInfo) bool { return rt.Pattern != "/ws" }},

	{"7.13 form", func(_ *house, _ wsapi.RouteInfo, r *request) {
		r.body, r.ways = "{}", append(r.ways, header("Content-Type", "text/plain"))
	}, 415, "unsupported_media_type", takesBody},
	{"too large", func(_ *house, rt wsapi.RouteInfo, r *request) {
		r.body = `{"x":"` + strings.Repeat("x", int(rt.Limit)) + `"}`
	}, 413, "too_large", takesBody},
	{"7.43 unknown field", body(`{"actor":"admin"}`), 400, "invalid", takesBody},
	{"7.78 repeated field", body(`{"command_id":"a","command_id":"b"}`), 400, "invalid", func(rt wsapi.RouteInfo) bool { return memberRoute(rt) && takesBody(rt) && rt.Method != "PATCH" }},
	{"7.78 deep", body(`{"title":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`), 400, "invalid", func(rt wsapi.RouteInfo) bool { return rt.Method == "PATCH" }},
	{"something after", body(`{} {}`), 400, "invalid", takesBody},
	{"no object", body(`[]`), 400, "invalid", takesBody},
	{"cut off", body(`{"a`), 400, "invalid", takesBody},
	{"not UTF-8", body("{\"\xff\":1}"), 400, "invalid", takesBody},
}

// TestEveryRouteRefuses walks the table of routes with every attack that
// applies.
func TestEveryRouteRefuses(t *testing.T) {
	t.Parallel()
	h := openHouse(t, filepath.Join(t.TempDir(), "sayso.db"))
	id := h.session("one")
	for _, a := range attacks {
		where := a.where
		if where == nil {
			where = needsSignIn
		}
		tried := 0
		for _, rt := range wsapi.Routes() {
			if !where(rt) {
				continue
			}
			tried++
			t.Run(fmt.Sprintf("%s/%s %s", a.name, rt.Method, rt.Pattern), func(t *testing.T) {
				r := &request{method: rt.Method, path: pathParameter.ReplaceAllString(rt.Pattern, id)}
				if needsSignIn(rt) {
					r.ways = []way{bearer(h.token(account.Admin))}
				}
				a.change(h, rt, r)
				got := h.call(r.method, r.path, r.body, r.ways...)
				checkRefusal(t, got, a.status, a.code)
			})
		}
		if tried == 0 {
			t.Errorf("%s applies to no route", a.name)
		}
	}
	if asked := h.driver.asked(); len(asked) != 0 {
		t.Errorf("a refused request did something: %v", asked)
	}
}

// checkRefusal holds an answer against what every refusal must be.
func checkRefusal(t *testing.T, got answer, status int, code string) {
	t.Helper()
	if got.status != status {
		t.Fatalf("got %d %s, want %d", got.status, got.body, status)
	}
	e := got.refusal(t)
	if e.Code != code {
		t.Errorf("got code %q, want %q", e.Code, code)
	}
	if m := []rune(e.Message); len(m) == 0 || !unicode.IsUpper(m[0]) && m[0] != '“' || !strings.ContainsRune(".?…", m[len(m)-1]) {
		t.Errorf("message is no sentence: %q", e.Message)
	}
	if status == 405 && got.header.Get("Allow") == "" {
		t.Error("405 without Allow")
	}
	for _, name := range []string{"Access-Control-Allow-Origin", "Set-Cookie"} {
		if v := got.header.Get(name); v != "" {
			t.Errorf("a refusal carries %s: %s", name, v)
		}
	}
	checkHeaders(t, got)
}

// checkHeaders holds an answer against the headers that every answer carries.
func checkHeaders(t *testing.T, got answer) {
	t.Helper()
	csp := got.header.Get("Content-Security-Policy")
	for _, part := range []string{
		"default-src 'self'", "script-src 'self'", "style-src 'self'", "worker-src 'self'", "connect-src 'self'",
		"img-src 'self' blob: data:", "object-src 'none'", "base-uri 'none'", "frame-ancestors 'none'",
		"require-trusted-types-for 'script'",
	} {
		if !slices.Contains(strings.Split(csp, "; "), part) {
			t.Errorf("Content-Security-Policy lacks %q: %s", part, csp)
		}
	}
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		if v := got.header.Get(name); v != want {
			t.Errorf("%s is %q, want %q", name, v, want)
		}
	}
	if got.header.Get("Permissions-Policy") == "" {
		t.Error("no Permissions-Policy")
	}
}

func TestPathsThatAreNotThere(t *testing.T) {
	t.Parallel()
	h := openHouse(t, filepath.Join(t.TempDir(), "sayso.db"))
	for _, path := range []string{"/api/", "/api/nothing", "/api/sessions/", "/api/sessions/x/nothing", "/api/nobody"} {
		checkRefusal(t, h.call("GET", path, nil), 401, "not_signed_in")
		checkRefusal(t, h.as(account.Admin, "GET", path, nil), 404, "not_found")
	}
	for _, path := range []string{"/debug/pprof/", "/anything", "/"} {
		got := h.call("GET", path, nil)
		if got.status != 200 || !strings.Contains(string(got.body), "<title>sayso</title>") {
			t.Errorf("%s: got %d %s, want the app", path, got.status, got.body)
		}
		checkHeaders(t, got)
		checkRefusal(t, h.call("POST", path, nil), 405, "method_not_allowed")
	}
	for _, path := range []string{"/api/sessions/none", "/api/sessions/none/transcript"} {
		checkRefusal(t, h.as(account.Viewer, "GET", path, nil), 404, "not_found")
	}
}

func TestAllowedHosts(t *testing.T) {
	t.Parallel()
	h := openHouse(t, filepath.Join(t.TempDir(), "sayso.db"), func(o *wsapi.Options) {
		o.AllowedHosts = []string{"sayso.example", "exact.example:8443"}
	})
	for name, want := range map[string]int{
		"127.0.0.1": 200, "127.0.0.1:8787": 200, "localhost:1": 200, "[::1]:8787": 200, "[::1]": 200,
		"sayso.example": 200, "sayso.example:9000": 200, "exact.example:8443": 200,
		"exact.example": 421, "exact.example:8444": 421, "a.sayso.example": 421, "sayso.example.evil.com": 421, "::1:8787:": 421,
	} {
		if got := h.call("GET", "/healthz", nil, host(name)); got.status != want {
			t.Errorf("host %q: got %d, want %d", name, got.status, want)
		}
	}
	checkRefusal(t, h.call("GET", "/healthz", nil, header("X-Absolute", "1")), 400, "bad_request")
}

// TestOwnPages holds that what our own pages and scripts send passes.
func TestOwnPages(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	id := h.session("one")
	path := "/api/sessions/" + id + "/interrupt"
	cookie := h.cookie()
	own := header("Origin", h.web.URL)
	for name, ways := range map[string][]way{
		"cookie and own origin":       {cookie, own, header("Sec-Fetch-Site", "same-origin")},
		"cookie of an old browser":    {cookie, own},
		"token of a script":           {bearer(h.token(account.Member))},
		"token with our own origin":   {bearer(h.token(account.Member)), own},
		"bearer in another case":      {header("Authorization", "bearer "+h.token(account.Member))},
		"charset in the content type": {bearer(h.token(account.Member)), header("Content-Type", "application/json; charset=UTF-8")},
	} {
		if got := h.call("POST", path, "{}", ways...); got.status != http.StatusAccepted {
			t.Errorf("%s: got %d %s, want 202", name, got.status, got.body)
		}
	}
	wrong := header("Authorization", "Bearer "+strings.Repeat("0", 64))
	checkRefusal(t, h.call("POST", path, "{}", cookie, own, wrong), 401, "not_signed_in")
}
