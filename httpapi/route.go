package httpapi

import (
	"context"
	"net/http"
	"slices"
	"sort"
	"strings"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/command"
	"github.com/sayso-dev/sayso/internal/refusal"
)

// policy is the role that a route requires.
type policy string

const (
	anybody  policy = "anybody"
	signedIn policy = policy(account.Viewer)
	asMember policy = policy(account.Member)
	asAdmin  policy = policy(account.Admin)
)

// route is one row of the route table.
type route struct {
	method  string
	pattern string
	policy  policy
	limit   int64        // of the body in bytes; 0: bodyLimit
	hidden  bool         // respond 404 to people whose role is too low
	scope   account.Role // of tokens that may use this route and no other, "" for none
	serve   func(s *Server, w http.ResponseWriter, r *http.Request, who account.Identity) error
}

// routes lists all routes except the static app. Tests require a policy for each.
func routes() []route {
	return []route{
		{method: "GET", pattern: "/healthz", policy: anybody, serve: (*Server).getHealth},
		{method: "GET", pattern: "/readyz", policy: anybody, serve: (*Server).getReady},
		{method: "GET", pattern: "/metrics", policy: asAdmin, hidden: true, scope: account.MetricsScope, serve: (*Server).getMetrics},
		{method: "GET", pattern: "/ws", policy: signedIn, serve: (*Server).getSocket},
		{method: "GET", pattern: "/api/openapi.json", policy: anybody, serve: (*Server).getOpenAPI},

		{method: "POST", pattern: "/api/login", policy: anybody, serve: (*Server).postLogin},
		{method: "GET", pattern: "/api/login", policy: anybody, serve: (*Server).getLogin},
		{method: "POST", pattern: "/api/login/passkey/challenge", policy: anybody, serve: (*Server).postPasskeyChallenge},
		{method: "POST", pattern: "/api/login/passkey", policy: anybody, serve: (*Server).postPasskeyLogin},
		{method: "POST", pattern: "/api/login/oidc/begin", policy: anybody, serve: (*Server).postOIDCBegin},
		{method: "POST", pattern: "/api/login/oidc", policy: anybody, serve: (*Server).postOIDCLogin},
		{method: "GET", pattern: "/api/links", policy: signedIn, serve: (*Server).getLinks},
		{method: "POST", pattern: "/api/links/begin", policy: signedIn, serve: (*Server).postLinkBegin},
		{method: "POST", pattern: "/api/links", policy: signedIn, serve: (*Server).postLink},
		{method: "DELETE", pattern: "/api/links/{id}", policy: signedIn, serve: (*Server).deleteLink},
		{method: "GET", pattern: "/api/passkeys", policy: signedIn, serve: (*Server).getPasskeys},
		{method: "POST", pattern: "/api/passkeys/challenge", policy: signedIn, serve: (*Server).postPasskeyNew},
		{method: "POST", pattern: "/api/passkeys", policy: signedIn, serve: (*Server).postPasskey},
		{method: "DELETE", pattern: "/api/passkeys/{id}", policy: signedIn, serve: (*Server).deletePasskey},
		{method: "POST", pattern: "/api/logout", policy: signedIn, serve: (*Server).postLogout},
		{method: "GET", pattern: "/api/me", policy: signedIn, serve: (*Server).getMe},
		{method: "POST", pattern: "/api/set_up", policy: asAdmin, serve: (*Server).postSetUp},
		{method: "POST", pattern: "/api/set_up/passkey/challenge", policy: asAdmin, serve: (*Server).postPasskeySetUpBegin},
		{method: "POST", pattern: "/api/set_up/passkey", policy: asAdmin, serve: (*Server).postPasskeySetUp},
		{method: "POST", pattern: "/api/me/password", policy: signedIn, serve: (*Server).postPassword},
		{method: "GET", pattern: "/api/sign_ins", policy: signedIn, serve: (*Server).getSignIns},
		{method: "DELETE", pattern: "/api/sign_ins/{id}", policy: signedIn, serve: (*Server).deleteSignIn},
		{method: "GET", pattern: "/api/environment", policy: signedIn, serve: (*Server).getEnvironment},
		{method: "GET", pattern: "/api/phone", policy: signedIn, serve: (*Server).getPhone},
		{method: "GET", pattern: "/api/folders", policy: asMember, serve: (*Server).getFolders},

		// Preferences, what happened while a person was away, and how long Claude waited.
		{method: "GET", pattern: "/api/preferences", policy: signedIn, serve: (*Server).getPreferences},
		{method: "PATCH", pattern: "/api/preferences", policy: signedIn, serve: (*Server).patchPreferences},
		{method: "GET", pattern: "/api/bookmarks", policy: signedIn, serve: (*Server).getBookmarks},
		{method: "PATCH", pattern: "/api/bookmarks", policy: signedIn, serve: (*Server).patchBookmarks},
		{method: "GET", pattern: "/api/catch_up", policy: signedIn, serve: (*Server).getCatchUp},
		{method: "GET", pattern: "/api/lately", policy: signedIn, serve: (*Server).getCatchUp}, // its name in earlier releases
		{method: "GET", pattern: "/api/waits", policy: signedIn, serve: (*Server).getWaits},

		// A person's own saved replies.
		{method: "GET", pattern: "/api/templates", policy: signedIn, serve: (*Server).getTemplates},
		{method: "POST", pattern: "/api/templates", policy: asMember, serve: (*Server).postTemplate},
		{method: "PATCH", pattern: "/api/templates/{id}", policy: asMember, serve: (*Server).patchTemplate},
		{method: "DELETE", pattern: "/api/templates/{id}", policy: asMember, serve: (*Server).deleteTemplate},

		{method: "GET", pattern: "/api/sessions", policy: signedIn, serve: (*Server).getSessions},
		{method: "POST", pattern: "/api/sessions", policy: asMember, limit: command.MessageLimit, serve: (*Server).postSession},
		{method: "GET", pattern: "/api/sessions/{id}", policy: signedIn, serve: (*Server).getSession},
		{method: "PATCH", pattern: "/api/sessions/{id}", policy: asMember, serve: (*Server).patchSession},
		{method: "DELETE", pattern: "/api/sessions/{id}", policy: asMember, serve: (*Server).deleteSession},
		{method: "GET", pattern: "/api/sessions/{id}/transcript", policy: signedIn, serve: (*Server).getTranscript},
		{method: "POST", pattern: "/api/sessions/{id}/export", policy: signedIn, serve: (*Server).postExport},
		{method: "GET", pattern: "/api/sessions/{id}/messages", policy: signedIn, serve: (*Server).getMessages},
		{method: "DELETE", pattern: "/api/sessions/{id}/messages/{message_id}", policy: asMember, serve: (*Server).deleteMessage},
		{method: "POST", pattern: "/api/sessions/{id}/messages", policy: asMember, limit: command.MessageLimit, serve: commandRoute("send_message")},
		{method: "POST", pattern: "/api/sessions/{id}/interrupt", policy: asMember, serve: commandRoute("interrupt")},
		{method: "POST", pattern: "/api/sessions/{id}/kill", policy: asMember, serve: commandRoute("kill_process")},
		{method: "POST", pattern: "/api/sessions/{id}/resume", policy: asMember, serve: commandRoute("resume_session")},
		{method: "POST", pattern: "/api/sessions/{id}/fork", policy: asMember, serve: commandRoute("fork_session")},
		{method: "POST", pattern: "/api/sessions/{id}/model", policy: asMember, serve: commandRoute("set_model")},
		{method: "POST", pattern: "/api/sessions/{id}/permission_mode", policy: asMember, serve: commandRoute("set_permission_mode")},

		{method: "GET", pattern: "/api/sessions/{id}/changes", policy: signedIn, serve: (*Server).getChanges},
		{method: "GET", pattern: "/api/sessions/{id}/changes/file", policy: signedIn, serve: (*Server).getChangedFile},
		{method: "POST", pattern: "/api/sessions/{id}/changes/discard", policy: asMember, serve: (*Server).postDiscard},
		{method: "POST", pattern: "/api/sessions/{id}/changes/commit", policy: asMember, serve: (*Server).postCommit},
		{method: "GET", pattern: "/api/folders/info", policy: asMember, serve: (*Server).getFolderInfo},
		{method: "GET", pattern: "/api/folders/files", policy: asMember, serve: (*Server).getFolderFiles},
		{method: "GET", pattern: "/api/sessions/{id}/git", policy: signedIn, serve: (*Server).getGitState},
		{method: "POST", pattern: "/api/worktrees", policy: asMember, serve: (*Server).postWorktree},
		{method: "GET", pattern: "/api/sessions/{id}/worktree", policy: signedIn, serve: (*Server).getWorktree},
		{method: "POST", pattern: "/api/sessions/{id}/worktree/merge", policy: asMember, serve: (*Server).postWorktreeMerge},
		{method: "POST", pattern: "/api/sessions/{id}/worktree/remove", policy: asMember, serve: (*Server).postWorktreeRemove},
		{method: "GET", pattern: "/api/sessions/{id}/rewind", policy: asMember, serve: (*Server).getRewind},
		{method: "POST", pattern: "/api/sessions/{id}/rewind", policy: asMember, serve: (*Server).postRewind},
		{method: "GET", pattern: "/api/sessions/{id}/files", policy: signedIn, serve: (*Server).getFiles},
		{method: "GET", pattern: "/api/sessions/{id}/files/search", policy: signedIn, serve: (*Server).getFoundFiles},
		{method: "GET", pattern: "/api/sessions/{id}/files/content", policy: signedIn, serve: (*Server).getFile},
		{method: "GET", pattern: "/api/sessions/{id}/files/raw", policy: signedIn, serve: (*Server).getRawFile},
		{method: "GET", pattern: "/api/sessions/{id}/tools", policy: signedIn, serve: (*Server).getTools},
		{method: "POST", pattern: "/api/sessions/{id}/tools/server", policy: asMember, serve: (*Server).postServer},
		{method: "GET", pattern: "/api/sessions/{id}/context", policy: signedIn, serve: (*Server).getContext},
		{method: "GET", pattern: "/api/sessions/{id}/costs", policy: signedIn, serve: (*Server).getCosts},

		{method: "GET", pattern: "/api/sessions/{id}/catalog", policy: asMember, serve: (*Server).getCatalog},
		{method: "GET", pattern: "/api/models", policy: asMember, serve: (*Server).getModels},

		{method: "GET", pattern: "/api/terminal_sessions", policy: asMember, serve: (*Server).getTerminalSessions},
		{method: "GET", pattern: "/api/terminal_sessions/{id}", policy: asMember, serve: (*Server).getTerminalSession},
		{method: "GET", pattern: "/api/terminal_sessions/{id}/transcript", policy: asMember, serve: (*Server).getTerminalTranscript},
		{method: "GET", pattern: "/api/search", policy: signedIn, serve: (*Server).getSearch},

		{method: "POST", pattern: "/api/attachments", policy: asMember, limit: uploadLimit, serve: (*Server).postAttachment},
		{method: "GET", pattern: "/api/attachments/{id}", policy: signedIn, serve: (*Server).getAttachment},

		// The caller's alerts or, for admins with ?of=server, those of the server.
		{method: "GET", pattern: "/api/alerts", policy: signedIn, serve: (*Server).getAlerts},
		{method: "PATCH", pattern: "/api/alerts/choices", policy: signedIn, serve: (*Server).patchAlertChoices},
		{method: "POST", pattern: "/api/alerts/targets", policy: signedIn, serve: (*Server).postAlertTarget},
		{method: "DELETE", pattern: "/api/alerts/targets/{id}", policy: signedIn, serve: (*Server).deleteAlertTarget},
		{method: "POST", pattern: "/api/alerts/targets/{id}/test", policy: signedIn, serve: (*Server).postAlertTest},

		{method: "GET", pattern: "/api/pending", policy: signedIn, serve: (*Server).getPending},
		{method: "GET", pattern: "/api/pending/{id}", policy: signedIn, serve: (*Server).getRequest},
		{method: "GET", pattern: "/api/pending/{id}/preview", policy: signedIn, serve: (*Server).getPreview},
		{method: "POST", pattern: "/api/pending/{id}/preview", policy: asMember, limit: command.AnswerLimit, serve: (*Server).postPreview},
		{method: "POST", pattern: "/api/pending/{id}/undo", policy: asMember, serve: (*Server).postUndo},
		{method: "POST", pattern: "/api/pending/{id}/withdraw_approval", policy: asMember, serve: (*Server).postWithdraw},
		{method: "POST", pattern: "/api/pending/{id}/extend", policy: asMember, serve: (*Server).postExtend},
		{method: "POST", pattern: "/api/pending/{id}/response", policy: asMember, limit: command.AnswerLimit, serve: (*Server).postResponse},
		{method: "POST", pattern: "/api/mcp-answer", policy: asMember, serve: (*Server).postMCPAnswer},
		{method: "POST", pattern: "/claude/submit-answer", policy: asMember, serve: (*Server).postSubmitAnswer},

		// Package project decides what each person may see and do.
		{method: "GET", pattern: "/api/limits", policy: signedIn, serve: (*Server).getLimits},
		{method: "GET", pattern: "/api/projects", policy: signedIn, serve: (*Server).getProjects},
		{method: "POST", pattern: "/api/projects", policy: asAdmin, serve: (*Server).postProject},
		{method: "GET", pattern: "/api/projects/{id}", policy: signedIn, serve: (*Server).getProject},
		{method: "PATCH", pattern: "/api/projects/{id}", policy: asMember, serve: (*Server).patchProject},
		{method: "DELETE", pattern: "/api/projects/{id}", policy: asAdmin, serve: (*Server).deleteProject},

		{method: "GET", pattern: "/api/processes", policy: asAdmin, serve: (*Server).getProcesses},
		{method: "GET", pattern: "/api/processes/{id}/diagnostics", policy: asAdmin, serve: (*Server).getDiagnostics},
		{method: "GET", pattern: "/api/processes/{id}/requests", policy: asAdmin, serve: (*Server).getRequestViews},
		{method: "GET", pattern: "/api/machines", policy: asMember, serve: (*Server).getMachines},
		{method: "GET", pattern: "/api/runners", policy: asAdmin, serve: (*Server).getRunners},
		{method: "POST", pattern: "/api/runners", policy: asAdmin, serve: (*Server).postRunner},
		{method: "PATCH", pattern: "/api/runners/{id}", policy: asAdmin, serve: (*Server).patchRunner},
		{method: "DELETE", pattern: "/api/runners/{id}", policy: asAdmin, serve: (*Server).deleteRunner},
		{method: "POST", pattern: "/api/runners/{id}/token", policy: asAdmin, serve: (*Server).postRunnerToken},
		{method: "DELETE", pattern: "/api/runners/{id}/token", policy: asAdmin, serve: (*Server).deleteRunnerToken},
		// The caller's tokens; admins also see and revoke those of others.
		{method: "GET", pattern: "/api/tokens", policy: signedIn, serve: (*Server).getTokens},
		{method: "POST", pattern: "/api/tokens", policy: signedIn, serve: (*Server).postToken},
		{method: "DELETE", pattern: "/api/tokens/{id}", policy: signedIn, serve: (*Server).deleteToken},
		// The caller's grants; admins also see and revoke those of others.
		{method: "GET", pattern: "/api/grants", policy: asMember, serve: (*Server).getGrants},
		{method: "POST", pattern: "/api/grants/revoke", policy: asMember, serve: (*Server).postGrantRevoke},
		{method: "GET", pattern: "/api/trusted_folders", policy: asAdmin, serve: (*Server).getTrustedFolders},
		{method: "POST", pattern: "/api/trusted_folders/revoke", policy: asAdmin, serve: (*Server).postDistrust},
		{method: "GET", pattern: "/api/audit", policy: asAdmin, serve: (*Server).getAudit},
		{method: "GET", pattern: "/api/audit/state", policy: asAdmin, serve: (*Server).getAuditState},
		{method: "GET", pattern: "/api/audit/export", policy: asAdmin, serve: (*Server).getAuditExport},
		{method: "GET", pattern: "/api/storage", policy: asAdmin, serve: (*Server).getStorage},
		{method: "GET", pattern: "/api/settings", policy: asAdmin, serve: (*Server).getSettings},
		{method: "PATCH", pattern: "/api/settings", policy: asAdmin, serve: (*Server).patchSettings},
		{method: "GET", pattern: "/api/users", policy: asAdmin, serve: (*Server).getUsers},
		{method: "POST", pattern: "/api/users", policy: asAdmin, serve: (*Server).postUser},
		{method: "PATCH", pattern: "/api/users/{id}", policy: asAdmin, serve: (*Server).patchUser},
		{method: "POST", pattern: "/api/users/{id}/sign_in_link", policy: asAdmin, serve: (*Server).postSignInLink},
	}
}

