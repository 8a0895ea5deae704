package httpapi_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/httpapi"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
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
	"GET /api/catch_up":                               "viewer",
	"GET /api/lately":                                 "viewer",
	"GET /api/phone":                                  "viewer",
	"GET /api/waits":                                  "viewer",
	"GET /api/bookmarks":                              "viewer",
	"PATCH /api/bookmarks":                            "viewer",
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
	"GET /api/sessions/{id}/changes":                  "viewer",
	"GET /api/sessions/{id}/changes/file":             "viewer",
	"POST /api/sessions/{id}/export":                  "viewer",
	"POST /api/sessions/{id}/changes/discard":         "member",
	"POST /api/sessions/{id}/changes/commit":          "member",
	"GET /api/folders/info":                           "member",
	"GET /api/folders/files":                          "member",
	"GET /api/sessions/{id}/git":                      "viewer",
	"POST /api/worktrees":                             "member",
	"GET /api/sessions/{id}/worktree":                 "viewer",
	"POST /api/sessions/{id}/worktree/merge":          "member",
	"POST /api/sessions/{id}/worktree/remove":         "member",
	"GET /api/sessions/{id}/rewind":                   "member",
	"POST /api/sessions/{id}/rewind":                  "member",
	"GET /api/sessions/{id}/files":                    "viewer",
	"GET /api/sessions/{id}/files/search":             "viewer",
	"GET /api/sessions/{id}/files/content":            "viewer",
	"GET /api/sessions/{id}/files/raw":                "viewer",
	"GET /api/sessions/{id}/catalog":                  "member",
	"GET /api/models":                                 "member",
	"GET /api/sessions/{id}/tools":                    "viewer",
	"POST /api/sessions/{id}/tools/server":            "member",
	"GET /api/sessions/{id}/context":                  "viewer",
	"GET /api/sessions/{id}/costs":                    "viewer",
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
	"GET /api/processes/{id}/requests":                "admin",
	"GET /api/machines":                               "member",
	"GET /api/runners":                                "admin",
	"POST /api/runners":                               "admin",
	"PATCH /api/runners/{id}":                         "admin",
	"DELETE /api/runners/{id}":                        "admin",
	"POST /api/runners/{id}/token":                    "admin",
	"DELETE /api/runners/{id}/token":                  "admin",
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
	"GET /api/storage":                                "admin",
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
	for _, rt := range httpapi.Routes() {
		name := rt.Method + " " + rt.Pattern
		declared[name] = rt.Policy
		if want := max(largeBodies[name], smallBody); rt.Limit != want {
			t.Errorf("%s takes %d bytes, want %d", name, rt.Limit, want)
		}
	}
	for name, got := range apitest.CommandLimits() {
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
	roles := apitest.CommandRoles()
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
	change func(h *harness, rt httpapi.RouteInfo, r *request)
	status int
	code   string
	// where says to which routes it applies; nil: to all that need a sign-in.
	where func(httpapi.RouteInfo) bool
}

type request struct {
	method, path string
	body         any
	ways         []apitest.RequestOption
}

func unsafeRoute(rt httpapi.RouteInfo) bool { return rt.Method != "GET" }
func takesBody(rt httpapi.RouteInfo) bool   { return rt.Method == "POST" || rt.Method == "PATCH" }
func everyRoute(httpapi.RouteInfo) bool     { return true }
func needsSignIn(rt httpapi.RouteInfo) bool { return rt.Policy != "anybody" }
func memberRoute(rt httpapi.RouteInfo) bool { return rt.Policy == "member" }
func adminRoute(rt httpapi.RouteInfo) bool  { return rt.Policy == "admin" && !figures(rt) }
func figures(rt httpapi.RouteInfo) bool     { return rt.Pattern == "/metrics" }

func add(ways ...apitest.RequestOption) func(*harness, httpapi.RouteInfo, *request) {
	return func(_ *harness, _ httpapi.RouteInfo, r *request) { r.ways = append(r.ways, ways...) }
}

