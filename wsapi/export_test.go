package wsapi

import (
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/review"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// The conversions and the strict decoder, for the golden messages.
var (
	WireRequest   = wireRequest
	WireItems     = wireItems
	WireLifecycle = wireLifecycle
	Encode        = encode
	DecodeStrict  = decodeStrict
)

// WireProcessState is what is told of a session in the default project.
func WireProcessState(p session.ProcessState) ProcessState {
	return wireProcessState(p, project.NewBook(nil, nil), project.Person{}, new(riskLevels))
}

// WireInProject is what a person is told of a session in a project.
func WireInProject(p session.ProcessState, book *project.Book, who project.Person) ProcessState {
	return wireProcessState(p, book, who, new(riskLevels))
}

// RESTBodies lists a value of every type that only REST uses.
func RESTBodies() []any {
	return []any{
		Login{}, Me{}, SessionList{}, SessionPatch{}, MessageList{}, Upload{}, SearchResults{}, TerminalSessionList{}, TerminalPage{}, TranscriptPage{}, Outcome{}, PendingList{}, RequestFate{}, Preview{}, PreviewQuestion{}, ProcessList{},
		Environment{}, FolderList{}, TokenList{}, TokenCreate{}, TokenCreated{}, Refusal{},
		SetUp{}, NewPassword{}, SignInList{}, PersonList{}, PersonCreate{}, PersonChange{}, SignInLink{}, AuditPage{},
		GrantList{}, GrantRevoke{}, Revocation{}, ProjectList{}, LimitList{}, ProjectCreate{}, ProjectChange{},
		TrustedFolderList{}, TrustRevoke{}, TemplateList{}, TemplateText{}, Preferences{}, PreferencesChange{}, LatelyList{}, WaitList{},
		Alerts{}, AlertTargetCreate{}, AlertTest{},
		SignInWays{}, PasskeyChallenge{}, PasskeyLogin{}, PasskeyNew{}, PasskeyCreate{}, PasskeySetUp{}, Passkey{}, PasskeyList{},
		OIDCBegun{}, OIDCLogin{}, LinkNew{}, Link{}, LinkList{},
		Diagnostics{}, AuditState{}, SettingList{}, SettingChange{},
	}
}

// RouteInfo is one row of the table of routes.
type RouteInfo struct {
	Method, Pattern, Policy string
	Limit                   int64
}

// Routes is the table of REST.
func Routes() []RouteInfo {
	var list []RouteInfo
	for _, rt := range routes() {
		limit := rt.limit
		if limit == 0 {
			limit = bodyLimit
		}
		list = append(list, RouteInfo{rt.method, rt.pattern, string(rt.policy), limit})
	}
	return list
}

// CommandRoles is the table of commands.
func CommandRoles() map[string]string {
	roles := map[string]string{}
	for name, spec := range commandSpecs {
		roles[name] = string(spec.role)
	}
	return roles
}

// CommandLimits is the largest message of each command, in bytes.
func CommandLimits() map[string]int64 {
	limits := map[string]int64{}
	for name, spec := range commandSpecs {
		limits[name] = spec.most()
	}
	return limits
}

// Limits and times that tests wait for.
const (
	SmallLimit      = smallLimit
	LargeOfOne      = largeOfOne
	AnswerLimit     = answerLimit
	MaxSafeInteger  = maxSafeInteger
	WriteDeadline   = writeDeadline
	TranscriptEvery = transcriptEvery
)

// Tabs is how many WebSockets the server has.
func (s *Server) Tabs() int { return s.hub.count() }

// WireAgain is WireProcessState of a server that remembers levels.
func WireAgain() func(session.ProcessState) ProcessState {
	read := new(riskLevels)
	return func(p session.ProcessState) ProcessState {
		return wireProcessState(p, project.NewBook(nil, nil), project.Person{}, read)
	}
}

// LevelsRemembered asks a new memory for the level of each, and says how many it holds.
func LevelsRemembered(requests []pending.Request, cwd string) int {
	read := new(riskLevels)
	for _, r := range requests {
		read.of(r, cwd)
	}
	return len(read.young) + len(read.old)
}

// MaxLevels is the most that is remembered of levels.
const MaxLevels = 2 * maxLevels

// LevelOf is how much harm a request can do, read anew.
func LevelOf(r pending.Request, cwd string, private ...string) review.Level {
	return (&riskLevels{private: private}).of(r, cwd)
}