// getSocket upgrades the request to a WebSocket.
func (s *Server) getSocket(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	return s.o.Live.ServeTab(w, r, who)
}

// mux routes requests by path.
func (s *Server) mux() http.Handler {
	byPattern := map[string][]route{}
	for _, rt := range routes() {
		byPattern[rt.pattern] = append(byPattern[rt.pattern], rt)
	}
	mux := http.NewServeMux()
	for pattern, group := range byPattern {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.dispatch(w, r, group) })
	}
	for path, handler := range s.o.Agents {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { s.serveAgent(w, r, handler) })
	}
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) { s.dispatch(w, r, nil) })
	mux.HandleFunc("/", s.serveApp)
	return mux
}

// dispatch authenticates a request, checks its origin, authorizes it and applies the
// limits of its route, in this order. group holds the routes of one path, and is empty
// for an unknown path.
func (s *Server) dispatch(w http.ResponseWriter, r *http.Request, group []route) {
	limitResponse(w)
	if err := s.serveRoute(w, r, group); err != nil {
		s.answerRefusal(w, r, s.o.Refusals.Of(err))
	}
}

func (s *Server) serveRoute(w http.ResponseWriter, r *http.Request, group []route) error {
	isPublic := len(group) > 0 && !slices.ContainsFunc(group, func(rt route) bool { return rt.policy != anybody })
	if ref := s.checkCookies(r); ref != nil {
		return ref
	}
	var who account.Identity
	var byCookie bool
	if !isPublic {
		var ref *refusal.Refusal
		if who, byCookie, ref = s.authenticate(r); ref != nil {
			return ref
		}
		noteAccess(r.Context(), who)
		r = r.WithContext(account.WithActor(r.Context(), who))
	}
	if ref := checkQuery(r.URL); ref != nil {
		return ref
	}
	if ref := s.checkOrigin(r, r.URL.Path == "/ws", byCookie); ref != nil {
		return ref
	}
	notFound := refusal.New("no_such_address")
	if len(group) == 0 {
		return notFound
	}
	rt, ok := routeFor(group, r.Method)
	if !ok {
		return methodNotAllowed(group)
	}
	if rt.policy != anybody && !who.User.Role.AtLeast(account.Role(rt.policy)) && (rt.scope == "" || who.User.Role != rt.scope) {
		if rt.hidden {
			return notFound
		}
		return refusal.Forbidden(account.Role(rt.policy))
	}
	done, err := s.limitBody(w, r, rt, who)
	if err != nil {
		return err
	}
	defer done()
	return rt.serve(s, w, r, who)
}