func instead(ways ...apitest.RequestOption) func(*harness, httpapi.RouteInfo, *request) {
	return func(_ *harness, _ httpapi.RouteInfo, r *request) { r.ways = ways }
}

func body(text string) func(*harness, httpapi.RouteInfo, *request) {
	return func(_ *harness, _ httpapi.RouteInfo, r *request) { r.body = text }
}

func host(name string) apitest.RequestOption { return func(r *http.Request) { r.Host = name } }

var attacks = []attack{
	{"7.1 another host", add(host("evil.com")), 421, "wrong_host", everyRoute},
	{"7.1 another host with its origin", add(host("evil.com"), apitest.Header("Origin", "http://evil.com")), 421, "wrong_host", everyRoute},
	{"7.4 no host", add(func(r *http.Request) { r.Host = "" }), 400, "bad_request", everyRoute},
	{"7.5 prefix", add(host("localhost.evil.com")), 421, "wrong_host", everyRoute},
	{"7.5 nip.io", add(host("127.0.0.1.nip.io")), 421, "wrong_host", everyRoute},
	{"7.5 trailing dot", add(host("localhost.")), 421, "wrong_host", everyRoute},
	{"7.5 upper case", add(host("LOCALHOST")), 421, "wrong_host", everyRoute},
	{"7.5 user information", add(host("a@localhost")), 421, "wrong_host", everyRoute},
	{"7.5 mapped address", add(host("[::ffff:127.0.0.1]")), 421, "wrong_host", everyRoute},
	{"7.5 any address", add(host("0.0.0.0")), 421, "wrong_host", everyRoute},
	{"7.5 decimal address", add(host("2130706433")), 421, "wrong_host", everyRoute},
	{"7.6 a forwarded host changes nothing", add(host("evil.com"), apitest.Header("X-Forwarded-Host", "localhost"), apitest.Header("Forwarded", "host=localhost")), 421, "wrong_host", everyRoute},

	{"7.21 no credential", instead(), 401, "not_signed_in", nil},
	{"7.27 unknown token", instead(apitest.Bearer(strings.Repeat("0", 64))), 401, "not_signed_in", nil},
	{"7.27 unknown cookie", instead(apitest.Header("Cookie", "sayso="+strings.Repeat("0", 64))), 401, "not_signed_in", nil},
	{"7.27 empty token", instead(apitest.Header("Authorization", "Bearer ")), 401, "not_signed_in", nil},
	{"7.27 another scheme", instead(apitest.Header("Authorization", "Basic YTpi")), 401, "not_signed_in", nil},
	{"7.27 two credentials", add(func(r *http.Request) { r.Header.Add("Authorization", "Bearer x") }), 401, "not_signed_in", nil},
	{"7.33 identity of a proxy", instead(apitest.Header("X-Remote-User", "admin"), apitest.Header("Tailscale-User-Login", "admin")), 401, "not_signed_in", nil},
	{"7.29 loopback is no credential", instead(apitest.Header("X-Forwarded-For", "127.0.0.1")), 401, "not_signed_in", nil},
	{"7.31 token in the query", func(_ *harness, _ httpapi.RouteInfo, r *request) { r.path += "?Token=x" }, 400, "secret_in_url", everyRoute},

	{"7.13 cross-site", add(apitest.Header("Sec-Fetch-Site", "cross-site")), 403, "wrong_origin", unsafeRoute},
	{"7.14 same-site", add(apitest.Header("Sec-Fetch-Site", "same-site")), 403, "wrong_origin", unsafeRoute},
	{"7.9 origin null", add(apitest.Header("Origin", "null")), 403, "wrong_origin", unsafeRoute},
	{"7.10 origin of another port", add(apitest.Header("Origin", "http://127.0.0.1:1")), 403, "wrong_origin", unsafeRoute},
	{"7.12 origin with our prefix", add(func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:8787.evil.com") }), 403, "wrong_origin", unsafeRoute},
	{"7.11 origin of another scheme", add(func(r *http.Request) { r.Header.Set("Origin", "https://127.0.0.1:8787") }), 403, "wrong_origin", unsafeRoute},

	{"7.37 viewer", func(h *harness, _ httpapi.RouteInfo, r *request) {
		r.ways = []apitest.RequestOption{apitest.Bearer(h.Token(account.Viewer))}
	}, 403, "forbidden", func(rt httpapi.RouteInfo) bool { return memberRoute(rt) || adminRoute(rt) }},
	{"7.37 member", func(h *harness, _ httpapi.RouteInfo, r *request) {
		r.ways = []apitest.RequestOption{apitest.Bearer(h.Token(account.Member))}
	}, 403, "forbidden", adminRoute},

	{"7.82 figures for a viewer", func(h *harness, _ httpapi.RouteInfo, r *request) {
		r.ways = []apitest.RequestOption{apitest.Bearer(h.Token(account.Viewer))}
	}, 404, "not_found", figures},
	{"7.82 figures for a member", func(h *harness, _ httpapi.RouteInfo, r *request) {
		r.ways = []apitest.RequestOption{apitest.Bearer(h.Token(account.Member))}
	}, 404, "not_found", figures},

	{"7.16 another method", func(_ *harness, rt httpapi.RouteInfo, r *request) { r.method = "PUT" }, 405, "method_not_allowed", everyRoute},
	{"7.17 method override", func(_ *harness, rt httpapi.RouteInfo, r *request) {
		r.method = "PUT"
		r.ways = append(r.ways, apitest.Header("X-HTTP-Method-Override", rt.Method))
	}, 405, "method_not_allowed", everyRoute},
	{"7.15 preflight", func(_ *harness, _ httpapi.RouteInfo, r *request) {
		r.method = "OPTIONS"
		r.ways = append(r.ways, apitest.Header("Origin", "http://evil.com"), apitest.Header("Access-Control-Request-Method", "POST"))
	}, 405, "method_not_allowed", func(rt httpapi.RouteInfo) bool { return rt.Pattern != "/ws" }},

	{"7.13 form", func(_ *harness, _ httpapi.RouteInfo, r *request) {
		r.body, r.ways = "{}", append(r.ways, apitest.Header("Content-Type", "text/plain"))
	}, 415, "unsupported_media_type", takesBody},
	{"too large", func(_ *harness, rt httpapi.RouteInfo, r *request) {
		r.body = `{"x":"` + strings.Repeat("x", int(rt.Limit)) + `"}`
	}, 413, "too_large", takesBody},
	{"7.43 unknown field", body(`{"actor":"admin"}`), 400, "invalid", takesBody},
	{"7.78 repeated field", body(`{"command_id":"a","command_id":"b"}`), 400, "invalid", func(rt httpapi.RouteInfo) bool { return memberRoute(rt) && takesBody(rt) && rt.Method != "PATCH" }},
	{"7.78 deep", body(`{"title":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`), 400, "invalid", func(rt httpapi.RouteInfo) bool { return rt.Method == "PATCH" }},
	{"something after", body(`{} {}`), 400, "invalid", takesBody},
	{"no object", body(`[]`), 400, "invalid", takesBody},
	{"cut off", body(`{"a`), 400, "invalid", takesBody},
	{"not UTF-8", body("{\"\xff\":1}"), 400, "invalid", takesBody},
}

// TestEveryRouteRefuses walks the table of routes with every attack that
// applies.
func TestEveryRouteRefuses(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	id := h.NewSession("one")
	for _, a := range attacks {
		where := a.where
		if where == nil {
			where = needsSignIn
		}
		tried := 0
		for _, rt := range httpapi.Routes() {
			if !where(rt) {
				continue
			}
			tried++
			t.Run(fmt.Sprintf("%s/%s %s", a.name, rt.Method, rt.Pattern), func(t *testing.T) {
				r := &request{method: rt.Method, path: pathParameter.ReplaceAllString(rt.Pattern, id)}
				if needsSignIn(rt) {
					r.ways = []apitest.RequestOption{apitest.Bearer(h.Token(account.Admin))}
				}
				a.change(h, rt, r)
				got := h.Call(r.method, r.path, r.body, r.ways...)
				apitest.CheckRefusal(t, got, a.status, a.code)
			})
		}
		if tried == 0 {
			t.Errorf("%s applies to no route", a.name)
		}
	}
	if asked := h.Driver.Calls(); len(asked) != 0 {
		t.Errorf("a refused request did something: %v", asked)
	}
}

func TestPathsThatAreNotThere(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	for _, path := range []string{"/api/", "/api/nothing", "/api/sessions/", "/api/sessions/x/nothing", "/api/nobody"} {
		apitest.CheckRefusal(t, h.Call("GET", path, nil), 401, "not_signed_in")
		apitest.CheckRefusal(t, h.CallAs(account.Admin, "GET", path, nil), 404, "not_found")
	}
	for _, path := range []string{"/debug/pprof/", "/anything", "/"} {
		got := h.Call("GET", path, nil)
		if got.Status != 200 || !strings.Contains(string(got.Body), "<title>sayso</title>") {
			t.Errorf("%s: got %d %s, want the app", path, got.Status, got.Body)
		}
		apitest.CheckHeaders(t, got)
		apitest.CheckRefusal(t, h.Call("POST", path, nil), 405, "method_not_allowed")
	}
	for _, path := range []string{"/api/sessions/none", "/api/sessions/none/transcript"} {
		apitest.CheckRefusal(t, h.CallAs(account.Viewer, "GET", path, nil), 404, "not_found")
	}
}

func TestAllowedHosts(t *testing.T) {
	t.Parallel()
	h := quietHarness(t, func(o *apitest.Options) {
		o.AllowedHosts = []string{"sayso.example", "exact.example:8443"}
	})
	for name, want := range map[string]int{
		"127.0.0.1": 200, "127.0.0.1:8787": 200, "localhost:1": 200, "[::1]:8787": 200, "[::1]": 200,
		"sayso.example": 200, "sayso.example:9000": 200, "exact.example:8443": 200,
		"exact.example": 421, "exact.example:8444": 421, "a.sayso.example": 421, "sayso.example.evil.com": 421, "::1:8787:": 421,
	} {
		if got := h.Call("GET", "/healthz", nil, host(name)); got.Status != want {
			t.Errorf("host %q: got %d, want %d", name, got.Status, want)
		}
	}
	apitest.CheckRefusal(t, h.Call("GET", "/healthz", nil, apitest.Header("X-Absolute", "1")), 400, "bad_request")
}

// TestOriginsThatAreAccepted holds that what our own pages and scripts send passes.
func TestOriginsThatAreAccepted(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.NewSession("one")
	path := "/api/sessions/" + id + "/interrupt"
	cookie := h.Cookie()
	own := apitest.Header("Origin", h.Web.URL)
	for name, ways := range map[string][]apitest.RequestOption{
		"cookie and own origin":       {cookie, own, apitest.Header("Sec-Fetch-Site", "same-origin")},
		"cookie of an old browser":    {cookie, own},
		"token of a script":           {apitest.Bearer(h.Token(account.Member))},
		"token with our own origin":   {apitest.Bearer(h.Token(account.Member)), own},
		"bearer in another case":      {apitest.Header("Authorization", "bearer "+h.Token(account.Member))},
		"charset in the content type": {apitest.Bearer(h.Token(account.Member)), apitest.Header("Content-Type", "application/json; charset=UTF-8")},
	} {
		if got := h.Call("POST", path, "{}", ways...); got.Status != http.StatusAccepted {
			t.Errorf("%s: got %d %s, want 202", name, got.Status, got.Body)
		}
	}
	wrong := apitest.Header("Authorization", "Bearer "+strings.Repeat("0", 64))
	apitest.CheckRefusal(t, h.Call("POST", path, "{}", cookie, own, wrong), 401, "not_signed_in")
}