// serveAgent passes a request to a handler for agents. Agents are not pages, so it
// refuses all cross-site requests, including reads.
func (s *Server) serveAgent(w http.ResponseWriter, r *http.Request, handler http.Handler) {
	if ref := checkQuery(r.URL); ref != nil {
		s.answerRefusal(w, r, ref)
		return
	}
	if ref := s.checkOrigin(r, true, false); ref != nil {
		s.answerRefusal(w, r, ref)
		return
	}
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	secret = strings.TrimSpace(secret)
	if secret == "" || !strings.EqualFold(scheme, "Bearer") {
		handler.ServeHTTP(w, r)
		return
	}
	// The handler authenticates the agent; we limit guesses.
	hash := account.Hash(secret)
	if _, unknown := s.o.Directory.Agent(r.Context(), secret); unknown != nil {
		wait, err := s.limiter.TokenWait(r.Context(), s.remoteAddress(r), hash)
		if err == nil && wait > 0 {
			err = tooManyAttempts(wait)
		}
		if err != nil {
			s.answerRefusal(w, r, s.o.Refusals.Of(err))
			return
		}
	}
	handler.ServeHTTP(&statusObserver{ResponseWriter: w, onStatus: func(status int) {
		s.recordToken(r, hash, status != http.StatusUnauthorized)
	}}, r)
}

func routeFor(group []route, method string) (route, bool) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for _, rt := range group {
		if rt.method == method {
			return rt, true
		}
	}
	return route{}, false
}

func methodNotAllowed(group []route) *refusal.Refusal {
	var allow []string
	for _, rt := range group {
		allow = append(allow, rt.method)
		if rt.method == http.MethodGet {
			allow = append(allow, http.MethodHead)
		}
	}
	sort.Strings(allow)
	ref := refusal.New("method_not_allowed")
	ref.Allow = strings.Join(allow, ", ")
	return ref
}

// serveApp serves the web app, which contains no secrets and needs no sign-in.
func (s *Server) serveApp(w http.ResponseWriter, r *http.Request) {
	limitResponse(w)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		ref := refusal.New("method_not_allowed")
		ref.Allow = "GET, HEAD"
		s.answerRefusal(w, r, ref)
		return
	}
	s.o.App.ServeHTTP(w, r)
}

// limitBody bounds the size and duration of a request body. The caller calls done when
// the request has been answered.
func (s *Server) limitBody(w http.ResponseWriter, r *http.Request, rt route, who account.Identity) (done func(), err error) {
	limit := rt.limit
	if limit == 0 {
		limit = bodyLimit
	}
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	t, hasBody := r.Body.(*deadlineBody)
	r.Body = http.MaxBytesReader(w, r.Body, limit)
	if !hasBody || limit <= bodyLimit {
		return func() {}, nil
	}
	large := &largeBody{ReadCloser: r.Body, setDeadline: t.setDeadline, release: func() {}, acquire: func() (release func(), ok bool) {
		ctx, cancel := context.WithTimeout(r.Context(), turnTimeout)
		defer cancel()
		return s.o.Commands.AcquireLarge(ctx, who.User.UserID)
	}}
	large.pace.Begin()
	r.Body = large
	return func() { large.release() }, nil
}
